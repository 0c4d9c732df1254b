//! Write a Toolhost plugin in Rust.
//!
//! A plugin is a crate of type `cdylib` that is built for `wasm32-wasip2`. It implements [`Tool`] for one type per tool
//! and offers them with [`export_tools!`]. Whatever a tool does besides computing goes through a module of this crate that
//! is named as its interface, such as [`files`] or [`log`]. A component imports only the interfaces that it uses.
//! [`context`], [`settings`], [`log`] and [`progress`] need no grant; the operator grants the others.
//!
//! # Example
//!
//! A complete plugin. Its `Cargo.toml` says `crate-type = ["cdylib", "rlib"]` under `[lib]`, and depends on this crate,
//! `serde` (feature `derive`) and `schemars`.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use std::time::Duration;
//! use toolhost_sdk::processes::{Host, Processes, StartOptions, State, WaitOptions};
//! use toolhost_sdk::{Call, Hints, Reply, Tool, ToolError, export_tools};
//!
//! /// Counts the commits of the workspace.
//! struct CountCommits;
//!
//! /// What the model says.
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Arguments {
//!     /// Only commits of this author.
//!     author: Option<String>,
//! }
//!
//! /// What the model reads.
//! #[derive(Serialize)]
//! struct Commits {
//!     commits: u64,
//! }
//!
//! impl Tool for CountCommits {
//!     const NAME: &'static str = "count_commits";
//!     const DESCRIPTION: &'static str = "Counts the commits of the Git repository in the workspace.";
//!     const HINTS: Hints = Hints { read_only: true, ..Hints::NONE };
//!     type Arguments = Arguments;
//!
//!     fn call(_call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
//!         count(&Host, arguments)
//!     }
//! }
//!
//! fn count(processes: &dyn Processes, arguments: Arguments) -> Result<Reply, ToolError> {
//!     let process = processes.start(StartOptions {
//!         command: r#"git rev-list --count --author="$AUTHOR" HEAD"#.to_owned(),
//!         env: vec![("AUTHOR".to_owned(), arguments.author.unwrap_or_default())],
//!         ..StartOptions::default()
//!     })?;
//!     process.wait(&WaitOptions::at_most(Duration::from_secs(10)))?;
//!     let snapshot = process.snapshot()?;
//!     let output = String::from_utf8_lossy(&snapshot.head);
//!     match (snapshot.state, output.trim().parse()) {
//!         (State::Exited(_), Ok(commits)) => Reply::json(&Commits { commits }),
//!         _ => Ok(Reply::error(format!("git did not answer with a number: {output}"))),
//!     }
//! }
//!
//! export_tools!(CountCommits);
//!
//! // A native test, without git and without a process:
//! # fn main() -> Result<(), ToolError> {
//! use toolhost_sdk::Content;
//! use toolhost_sdk::testing::{FakeProcess, FakeProcesses};
//!
//! let processes = FakeProcesses::new().starts(FakeProcess::new("p1").prints("42\n").exits(0));
//! let reply = count(&processes, Arguments { author: Some("Ada".to_owned()) })?;
//! assert_eq!(reply.content(), [Content::Json(r#"{"commits":42}"#.to_owned())]);
//! assert_eq!(processes.started()[0].env[0].1, "Ada");
//! # Ok(())
//! # }
//! ```

mod arguments;
mod bindings;
pub mod context;
mod export;
pub mod files;
pub mod log;
pub mod processes;
pub mod progress;
mod reply;
mod schema;
pub mod settings;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod tool;

pub use reply::{Content, Reply};
pub use schema::Schema;
pub use tool::{Call, Example, Hints, Resource, Tool, ToolError};

/// What [`export_tools!`] expands to. It is no part of the API.
#[doc(hidden)]
pub mod __private {
    pub mod bindings {
        pub use crate::bindings::*;
    }
    pub use crate::bindings::exports::toolhost::plugin::tools as wit;
    pub use crate::export::{Entry, call_tool, check, list_tools};
    pub use std::string::String;
    pub use std::vec::Vec;
}
