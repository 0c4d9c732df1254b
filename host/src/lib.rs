//! The command line of Toolhost, and its configuration.
//!
//! A program that embeds a host needs the crate `toolhost-core` alone. ARCHITECTURE.md has the map.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

pub mod cli;
pub mod config;
