//! `[plugins.NAME]`: one plugin.

use std::collections::BTreeMap;
use std::env::VarError;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Config;
use super::grants::GrantsTable;
use super::limits::LimitsTable;
use super::values::{self, Setting};
use crate::capability::Settings;
use crate::host::{EMBEDDED, Embedded, PluginSet, PluginSource};
use crate::plugin::Options;

/// All of them, by their names.
pub(super) type Tables = BTreeMap<String, PluginTable>;

/// One plugin, as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PluginTable {
    pub(super) component: Option<PathBuf>,
    enabled: Option<bool>,
    sha256: Option<String>,
    grants: Option<GrantsTable>,
    #[serde(default)]
    limits: LimitsTable,
    #[serde(default)]
    settings: BTreeMap<String, Setting>,
    #[serde(default)]
    secrets: Secrets,
}

/// All of them. Untagged, as are those below, because other errors would repeat what was written: somebody may write the secret
/// itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "secrets is a table in which each is { file = \"…\" } or { env = \"VARIABLE\" }: a secret itself is not written here"
)]
enum Secrets {
    Table(BTreeMap<String, Secret>),
}

impl Default for Secrets {
    fn default() -> Self {
        Self::Table(BTreeMap::new())
    }
}

impl Secrets {
    fn table(&self) -> &BTreeMap<String, Secret> {
        let Self::Table(table) = self;
        table
    }
}

/// Where a secret is: `{ file = "…" }` or `{ env = "…" }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Secret {
    File(SecretFile),
    Env(SecretVariable),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretFile {
    file: PathBuf,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretVariable {
    env: String,
}

impl PluginTable {
    /// Adds the plugin to a set.
    pub(super) fn add_to(
        &self,
        set: &mut PluginSet,
        name: &str,
        config: &Config,
    ) -> Result<(), String> {
        let enabled = self.enabled.unwrap_or(true);
        let limits = self.limits.limits()?;
        if EMBEDDED.contains(&name) {
            let more = self.grants.is_some() || self.sha256.is_some();
            if self.component.is_some()
                || more
                || !self.settings.is_empty()
                || !self.secrets.table().is_empty()
            {
                return Err(format!(
                    "{name} is the name of an embedded plugin, of which only `enabled` and `limits` can be set; choose another name"
                ));
            }
            let limits = Some(limits);
            set.embedded
                .insert(name.into(), Embedded { enabled, limits });
            return Ok(());
        }
        let component = self.component.as_deref().ok_or(
            "`component = \"FILE.wasm\"` is missing, and there is no such file in `plugin_dir`",
        )?;
        let grants = self.grants.clone().unwrap_or_default();
        let settings = self.settings.iter();
        let secrets = self.secrets.table().iter().map(|(name, secret)| {
            let value = secret.value(config);
            let value = value.map_err(|error| format!("secrets.{name}: {error}"))?;
            Ok((name.clone(), value))
        });
        let sha256 = self.sha256.as_deref().map(str::parse).transpose();
        let sha256 = sha256.map_err(|error| format!("sha256: {error}"))?;
        let options = Options {
            sha256,
            grants: grants.grants(config)?,
            settings: Settings {
                settings: settings
                    .map(|(name, value)| (name.clone(), value.0.clone()))
                    .collect(),
                secrets: secrets.collect::<Result<_, String>>()?,
            },
            limits,
            ..Options::new(name)
        };
        set.sources.push(PluginSource {
            enabled,
            ..PluginSource::file(config.resolve(component), options)
        });
        Ok(())
    }

    /// Returns every file that it depends on.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        let secrets = self
            .secrets
            .table()
            .values()
            .filter_map(|secret| match secret {
                Secret::File(secret) => Some(secret.file.as_path()),
                Secret::Env(_) => None,
            });
        self.component.as_deref().into_iter().chain(secrets)
    }
}

impl Secret {
    /// Looks the secret up. A line end at the end of a file is no part of it.
    fn value(&self, config: &Config) -> Result<String, String> {
        match self {
            Self::File(secret) => {
                let path = config.resolve(&secret.file);
                let text = values::read(&path);
                let text =
                    text.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
                let text = text.strip_suffix('\n').unwrap_or(&text);
                Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
            }
            Self::Env(SecretVariable { env }) => std::env::var(env).map_err(|error| match error {
                VarError::NotPresent => format!("the variable {env} is not set"),
                // The error itself shows the value.
                VarError::NotUnicode(_) => format!("the variable {env} is not UTF-8"),
            }),
        }
    }
}

/// Returns the name of a plugin whose file has this name, without its extension: `Word-Count.v2` is `word_count_v2`.
pub fn name_of(stem: &str) -> String {
    let parts = stem.split(|c: char| !c.is_ascii_alphanumeric());
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("_").to_ascii_lowercase()
}
