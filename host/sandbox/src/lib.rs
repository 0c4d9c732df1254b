//! Confines the commands of a workspace with what the kernel offers without privilege.

mod limits;
mod network;
mod places;
mod policy;

pub use limits::Limits;
pub use network::{Network, NetworkError};
pub use places::Places;
pub use policy::{Mode, ModeError, Narrower, Policy};
