//! The policy for the commands of a workspace, as in the configuration, and its narrowing by a plugin or a call.

mod narrower;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::network::Network;

pub use narrower::Narrower;

/// A policy: what the commands of a workspace may do. `Policy::default()` is the default of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Where commands may write.
    pub mode: Mode,
    /// Whether commands are refused if a part of the policy cannot be applied.
    pub required: bool,
    /// Absolute paths that commands may read, besides the defaults of [`crate::Places`].
    pub read: Vec<PathBuf>,
    /// Absolute paths that commands may read and write, besides the defaults.
    pub write: Vec<PathBuf>,
    /// Absolute paths of Unix sockets to which commands may connect, also in a directory that is closed to them.
    pub sockets: Vec<PathBuf>,
    /// Absolute paths that commands may neither read nor write, whatever the other lists say. They are closed to tools as well.
    pub never: Vec<PathBuf>,
    /// Which hosts commands may reach.
    pub network: Network,
    /// How much commands may use.
    pub limits: Limits,
    /// Whether commands may make namespaces, which programs with a sandbox of their own, such as Chromium, need.
    pub nested: bool,
    /// Paths in the workspace that commands may only read, because programs outside of the sandbox run code from them.
    pub protect: Vec<PathBuf>,
    /// Whether commands stay in the namespaces of the host even if they could have their own. A plugin or call cannot change this.
    pub no_namespaces: bool,
}

/// Where commands may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Only into their temporary directory.
    ReadOnly,
    /// Into the workspace, its home and their temporary directory.
    #[default]
    Workspace,
    /// Wherever the user of the host may. There is no sandbox, and the rest of the policy has no effect.
    Off,
}

/// A text that is no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no mode of the sandbox: write \"workspace\", \"read-only\" or \"off\"")]
pub struct ModeError(String);

impl Policy {
    /// The default of `protect` for a workspace in which a person works.
    pub const PROTECTED: [&str; 5] = [".git/hooks", ".git/config", ".envrc", ".vscode", ".idea"];

    /// Returns the policy, narrowed by `wish`. The result never allows more than `self`. The network can be narrowed only in a sandbox,
    /// so a wish for less network turns the mode `off` into `workspace`.
    #[must_use]
    pub fn narrow(&self, wish: &Narrower) -> Self {
        let network = match &wish.network {
            Some(network) => self.network.narrow(network),
            None => self.network.clone(),
        };
        let needs_sandbox = wish
            .network
            .as_ref()
            .is_some_and(|wish| *wish != Network::All);
        let most = if needs_sandbox {
            Mode::Workspace
        } else {
            Mode::Off
        };
        Self {
            mode: self.mode.min(wish.mode.unwrap_or(most)).min(most),
            network,
            ..self.clone()
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ReadOnly => "read-only",
            Self::Workspace => "workspace",
            Self::Off => "off",
        })
    }
}

impl FromStr for Mode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Self, ModeError> {
        match text {
            "read-only" => Ok(Self::ReadOnly),
            "workspace" => Ok(Self::Workspace),
            "off" => Ok(Self::Off),
            _ => Err(ModeError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
