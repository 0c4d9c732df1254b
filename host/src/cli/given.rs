//! `--grant` and `--setting`: what the command line gives a plugin.

use std::collections::BTreeMap;

use clap::Args;
use toolhost_core::Grants;
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

impl Given {
    /// Returns the name of a flag that was given; `None` if none was.
    pub(super) fn flag(&self) -> Option<&'static str> {
        match (self.grant.is_empty(), self.setting.is_empty()) {
            (false, _) => Some("--grant"),
            (true, false) => Some("--setting"),
            (true, true) => None,
        }
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

    /// Returns the flags that give the same.
    pub(super) fn flags(&self) -> impl Iterator<Item = String> {
        let grants = self.grant.iter();
        let grants =
            grants.map(|grant| format!("--grant={}={}", grant.capability.name(), grant.value));
        let settings = self.setting.iter();
        grants.chain(settings.map(|(name, value)| format!("--setting={name}={value}")))
    }
}
