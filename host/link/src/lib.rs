//! Workspaces on other machines: both sides of the link between a host and an agent.
//!
//! | the agent | the host |
//! |---|---|
//! | [`serve`] and `operations.rs` do operations | [`Remote`] is the workspace that sends them |
//! | [`Dial`] connects to a host that cannot connect to the agent | [`Dialled`] are the agents that did |
//! | `operations/notices.rs` sends events | `events.rs` reads them |
//! | `operations/connect.rs` connects to ports | `link.rs` asks for it; `stream.rs` carries the bytes on both sides |
//!
//! An operation is sent again when its answer is lost, but never done twice: a start has a key, and what would act twice has the id of a
//! request, which the agent remembers. If it is not known whether an operation was done, its caller is told so.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod agents;
mod breaker;
mod budget;
mod by_name;
mod dial;
mod dialled;
mod direct;
mod ends;
mod events;
mod explain;
mod failure;
mod link;
mod lookup;
mod names;
mod openapi;
mod operations;
mod remote;
mod roots;
mod route;
mod serving;
mod stream;
mod through;
mod timing;
mod transport;
pub mod tunnel;

pub use agents::{Agents, AgentsConfig};
pub use dial::{ConnectError, Dial};
pub use dialled::{Alive, DialError, Dialled, PassError, PassedBody};
pub use direct::{Address, AddressError, TlsFiles};
pub use lookup::Lookup;
pub use names::{CONNECT, NAME, OPERATIONS, TOKEN};
pub use remote::Remote;
pub use serving::{is_end, router, routes, serve};
pub use through::{AGENTS, Passage, Passages};
pub use timing::Timing;
pub use transport::Body;
