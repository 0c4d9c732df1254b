//! Workspaces on other machines: agents, and the operations that a host does through them.
//!
//! An operation is sent again when its answer is lost, but never done twice: a start has a key, and what would act twice has the id of a
//! request, which the agent remembers. If it is not known whether an operation was done, its caller is told so.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod agents;
mod breaker;
mod budget;
mod by_name;
mod dialled;
mod direct;
mod ends;
mod events;
mod explain;
mod failure;
mod link;
mod lookup;
mod remote;
mod roots;
mod route;
mod through;
mod timing;
mod transport;

pub use agents::{Agents, AgentsConfig};
pub use dialled::{Alive, DialError, Dialled, PassError};
pub use direct::{Address, AddressError, TlsFiles};
pub use lookup::Lookup;
pub use remote::Remote;
pub use through::{AGENTS, Passage, Passages};
pub use timing::Timing;
pub use transport::Body;
