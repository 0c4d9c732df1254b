//! The edge of the servers: listeners, TLS, connections, tokens and their scopes, limits, problem documents, and the values that
//! several surfaces serialize. It knows neither the surfaces that a server offers nor the programs behind them.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod accept_errors;
pub mod access;
pub mod body;
mod connections;
pub mod console;
mod edge;
pub mod event_stream;
pub mod forward;
pub mod guarded_body;
mod headers;
mod health;
pub mod kept_body;
pub mod limits;
mod listen;
pub mod notice_values;
pub mod problem;
pub mod process_values;
mod slots;
mod stream;
pub mod time;
mod tls;
pub mod trace;
pub mod webhooks;
pub mod whole;

pub use connections::serve;
pub use edge::{Edge, Reword};
pub use health::Readiness;
pub use listen::{InvalidListen, Listen, Listener, Listeners, SocketError};
pub use tls::{Tls, TlsError};
