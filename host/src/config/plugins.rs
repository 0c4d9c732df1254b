//! `[plugins.NAME]`: one plugin.

use std::collections::BTreeMap;
use std::env::VarError;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::ValueDeserializer;

use super::packages::Package;
use super::section::{Section, Value};
use super::values::Setting;
use super::{Config, grants, images, limits, optional, scripts};
use toolhost_core::{
    EMBEDDED, Embedded, FILES, FIND_TOOLS, PluginSet, PluginSource, SCRIPT, embedded_limits,
};
use toolhost_plugin::{Capability, Digest, Limits, Options, hidden_in, is_plugin_name, shown};
use toolhost_plugin::{Grants, Settings};
use toolhost_state::trusted::{UntrustedError, read_private};

/// All of them, by their names.
pub(super) type Plugins = BTreeMap<String, Plugin>;

/// One plugin, as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Plugin {
    pub(super) component: Option<PathBuf>,
    pub(super) package: Option<Package>,
    enabled: Option<bool>,
    sha256: Option<Digest>,
    grants: Grants,
    limits: Limits,
    settings: BTreeMap<String, String>,
    secrets: BTreeMap<String, Secret>,
    /// The directory of the library of scripts.
    pub(super) library: Option<PathBuf>,
}

/// A plugin that is added to a configuration.
#[derive(Clone, Debug, Default)]
pub struct Added {
    /// The component.
    pub component: PathBuf,
    /// Grants beside those of the file. A grant here replaces one of the same capability there.
    pub grants: Grants,
    /// Settings beside those of the file, which they replace.
    pub settings: BTreeMap<String, String>,
    /// The files of secrets beside those of the file, which they replace.
    pub secrets: BTreeMap<String, PathBuf>,
}

/// The place of a secret.
#[derive(Clone, Debug)]
enum Secret {
    File(PathBuf),
    Variable(String),
}

/// The form of a section, for errors.
pub(super) const WRITTEN: &str = "plugins are written as sections [plugins.NAME]";

/// Reads all of them.
pub(super) fn read(mut section: Section<'_, '_>, base: &Path) -> Plugins {
    let mut plugins = Plugins::new();
    for (name, value) in section.rest() {
        let Some(table) = section.table(&name, value, WRITTEN) else {
            continue;
        };
        if !is_plugin_name(&name) {
            table.wrong_here(
                "the name of a plugin is 1 to 31 of a-z, 0-9 and single `_`, and begins with a letter",
            );
        }
        let plugin = if EMBEDDED.contains(&name.as_str()) {
            read_embedded(table, &name, base)
        } else {
            read_one(table, base)
        };
        plugins.insert(name, plugin);
    }
    plugins
}

fn read_embedded(mut section: Section<'_, '_>, name: &str, base: &Path) -> Plugin {
    let mut plugin = Plugin {
        enabled: section.boolean("enabled"),
        limits: match section.section("limits") {
            Some(limits) => limits::read(limits, embedded_limits(name)),
            None => embedded_limits(name),
        },
        ..Plugin::default()
    };
    let mut settable = "`enabled` and `limits`";
    if name == FILES {
        settable = "`enabled`, `limits` and `settings`";
        if let Some(settings) = section.section("settings") {
            plugin.settings = images::read(settings, &plugin.limits);
        }
    }
    if name == SCRIPT || name == FIND_TOOLS {
        settable = "`enabled`, `limits` and `grants`";
        if let Some(section) = section.section("grants") {
            plugin.grants = grants::read_grants(section, base);
        }
        let Grants { env, preopens, .. } = &plugin.grants;
        let mut granted = plugin.grants.granted().keys();
        if granted.any(|name| *name != "calls") || !env.is_empty() || !preopens.is_empty() {
            section.wrong("grants", format!("{name} can be granted `calls` only"));
        }
    }
    if name == SCRIPT {
        settable = "`enabled`, `limits`, `grants` and `settings`";
        if let Some(mut settings) = section.section("settings") {
            plugin.library = settings.text(scripts::LIBRARY).map(PathBuf::from);
            settings.finish();
        }
    }
    // Those that can be set were read.
    for key in [
        "component",
        "signed_by",
        "sha256",
        "grants",
        "settings",
        "secrets",
    ] {
        if section.take(key).is_some() {
            section.wrong(
                key,
                format!(
                    "{name} is an embedded plugin, of which only {settable} can be set; choose another name"
                ),
            );
        }
    }
    section.finish();
    plugin
}

