//! A kit for native tests of a plugin: no component is built, and no process is started. It does not exist on
//! WebAssembly.
//!
//! [`FakeProcesses`] stands in for [`processes::Host`](crate::processes::Host) and follows a script, [`FakeFiles`] stands in
//! for [`files::Host`](crate::files::Host) and keeps its files in memory. [`Surroundings`] are what [`context`](crate::context), [`settings`](crate::settings), [`log`](crate::log) and
//! [`progress`](crate::progress) see. [`call`] runs a tool the way the host does, from the text of its arguments.

mod fake;
mod files;
mod process;
mod surroundings;

pub use fake::FakeProcesses;
pub use files::FakeFiles;
pub use process::FakeProcess;
pub use surroundings::{Surroundings, surroundings};
pub(crate) use surroundings::{context, log, progress, settings};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::{Call, Reply, Tool, ToolError, arguments};

/// Calls a tool with the text of a JSON object.
///
/// # Errors
///
/// Those of the tool, and [`ToolError::InvalidArguments`] if the arguments do not fit.
pub fn call<T: Tool>(arguments: &str) -> Result<Reply, ToolError> {
    T::call(&Call::new("test"), arguments::parse(arguments)?)
}

/// Reads the text of a JSON object as a tool's arguments, the way the host's calls do.
///
/// # Errors
///
/// [`ToolError::InvalidArguments`] if they do not fit.
pub fn arguments<T: DeserializeOwned + JsonSchema>(text: &str) -> Result<T, ToolError> {
    arguments::parse(text)
}
