//! The lowest crate, which all others may use: the state directory with its lock, the names that callers choose,
//! processes as `/proc` shows them, the paths that are closed to tools and commands, and the rule for files that control the host.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

pub mod closed;
pub mod error_chain;
pub mod group;
pub mod home;
pub mod id;
pub mod own_limits;
pub mod pattern;
pub mod proc;
pub mod real_paths;
pub mod secret;
pub mod state_dir;
pub mod thread_time;
pub mod trusted;
pub mod turns;
pub mod unix_time;
pub mod workspace_name;