fn read_one(mut section: Section<'_, '_>, base: &Path) -> Plugin {
    let sha256 = section.text("sha256").and_then(|text| {
        let digest = text.parse::<Digest>();
        digest
            .inspect_err(|error| section.wrong("sha256", error.to_string()))
            .ok()
    });
    let (package, component) = Package::read(&mut section);
    let plugin = Plugin {
        component,
        package,
        enabled: section.boolean("enabled"),
        sha256,
        grants: section
            .section("grants")
            .map(|section| grants::read_grants(section, base))
            .unwrap_or_default(),
        limits: section
            .section("limits")
            .map(|section| limits::read(section, Limits::default()))
            .unwrap_or_default(),
        settings: section
            .section("settings")
            .map(read_settings)
            .unwrap_or_default(),
        secrets: read_secrets(&mut section),
        library: None,
    };
    section.finish();
    plugin
}

fn read_settings(mut section: Section<'_, '_>) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for (name, value) in section.rest() {
        match Setting::deserialize(ValueDeserializer::from(value)) {
            Ok(Setting(value)) => {
                if let Some(c) = hidden_in(&name, false).or_else(|| hidden_in(&value, true)) {
                    section.wrong_unnamed(
                        &name,
                        format!(
                            "{} has the character {}, which a model reads and a person does not see: remove it",
                            shown(&name),
                            c.escape_unicode()
                        ),
                    );
                }
                settings.insert(name, value);
            }
            Err(error) => section.wrong(&name, error.message()),
        }
    }
    settings
}

