//! The common part of the servers of Toolhost: options, logging, signals, listeners, tokens, and an orderly shutdown.
//!
//! The program `toolhost-agent` is made of this alone; `toolhost` adds tools, plugins and the configuration file.

#![allow(
    rustdoc::bare_urls,
    rustdoc::broken_intra_doc_links,
    reason = "the documentation of options is their help text"
)]

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

pub mod agent;
pub mod audit_options;
mod common;
mod connect;
pub mod errors;
pub mod files;
pub mod follow;
pub mod keep;
pub mod listening;
pub mod logging;
mod notify;
pub mod processes;
mod program;
mod retention;
pub mod sandbox;
pub mod signals;
pub mod stderr;
pub mod time;
pub mod tls;
pub mod token;

pub use common::{CHOOSE, Common};
pub use program::{
    SETUP_FAILED, THIS_PROGRAM, block_on, fail, finish, name_process, protect, run_if_spawner,
};
