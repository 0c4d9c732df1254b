//! Machines that a host makes for its workspaces: containers, and machines that the programs of the operator make.
//!
//! An [`Engine`] makes, starts, stops and removes machines. A machine runs `toolhost-agent`, which connects back to the host. The id of a
//! machine follows from the state of the host and the name of the workspace, so that no machine is made twice, and a later host finds the
//! machines of a killed one. [`Machines`] is the provider of their workspaces.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod command;
mod container;
mod engine;
mod log;
mod machine;
mod machines;
mod program;
mod start_up;
mod template;

pub use command::{Commands, Programs};
pub use container::{Container, ContainerConfig};
pub use engine::{Engine, EngineError, IsKept, Standing, Working};
pub use log::Log;
pub use machine::{Connect, Keys, Machine};
pub use machines::Machines;
pub use template::{Kind, Settings, Template};
