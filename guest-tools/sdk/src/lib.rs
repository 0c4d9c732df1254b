//! Write a Toolhost plugin in Rust.
//!
//! A plugin is a crate of type `cdylib` that is built for `wasm32-wasip2`. Its tools are functions with [`#[tool]`](tool), or types that
//! implement [`Tool`]; [`export_tools!`] offers both. Whatever a tool does besides computing goes through a module of this crate that
//! is named as its interface, such as [`files`] or [`log`]. A component imports only the interfaces that it uses.
//! [`context`], [`settings`], [`log`] and [`progress`] need no grant; the operator grants the others.
//!
//! # Example
//!
//! A complete plugin. The `Cargo.toml` of a crate beside a clone of Toolhost has:
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib"]
//!
//! [dependencies]
//! toolhost-sdk = { path = "../toolhost/guest-tools/sdk" }
//!
//! [profile.release]
//! opt-level = "s"
//! lto = true
//! codegen-units = 1
//! strip = true
//! ```
//!
//! And its `src/lib.rs`:
//!
//! ```
//! use toolhost_sdk::prelude::*;
//!
//! /// Counts the words of a text.
//! #[tool(read_only)]
//! fn word_count(
//!     /// The text.
//!     text: String,
//! ) -> Result<Reply, ToolError> {
//!     Reply::object([("words", text.split_whitespace().count())])
//! }
//!
//! export_tools!(word_count);
//! # fn main() {}
//! ```
//!
//! `cargo build --release --target wasm32-wasip2` makes the component; `rustup target add wasm32-wasip2` installs the target. With that
//! profile it has 71 KB. Without it, or with `"rlib"` in `crate-type`, where cargo does not optimise over crates, it has more.
//!
//! # Tests
//!
//! `cargo test` runs natively. A test calls the function of a tool, or the tool with [`testing::call`], which reads arguments as the
//! host's calls do. [`testing::cases`] takes calls and their outcomes from a file. What needs a host is written against a trait, whose
//! fake is in [`testing`]:
//!
//! ```
//! use std::time::Duration;
//! use toolhost_sdk::prelude::*;
//! use toolhost_sdk::processes::{Host, Processes, StartOptions, State, WaitOptions};
//!
//! /// Counts the commits of the Git repository in the workspace.
//! #[tool(read_only)]
//! fn count_commits(
//!     /// Only commits of this author.
//!     author: Option<String>,
//! ) -> Result<Reply, ToolError> {
//!     count(&Host, author.unwrap_or_default())
//! }
//!
//! export_tools!(count_commits);
//!
//! fn count(processes: &dyn Processes, author: String) -> Result<Reply, ToolError> {
//!     let process = processes.start(StartOptions {
//!         command: r#"git rev-list --count --author="$AUTHOR" HEAD"#.to_owned(),
//!         env: vec![("AUTHOR".to_owned(), author)],
//!         ..StartOptions::default()
//!     })?;
//!     process.wait(&WaitOptions::at_most(Duration::from_secs(10)))?;
//!     let snapshot = process.snapshot()?;
//!     let output = String::from_utf8_lossy(&snapshot.head);
//!     match (snapshot.state, output.trim().parse::<u64>()) {
//!         (State::Exited(_), Ok(commits)) => Reply::object([("commits", commits)]),
//!         _ => Ok(Reply::error(format!("git did not answer with a number: {output}"))),
//!     }
//! }
//!
//! // A native test, without git and without a process:
//! # fn main() -> Result<(), ToolError> {
//! use toolhost_sdk::testing::{FakeProcess, FakeProcesses};
//!
//! let processes = FakeProcesses::new().starts(FakeProcess::new("p1").prints("42\n").exits(0));
//! let reply = count(&processes, "Ada".to_owned())?;
//! assert_eq!(reply.content(), [Content::Json(r#"{"commits":42}"#.to_owned())]);
//! assert_eq!(processes.started()[0].env[0].1, "Ada");
//! # Ok(())
//! # }
//! ```
//!
//! # Panics and logs
//!
//! A panic ends the call: the caller reads that the tool is broken, and the operator finds the text and the place of the panic in one
//! line. Lines of [`log`], standard output and standard error go to the operator's log. The features `log` and `tracing` send what the
//! crates of these names are given there too; the feature `http` has the module `http`.

