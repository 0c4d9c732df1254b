//! `grants = { … }` of a plugin.

use std::path::PathBuf;

use serde::Deserialize;

use super::Config;
use crate::capability::{FilesGrant, Grants, Preopen};

/// What a plugin may import and use. What is not named is not granted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GrantsTable {
    #[serde(default)]
    processes: Processes,
    #[serde(default)]
    files: Files,
    #[serde(default)]
    http: Vec<String>,
    #[serde(default)]
    env: Vec<String>,
    #[serde(default)]
    preopens: Vec<PreopenTable>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Processes {
    #[default]
    None,
    Own,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Access {
    #[default]
    None,
    Read,
    Write,
}

/// `"read"`, or `{ access = "read", roots = ["docs"] }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "files is \"none\", \"read\" or \"write\", or a table such as { access = \"read\", roots = [\"docs\"] }"
)]
enum Files {
    Access(Access),
    Roots(Roots),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Roots {
    access: Access,
    roots: Vec<PathBuf>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PreopenTable {
    /// The directory on this machine.
    dir: PathBuf,
    /// The path under which the plugin sees it.
    name: String,
    #[serde(default)]
    write: bool,
}

impl Default for Files {
    fn default() -> Self {
        Self::Access(Access::None)
    }
}

impl From<Access> for FilesGrant {
    fn from(access: Access) -> Self {
        match access {
            Access::None => Self::None,
            Access::Read => Self::Read,
            Access::Write => Self::Write,
        }
    }
}

impl GrantsTable {
    pub(super) fn grants(&self, config: &Config) -> Result<Grants, String> {
        let http = self.http.iter().map(|text| {
            let pattern = text.parse();
            pattern.map_err(|error| format!("grants.http: {error}"))
        });
        for name in &self.env {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(format!(
                    "grants.env: {name:?} cannot be the name of a variable"
                ));
            }
        }
        let preopens = self.preopens.iter().map(|preopen| Preopen {
            directory: config.resolve(&preopen.dir),
            name: preopen.name.clone(),
            write: preopen.write,
        });
        let (files, file_roots) = match &self.files {
            Files::Access(access) => (*access, None),
            Files::Roots(roots) => (roots.access, Some(roots.roots.clone())),
        };
        Ok(Grants {
            processes: matches!(self.processes, Processes::Own),
            files: files.into(),
            file_roots,
            http: http.collect::<Result<_, _>>()?,
            env: self.env.clone(),
            preopens: preopens.collect(),
        })
    }
}
