//! Grants: the imports that an operator allows a plugin, and the environment and directories that the plugin sees.

mod words;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The grants of a plugin. By default the operator grants nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The granted value of each capability, by the capability's name. Each value was read by its capability.
    pub(crate) granted: BTreeMap<&'static str, GrantValue>,
    /// Names of variables of the host's environment that the plugin sees through WASI, with their values at loading. A variable
    /// that is not set is left out.
    pub env: Vec<String>,
    /// Directories that the plugin sees through WASI.
    pub preopens: Vec<Preopen>,
}

/// The value of a grant as an operator writes it: `files = "read"` in the configuration, `files=read` on the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum GrantValue {
    /// One text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
    /// Named values.
    Table(BTreeMap<String, GrantValue>),
}

/// A value that grants nothing, because the capability does not accept it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct InvalidGrant {
    /// The part of the value, such as `[0]` or `.roots`; empty for all of it.
    pub part: String,
    /// The problem, as a text.
    pub text: String,
}

/// A directory of the host that a plugin sees through WASI, under a name of its own. Prefer the grant `files`, which knows
/// workspaces and replaces files as a whole.
///
/// The directory is the one that had the path when the plugin was loaded, even if another directory takes its place. No path
/// leads out of it. It must not be, contain or lie in the host's state directory. Operations run on threads that may block and
/// are bounded by the call's deadline and its handles. Their cost is not guest time, and only the disk bounds the bytes that
/// the plugin writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preopen {
    /// The directory on this machine.
    pub directory: PathBuf,
    /// The path under which the plugin sees it.
    pub name: String,
    /// Whether the plugin may change the contents of the directory.
    pub write: bool,
}

impl Grants {
    /// Returns the granted value of the capability with this name.
    pub fn get(&self, capability: &str) -> Option<&GrantValue> {
        self.granted.get(capability)
    }

    /// Returns all grants, by the names of their capabilities.
    pub fn granted(&self) -> &BTreeMap<&'static str, GrantValue> {
        &self.granted
    }
}

impl InvalidGrant {
    /// Makes the error of a whole value; `what` describes the accepted values.
    pub(crate) fn must_be(what: &str) -> Self {
        Self {
            part: String::new(),
            text: format!("it must be {what}"),
        }
    }
}

impl fmt::Display for GrantValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => formatter.write_str(text),
            Self::List(texts) => formatter.write_str(&texts.join(", ")),
            Self::Table(table) => {
                let entries = table.iter().map(|(key, value)| format!("{key}: {value}"));
                formatter.write_str(&entries.collect::<Vec<_>>().join("; "))
            }
        }
    }
}