mod arguments;
mod bindings;
pub mod calls;
pub mod context;
mod export;
pub mod files;
#[cfg(feature = "http")]
pub mod http;
pub mod log;
mod parameters;
pub mod paths;
pub mod processes;
pub mod progress;
mod reply;
mod returned;
mod schema;
pub mod settings;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod tool;

pub use arguments::likeness::jaro_winkler as likeness;
pub use reply::{Content, Reply};
pub use returned::{IntoReply, Json};
pub use schema::Schema;
pub use tool::{Call, Example, Hints, Resource, Tool, ToolError};
/// Makes a function a tool, which [`export_tools!`] offers under the function's name.
///
/// The doc comment of the function is the tool's description. There are three kinds of parameters:
///
/// - `call: &Call` is the call itself.
/// - If the only other parameter has a type of the plugin and no doc comment, its fields are the arguments, as in
///   [`Tool::Arguments`]. The type derives `Deserialize` and `JsonSchema`; put `#[serde(deny_unknown_fields)]` on it.
/// - Otherwise, each parameter is an argument, and its doc comment is the description. An `Option` may be left out.
///
/// The SDK itself reads `String`, `bool`, integers of up to 64 bits, floats, `Vec`s of these, and `Option`s of all of these. If a
/// parameter has another type, or an attribute `#[serde(…)]` or `#[schemars(…)]`, serde reads the arguments. The tool behaves the
/// same, and its component is up to 110 KB larger.
///
/// The function returns one of the types that [`IntoReply`] lists. [`Json`] also gives the tool an output schema.
///
/// In parentheses stand, in any order: the [`Hints`] `read_only`, `non_destructive`, `idempotent` and `closed_world`;
/// `title = "…"`; `max_duration = "5s"` (a whole number of `ms`, `s`, `m` or `h`); `example("name", r#"{…}"#)`, with `, is_error` if
/// the reply reports an error, as often as you like; and `resources = &[…]`, a list of [`Resource`]s.
///
/// The function itself stays as it is: tests call it. A type of the same name beside it implements what [`export_tools!`] and
/// [`testing::call`] need. A tool in a module of its own name is named with it: `export_tools!(echo::echo)`.
///
/// ```
/// use toolhost_sdk::prelude::*;
///
/// /// Repeats a text.
/// #[tool(read_only, max_duration = "1s", example("twice", r#"{"text": "ab", "times": 2}"#))]
/// fn repeat(
///     /// The text.
///     text: String,
///     /// How often; 2 if it is left out.
///     times: Option<u32>,
/// ) -> Result<String, ToolError> {
///     match times.unwrap_or(2) {
///         times @ 0..=100 => Ok(text.repeat(times as usize)),
///         _ => Err(ToolError::InvalidArguments("`times` is at most 100".to_owned())),
///     }
/// }
///
/// export_tools!(repeat);
///
/// # fn main() -> Result<(), ToolError> {
/// assert_eq!(repeat("ab".to_owned(), None)?, "abab");
/// # #[cfg(not(target_family = "wasm"))]
/// assert_eq!(toolhost_sdk::testing::call::<repeat>(r#"{"text": "a", "times": "3"}"#)?, Reply::text("aaa"));
/// # Ok(())
/// # }
/// ```
///
/// A function without a description does not compile, and one that returns something else than a reply does not either:
///
/// ```compile_fail
/// #[toolhost_sdk::tool]
/// fn answer() -> String {
///     "42".to_owned()
/// }
/// ```
///
/// ```compile_fail,E0277
/// /// Answers.
/// #[toolhost_sdk::tool]
/// fn answer() -> u32 {
///     42
/// }
/// ```
pub use toolhost_sdk_macros::tool;

/// The names that most plugins use: `use toolhost_sdk::prelude::*;`.
pub mod prelude {
    pub use crate::{
        Call, Content, Example, Hints, IntoReply, Json, Reply, Tool, ToolError, export_tools, tool,
    };
}

/// The names in the expansion of [`export_tools!`]. They are no part of the API.
#[doc(hidden)]
pub mod __private {
    pub mod bindings {
        pub use crate::bindings::*;
    }
    pub use crate::bindings::exports::toolhost::plugin::tools as wit;
    pub use crate::export::{Entry, Exported, call_tool, check, list_tools};
    pub mod parameters {
        pub use crate::parameters::{
            Facts, Mismatch, Optional, Parameter, Required, Slot, Value, read,
        };
    }
    pub use crate::returned::{NoSchema, Output};
    pub use std::string::String;
    pub use std::vec::Vec;
    pub use {schemars, serde};
}
