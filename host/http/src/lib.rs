//! The edge of the servers: listeners, TLS, connections, tokens and what they are good for, limits, and problem documents. It knows
//! neither the surfaces that a server offers nor what runs behind them.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod accept_errors;
pub mod access;
pub mod body;
mod connections;
pub mod event_stream;
pub mod guarded_body;
mod headers;
pub mod health;
pub mod limits;
mod listen;
pub mod problem;
pub mod process_values;
mod slots;
mod stream;
pub mod time;
mod tls;
pub mod trace;

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderName;
use axum::middleware::{from_fn, from_fn_with_state};

use access::Access;

pub use connections::serve;
pub use listen::{InvalidListen, Listen, Listener, Listeners, SocketError};
pub use tls::{Tls, TlsError};

/// Puts around routes what every server needs besides its surfaces' own checks: problem documents for errors of others, what pages
/// of allowed origins may read (these headers besides the usual ones), known names only, and bounded headers.
///
/// Each request must carry the address that its connection came in on as an [`access::LocalAddress`] extension, as [`serve`] adds
/// it: without one, only names in [`Access::hosts`] are accepted.
pub fn guarded(routes: Router, access: Arc<Access>, exposed: &[HeaderName]) -> Router {
    routes
        .layer(from_fn(problem::in_a_body))
        // Outside of what makes new responses, so that a page can read those as well.
        .layer(access::for_pages(Arc::clone(&access), exposed))
        .layer(from_fn_with_state(access, access::require_known_host))
        .layer(from_fn(headers::bound))
}
