//! Confines the commands of a workspace with what the kernel offers without privilege.

mod limits;
mod network;
mod places;
mod policy;
mod support;
mod sys;

pub use limits::Limits;
pub use network::{Network, NetworkError};
pub use places::Places;
pub use policy::{Mode, ModeError, Narrower, Policy};
pub use support::{Layer, Support};
