//! The policy of a workspace for its commands, as the configuration says it, and how a plugin or a call narrows it.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::network::Network;

/// What commands of a workspace may do. `Policy::default()` is the default of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Where commands may write.
    pub mode: Mode,
    /// Whether a command does not start if a part of its policy cannot be applied.
    pub required: bool,
    /// Absolute paths that commands may read, besides the defaults of [`crate::Places`].
    pub read: Vec<PathBuf>,
    /// Absolute paths that commands may read and write, besides the defaults.
    pub write: Vec<PathBuf>,
    /// Absolute paths that commands may neither read nor write, whatever the other lists say.
    pub never: Vec<PathBuf>,
    /// Which hosts commands may reach.
    pub network: Network,
    /// How much commands may use.
    pub limits: Limits,
    /// Whether commands may make namespaces: for programs with a sandbox of their own, such as Chromium.
    pub nested: bool,
    /// Paths in the workspace that commands may only read, because programs outside of the sandbox run code from them.
    pub protect: Vec<PathBuf>,
    /// Whether commands stay in the namespaces of the host even where they could have their own. No plugin or call changes it.
    pub no_namespaces: bool,
}

/// Where commands may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Only into their temporary directory.
    ReadOnly,
    /// Into the workspace, their temporary directory and the caches of toolchains.
    #[default]
    Workspace,
    /// Wherever the host's user may: there is no sandbox, and the rest of the policy does not count.
    Off,
}

/// A wish for less than a policy allows. Whatever is `None` or empty changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Narrower {
    /// The mode, unless the policy has a stricter one.
    pub mode: Option<Mode>,
    /// Whether a command does not start if a part of its policy cannot be applied.
    pub required: bool,
    /// The paths to read, as far as the policy names them or a directory above.
    pub read: Option<Vec<PathBuf>>,
    /// The paths to write, as far as the policy names them or a directory above.
    pub write: Option<Vec<PathBuf>>,
    /// Further paths to hide.
    pub never: Vec<PathBuf>,
    /// The hosts to reach, as far as the policy allows them.
    pub network: Option<Network>,
    /// The limits, unless the policy has lower ones. Those that the wish leaves out change nothing.
    #[serde(deserialize_with = "crate::limits::wish")]
    pub limits: Limits,
    /// Whether to refuse namespaces (`false`). `true` changes nothing.
    pub nested: Option<bool>,
    /// Further paths in the workspace to protect.
    pub protect: Vec<PathBuf>,
}

impl Default for Narrower {
    fn default() -> Self {
        Self {
            mode: None,
            required: false,
            read: None,
            write: None,
            never: Vec::new(),
            network: None,
            limits: Limits::NONE,
            nested: None,
            protect: Vec::new(),
        }
    }
}

/// A text that is no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no mode of the sandbox: write \"workspace\", \"read-only\" or \"off\"")]
pub struct ModeError(String);

impl Policy {
    /// The usual value of `protect` for a workspace that belongs to a person.
    pub const PROTECTED: [&str; 5] = [".git/hooks", ".git/config", ".envrc", ".vscode", ".idea"];

    /// Returns the policy, narrowed by a wish. The result never allows more than `self`.
    #[must_use]
    pub fn narrow(&self, wish: &Narrower) -> Self {
        Self {
            mode: wish.mode.map_or(self.mode, |mode| mode.min(self.mode)),
            required: self.required || wish.required,
            read: common(&self.read, wish.read.as_deref()),
            write: common(&self.write, wish.write.as_deref()),
            never: joined(&self.never, &wish.never),
            network: match &wish.network {
                Some(network) => self.network.narrow(network),
                None => self.network.clone(),
            },
            limits: self.limits.narrow(&wish.limits),
            nested: self.nested && wish.nested != Some(false),
            protect: joined(&self.protect, &wish.protect),
            no_namespaces: self.no_namespaces,
        }
    }

    /// Returns whether this policy allows nothing that `outer` does not allow.
    #[must_use]
    pub fn is_within(&self, outer: &Self) -> bool {
        let below = |paths: &[PathBuf], roots: &[PathBuf]| {
            paths
                .iter()
                .all(|path| roots.contains(path) || is_below(path, roots))
        };
        let has_all =
            |more: &[PathBuf], fewer: &[PathBuf]| fewer.iter().all(|path| more.contains(path));
        self.mode <= outer.mode
            && self.required >= outer.required
            && below(&self.read, &outer.read)
            && below(&self.write, &outer.write)
            && has_all(&self.never, &outer.never)
            && self.network.is_within(&outer.network)
            && self.limits.is_within(&outer.limits)
            && self.nested <= outer.nested
            && has_all(&self.protect, &outer.protect)
    }
}

/// Returns the paths that both lists allow. A path with `..` is in no directory.
fn common(paths: &[PathBuf], wish: Option<&[PathBuf]>) -> Vec<PathBuf> {
    let Some(wish) = wish else {
        return paths.to_vec();
    };
    let wished = paths
        .iter()
        .filter(|path| wish.contains(path) || is_below(path, wish));
    let allowed = wish
        .iter()
        .filter(|path| !paths.contains(path) && is_below(path, paths));
    wished.chain(allowed).cloned().collect()
}

fn joined(paths: &[PathBuf], more: &[PathBuf]) -> Vec<PathBuf> {
    let new = more.iter().filter(|path| !paths.contains(path));
    paths.iter().chain(new).cloned().collect()
}

fn is_below(path: &Path, roots: &[PathBuf]) -> bool {
    let climbs = path.components().any(|part| part == Component::ParentDir);
    !climbs && roots.iter().any(|root| path.starts_with(root))
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
