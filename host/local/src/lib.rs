//! Workspaces on this machine: processes, their containment, and files.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod directories;
mod exemption;
pub mod files;
mod local;
mod open_error;
pub mod process;
mod removal;

pub use directories::{ClaimedDirectories, Directories, DirectoriesConfig, OpenDirectoriesError};
pub use local::Local;
pub use open_error::OpenError;
