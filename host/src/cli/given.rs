//! `--grant`, `--setting` and `--secret`: what the command line gives a plugin.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::config::read_secret;
use anyhow::anyhow;
use clap::Args;
use toolhost_core::{Grants, Settings};
use toolhost_plugin::{CAPABILITIES, Capability, GrantValue, hidden_in, shown};

/// What the command line gives a plugin.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
pub(super) struct Given {
    #[arg(long, value_name = "GRANT", help = help_of_grant(), value_parser = grant)]
    grant: Vec<Grant>,
    /// A setting of the plugin; can be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    setting: Vec<(String, String)>,
    /// A secret of the plugin, and the file that has its value and that only you can read; can be repeated
    #[arg(long, value_name = "NAME=FILE", value_parser = secret)]
    secret: Vec<(String, PathBuf)>,
}

/// A grant from the command line, such as `files=read`.
#[derive(Clone, Debug)]
struct Grant {
    capability: &'static Capability,
    value: String,
}

fn help_of_grant() -> String {
    format!("What the plugin may use: {}; can be repeated", written())
}

/// Returns all forms of a grant as a text: `a, b or c`.
fn written() -> String {
    let all: Vec<_> = CAPABILITIES
        .iter()
        .flat_map(Capability::options)
        .copied()
        .collect();
    match all.split_last() {
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Reads a grant.
fn grant(text: &str) -> Result<Grant, String> {
    let invalid = || format!("a grant is {}", written());
    let (name, value) = text.split_once('=').ok_or_else(invalid)?;
    let capability = Capability::named(name).ok_or_else(invalid)?;
    let granted = Grants::default().grant(capability, GrantValue::Text(value.into()));
    match granted.map_err(|mut problems| problems.pop()) {
        Ok(()) => Ok(Grant {
            capability,
            value: value.into(),
        }),
        // An error about the whole value would say no more than the list of all forms.
        Err(Some(problem)) if !problem.part.is_empty() => Err(problem.to_string()),
        Err(_) => Err(invalid()),
    }
}

/// Reads a setting: its name and its value.
fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a setting is NAME=VALUE")?;
    if let Some(c) = hidden_in(name, false).or_else(|| hidden_in(value, true)) {
        return Err(format!(
            "{} has the character {}, which a model reads and a person does not see: remove it",
            shown(name),
            c.escape_unicode()
        ));
    }
    Ok((name.into(), value.into()))
}

/// Reads a secret: its name and its file, as an absolute path.
fn secret(text: &str) -> Result<(String, PathBuf), String> {
    let is_whole = |(name, path): &(&str, &str)| !name.is_empty() && !path.is_empty();
    let written = text.split_once('=').filter(is_whole);
    let (name, path) = written.ok_or("a secret is NAME=FILE: its value stands in the file")?;
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    Ok((name.into(), path))
}

impl Given {
    /// Returns the name of a flag that was given; `None` if none was.
    pub(super) fn flag(&self) -> Option<&'static str> {
        let flags = [
            ("--grant", self.grant.is_empty()),
            ("--setting", self.setting.is_empty()),
            ("--secret", self.secret.is_empty()),
        ];
        let given = flags.into_iter().find(|(_, is_empty)| !is_empty);
        given.map(|(flag, _)| flag)
    }

    /// Adds the grants to others. A grant of the command line replaces one of the same capability.
    pub(super) fn grants(&self, mut others: Grants) -> Grants {
        for Grant { capability, value } in &self.grant {
            // The value is valid: it was checked when the arguments were parsed.
            _ = others.grant(capability, GrantValue::Text(value.clone()));
        }
        others
    }

    /// Returns the settings.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        self.setting.iter().cloned().collect()
    }

    /// Returns the files of the secrets.
    pub(super) fn secret_files(&self) -> BTreeMap<String, PathBuf> {
        self.secret.iter().cloned().collect()
    }

    /// Returns the settings and the secrets.
    ///
    /// Fails if the file of a secret cannot be read, or if others can read it.
    pub(super) fn values(&self) -> anyhow::Result<Settings> {
        let secret = |(name, path): &(String, PathBuf)| {
            let value = read_secret(path).map_err(|error| anyhow!("--secret {name}: {error}"))?;
            anyhow::Ok((name.clone(), value))
        };
        Ok(Settings {
            settings: self.settings(),
            secrets: self.secret.iter().map(secret).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the flags that give the same.
    pub(super) fn flags(&self) -> impl Iterator<Item = String> {
        let grants = self.grant.iter();
        let grants =
            grants.map(|grant| format!("--grant={}={}", grant.capability.name(), grant.value));
        let settings = self.setting.iter();
        let secrets = self.secret.iter();
        grants
            .chain(settings.map(|(name, value)| format!("--setting={name}={value}")))
            .chain(secrets.map(|(name, path)| format!("--secret={name}={}", path.display())))
    }
}
