//! Grants: what an operator lets a plugin import and see.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toolhost_workspace::files::FilesGrant;

use crate::capabilities::Capability;
use crate::capability::{files, http, processes};
use crate::outgoing::Pattern;

/// What an operator lets a plugin import. Nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// What is granted of each capability, by its name. Each value is one that the capability has read.
    granted: BTreeMap<&'static str, GrantValue>,
    /// Names of variables of the host's environment that the plugin sees through WASI, as they were when it was loaded. One
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

/// A value that grants nothing, because it is not what the capability takes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct InvalidGrant {
    /// The part of the value, such as `[0]` or `.roots`; empty for all of it.
    pub part: String,
    /// What is wrong with it.
    pub text: String,
}

/// A directory of the host that a plugin sees through WASI, under a name of its own. Prefer the grant `files`, which knows
/// workspaces and replaces files as a whole.
///
/// It is the directory that had the path when the plugin was loaded, also if another one takes its place. Nothing leads out of
/// it. It must not be, contain or lie in the host's state directory. Operations run on threads that may block and are bounded
/// by the call's deadline and its handles; what they cost is not guest time, and nothing but the disk bounds what is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preopen {
    /// The directory on this machine.
    pub directory: PathBuf,
    /// The path under which the plugin sees it.
    pub name: String,
    /// Whether the plugin may change what is in it.
    pub write: bool,
}

impl Grants {
    /// Grants a capability with this value, which replaces another one; a list is added to another list. A value that stands
    /// for nothing, such as `"none"`, takes the grant away.
    ///
    /// # Errors
    ///
    /// If the capability does not take the value. Of a list, the texts that it does take are granted all the same.
    pub fn grant(
        &mut self,
        capability: &Capability,
        value: GrantValue,
    ) -> Result<(), Vec<InvalidGrant>> {
        let (value, problems) = capability.read(value);
        match (self.granted.get_mut(capability.name()), value) {
            (Some(GrantValue::List(all)), Some(GrantValue::List(more))) => all.extend(more),
            (_, Some(value)) => _ = self.granted.insert(capability.name(), value),
            (_, None) => _ = self.granted.remove(capability.name()),
        }
        match problems.is_empty() {
            true => Ok(()),
            false => Err(problems),
        }
    }

    /// Grants the least with which a plugin loads that imports this capability, unless more is granted already.
    pub fn grant_least(&mut self, capability: &Capability) {
        let least = || capability.least();
        self.granted.entry(capability.name()).or_insert_with(least);
    }

    /// Returns what is granted of the capability that has this name.
    pub fn get(&self, capability: &str) -> Option<&GrantValue> {
        self.granted.get(capability)
    }

    /// Returns all grants, by the names of their capabilities.
    pub fn granted(&self) -> &BTreeMap<&'static str, GrantValue> {
        &self.granted
    }

    /// Returns the same with the grant to run commands.
    #[must_use]
    pub fn with_processes(mut self) -> Self {
        self.granted.insert(processes::NAME, processes::own());
        self
    }

    /// Returns the same with this grant for the files of the workspace.
    #[must_use]
    pub fn with_files(mut self, grant: FilesGrant) -> Self {
        match files::value(grant) {
            Some(value) => _ = self.granted.insert(files::NAME, value),
            None => _ = self.granted.remove(files::NAME),
        }
        self
    }

    /// Returns the same with the grant to send requests to these destinations.
    #[must_use]
    pub fn with_http(mut self, patterns: impl IntoIterator<Item = Pattern>) -> Self {
        let patterns = patterns.into_iter().map(|pattern| pattern.to_string());
        let value = GrantValue::List(patterns.collect());
        self.granted.insert(http::NAME, value);
        self
    }

    /// Returns whether the plugin may run commands in the workspace of the calling chat.
    pub fn processes(&self) -> bool {
        self.get(processes::NAME).is_some()
    }

    /// Returns what the plugin may do with the files of the workspace.
    pub fn files(&self) -> FilesGrant {
        files::grant(self.get(files::NAME))
    }

    /// Returns the directories whose files these are, relative to the workspace or absolute; `None`: the workspace, and the
    /// further roots of the host.
    pub fn file_roots(&self) -> Option<Vec<PathBuf>> {
        files::roots(self.get(files::NAME)?)
    }

    /// Returns the destinations of requests; none: a plugin that imports `wasi:http` does not load.
    pub fn http(&self) -> Vec<Pattern> {
        http::patterns(self.get(http::NAME))
    }
}

impl InvalidGrant {
    /// Says of a whole value what it must be.
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