/// Reads the file of a secret, which only its owner may read. A line end at the end of it is no part of the secret.
///
/// # Errors
///
/// If the file cannot be read, or if others can read it.
pub fn read_secret(path: &Path) -> Result<String, UntrustedError> {
    let text = read_private(path)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

/// Reads all secrets. No error repeats a value of the file: the value may be the secret itself.
fn read_secrets(section: &mut Section<'_, '_>) -> BTreeMap<String, Secret> {
    const SECRET: &str = "it must be { file = \"…\" } or { env = \"VARIABLE\" }: a secret itself is not written here";
    let mut secrets = BTreeMap::new();
    let Some(value) = section.take("secrets") else {
        return secrets;
    };
    let Some(mut table) = section.table(
        "secrets",
        value,
        "it must be a table, in which each is { file = \"…\" } or { env = \"VARIABLE\" }",
    ) else {
        return secrets;
    };
    for (name, value) in table.rest() {
        match place_of_secret(&value) {
            Some(secret) => _ = secrets.insert(name, secret),
            None => table.wrong(&name, SECRET),
        }
    }
    secrets
}

fn place_of_secret(value: &Value<'_>) -> Option<Secret> {
    let table = value.get_ref().as_table()?;
    let mut entries = table.iter();
    let (Some((key, value)), None) = (entries.next(), entries.next()) else {
        return None;
    };
    let value = value.get_ref().as_str()?;
    match &**key.get_ref() {
        "file" => Some(Secret::File(value.into())),
        "env" => Some(Secret::Variable(value.into())),
        _ => None,
    }
}

impl Plugin {
    /// Replaces the component, and adds grants and settings.
    pub(super) fn add(&mut self, added: &Added) {
        self.component = Some(added.component.clone());
        self.package = None;
        for (name, value) in added.grants.granted() {
            if let Some(capability) = Capability::named(name) {
                // The value was accepted before.
                _ = self.grants.grant(capability, value.clone());
            }
        }
        self.settings.extend(added.settings.clone());
        let secrets = added.secrets.iter();
        self.secrets
            .extend(secrets.map(|(name, path)| (name.clone(), Secret::File(path.clone()))));
    }

    /// Adds the plugin to a set.
    ///
    /// # Errors
    ///
    /// If files or variables that the configuration names are missing now: the keys, and the problem of each.
    pub(super) fn add_to(
        &self,
        set: &mut PluginSet,
        name: &str,
        config: &Config,
    ) -> Result<(), Vec<(String, String)>> {
        let enabled = self.enabled.unwrap_or(true);
        if name == SCRIPT {
            if config.has_optional(SCRIPT) {
                let library = self.library.as_deref().map(|path| config.resolve(path));
                let source = scripts::source(library, &self.grants, &self.limits);
                set.sources.push(PluginSource { enabled, ..source });
            }
            return Ok(());
        }
        if name == FIND_TOOLS {
            if config.has_optional(FIND_TOOLS) {
                let source = optional::finder(&self.grants, &self.limits);
                set.sources.push(PluginSource { enabled, ..source });
            }
            return Ok(());
        }
        if EMBEDDED.contains(&name) {
            let limits = Some(self.limits.clone());
            let embedded = Embedded {
                enabled,
                limits,
                settings: self.settings.clone(),
            };
            set.embedded.insert(name.into(), embedded);
            return Ok(());
        }
        let mut problems = Vec::new();
        let mut component = self.component.as_deref().map(|path| config.resolve(path));
        let mut sha256 = self.sha256;
        if let Some(package) = &self.package {
            match package.pulled(config) {
                Ok((path, digest)) => {
                    component = Some(path);
                    sha256.get_or_insert(digest);
                }
                Err(problem) => problems.push(("component".to_owned(), problem)),
            }
        } else if component.is_none() {
            let problem =
                "`component = \"FILE.wasm\"` is missing, and there is no such file in `plugin_dir`";
            problems.push((String::new(), problem.to_owned()));
        }
        let mut secrets = BTreeMap::new();
        for (name, secret) in &self.secrets {
            match secret.value(config) {
                Ok(value) => _ = secrets.insert(name.clone(), value),
                Err(problem) => problems.push((format!("secrets.{name}"), problem)),
            }
        }
        let (Some(component), []) = (component, &problems[..]) else {
            return Err(problems);
        };
        let options = Options {
            sha256,
            grants: self.grants.clone(),
            settings: Settings {
                settings: self.settings.clone(),
                secrets,
            },
            limits: self.limits.clone(),
            ..Options::new(name)
        };
        set.sources.push(PluginSource {
            enabled,
            ..PluginSource::file(component, options)
        });
        Ok(())
    }

    /// Returns every file that it depends on.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.component
            .as_deref()
            .into_iter()
            .chain(self.secret_files())
    }

    /// Returns the files of its secrets.
    fn secret_files(&self) -> impl Iterator<Item = &Path> {
        self.secrets.values().filter_map(|secret| match secret {
            Secret::File(path) => Some(path.as_path()),
            Secret::Variable(_) => None,
        })
    }
}

impl Secret {
    /// Looks the secret up.
    fn value(&self, config: &Config) -> Result<String, String> {
        match self {
            Self::File(path) => {
                read_secret(&config.resolve(path)).map_err(|error| error.to_string())
            }
            Self::Variable(name) => std::env::var(name).map_err(|error| match error {
                VarError::NotPresent => format!("the variable {name} is not set"),
                // Do not show the error of the library: it repeats the value.
                VarError::NotUnicode(_) => format!("the variable {name} is not UTF-8"),
            }),
        }
    }
}
