//! Grants: the imports that an operator allows a plugin, and the environment and directories that the plugin sees.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toolhost_workspace::files::FilesGrant;

use crate::capability::{Capability, files, http, processes};
use crate::outgoing::Pattern;

/// The grants of a plugin. By default the operator grants nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The granted value of each capability, by the capability's name. Each value was read by its capability.
    granted: BTreeMap<&'static str, GrantValue>,
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
    /// Grants a capability with this value. The value replaces an earlier one, but a list is added to an earlier list. A value
    /// that stands for nothing, such as `"none"`, takes the grant away.
    ///
    /// # Errors
    ///
    /// If the capability does not accept the value. The texts of a list that the capability does accept are granted all the
    /// same.
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

    /// Grants the least value with which a plugin that imports this capability loads, unless the capability has a grant
    /// already.
    pub fn grant_least(&mut self, capability: &Capability) {
        let least = || capability.least();
        self.granted.entry(capability.name()).or_insert_with(least);
    }

    /// Returns the granted value of the capability with this name.
    pub fn get(&self, capability: &str) -> Option<&GrantValue> {
        self.granted.get(capability)
    }

    /// Returns all grants, by the names of their capabilities.
    pub fn granted(&self) -> &BTreeMap<&'static str, GrantValue> {
        &self.granted
    }

    /// Returns these grants with the grant to run commands added.
    #[must_use]
    pub fn with_processes(mut self) -> Self {
        self.granted.insert(processes::NAME, processes::own());
        self
    }

    /// Returns these grants with this grant for the files of the workspace.
    #[must_use]
    pub fn with_files(mut self, grant: FilesGrant) -> Self {
        match files::value(grant) {
            Some(value) => _ = self.granted.insert(files::NAME, value),
            None => _ = self.granted.remove(files::NAME),
        }
        self
    }

    /// Returns these grants with the grant to send requests to these destinations.
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

    /// Returns the plugin's grant for the files of the workspace.
    pub fn files(&self) -> FilesGrant {
        files::grant(self.get(files::NAME))
    }

    /// Returns the directories that the grant `files` names, relative to the workspace or absolute. `None` means the workspace
    /// and the further roots of the host.
    pub fn file_roots(&self) -> Option<Vec<PathBuf>> {
        files::roots(self.get(files::NAME)?)
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
