//! A kit for native tests of a plugin: no component is built, and no process is started. It does not exist on
//! WebAssembly.
//!
//! [`FakeProcesses`] stands in for [`processes::Host`](crate::processes::Host) and follows a script, [`FakeFiles`] stands in
//! for [`files::Host`](crate::files::Host) and keeps its files in memory. `FakeHttp` (feature `http`) answers requests by a
//! script. [`Surroundings`] are what [`context`](crate::context), [`settings`](crate::settings), [`log`](crate::log) and
//! [`progress`](crate::progress) see. [`call`] runs a tool the way the host does, from the text of its arguments, and [`cases`] does so with
//! all cases of a file.

mod calls;
mod cases;
mod fake;
mod files;
#[cfg(feature = "http")]
mod http;
mod process;
mod search;
mod surroundings;

pub use calls::{FakeCall, FakeCalls};
pub use cases::cases;
pub use fake::{FakeProcesses, Input};
pub use files::FakeFiles;
#[cfg(feature = "http")]
pub use http::FakeHttp;
pub use process::FakeProcess;
pub use surroundings::{Surroundings, surroundings};
pub(crate) use surroundings::{context, log, progress, settings};

use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::export::Exported;
use crate::{Call, Reply, ToolError, arguments};

/// Calls a tool with the text of a JSON object: a type that implements [`Tool`](crate::Tool), or a function with
/// [`#[tool]`](crate::tool).
///
/// # Errors
///
/// Those of the tool, and [`ToolError::InvalidArguments`] if the arguments do not fit.
pub fn call<T: Exported>(arguments: &str) -> Result<Reply, ToolError> {
    crate::log::install();
    T::call(&Call::new("test"), arguments)
}

/// Reads the text of a JSON object as a tool's arguments, the way the host's calls do.
///
/// # Errors
///
/// [`ToolError::InvalidArguments`] if they do not fit.
pub fn arguments<T: DeserializeOwned + JsonSchema>(text: &str) -> Result<T, ToolError> {
    arguments::parse(text)
}

/// Compares each case of a JSON file with its outcome. A case is an object with a `name` and the expected `outcome`; `outcome`
/// makes the actual one from the rest. With the variable `WRITE_CASES`, the actual outcomes replace the expected ones in the file.
///
/// # Errors
///
/// If the file cannot be read or written, or has no list of cases.
///
/// # Panics
///
/// If an outcome differs.
pub fn check_cases(
    path: impl AsRef<Path>,
    outcome: impl Fn(&Value) -> Map<String, Value>,
) -> io::Result<()> {
    let mut cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
    let writes = std::env::var_os("WRITE_CASES").is_some();
    for case in &mut cases {
        let outcome = outcome(case);
        if writes {
            case["outcome"] = outcome.into();
        } else {
            let expected = case["outcome"].as_object();
            assert_eq!(Some(&outcome), expected, "{}", case["name"]);
        }
    }
    if writes {
        std::fs::write(path, format!("{:#}\n", Value::from(cases)))?;
    }
    Ok(())
}
