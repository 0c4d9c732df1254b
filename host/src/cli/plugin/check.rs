//! `toolhost plugin check`.

mod examples;
mod report;
mod subprocess;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::{Common, Format, Subject, engine};
use crate::cli::{exit_code, print};
use report::Report;
use toolhost_core::{Grants, Options as PluginOptions, Settings};
use toolhost_plugin::{CAPABILITIES, Capability, Digest, GrantValue, Plugin, Shape};
use toolhost_service::processes::Prepared;
use toolhost_workspace::files::FilesGrant;

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    subject: Subject,
    #[arg(long, value_name = "GRANT", help = help_of_grant(), value_parser = grant)]
    grant: Vec<Grant>,
    /// A setting of the plugin; can be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    setting: Vec<(String, String)>,
    /// The temporary directory of the check; set if this process is the one that runs the check
    #[arg(long, value_name = "DIR", hide = true)]
    confined: Option<PathBuf>,
}

/// A grant from the command line, such as `files=read`.
#[derive(Clone, Debug)]
struct Grant {
    capability: &'static Capability,
    value: String,
}

fn help_of_grant() -> String {
    format!(
        "What its examples may use: {}; can be repeated [default: files=write, within the temporary workspace]",
        written()
    )
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
fn setting(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("a setting is NAME=VALUE")?;
    Ok((name.into(), value.into()))
}

impl std::fmt::Display for Grant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}={}", self.capability.name(), self.value)
    }
}

impl Options {
    /// Starts a spawner if this is the process of the check and its commands may run.
    pub(super) fn prepare(&self) -> Prepared {
        if self.confined.is_some() && self.granted().processes() {
            Prepared::with_cgroup(true)
        } else {
            Prepared::default()
        }
    }

    /// Returns the grants of the examples.
    fn granted(&self) -> Grants {
        let mut grants = Grants::default().with_files(FilesGrant::Write);
        for Grant { capability, value } in &self.grant {
            // The value is valid: it was checked when the arguments were parsed.
            _ = grants.grant(capability, GrantValue::Text(value.clone()));
        }
        grants
    }
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    let Some(directory) = options.confined.clone() else {
        return subprocess::run(common, &options).await;
    };
    subprocess::end_with_parent()?;
    let (name, bytes) = options.subject.read()?;
    let mut report = Report::new(&name, Digest::of(&bytes));
    let loaded = load(common, &options, &bytes, &name, &mut report).await?;
    if let Some((plugin, missing)) = loaded {
        tools(&plugin, &mut report);
        examples::run(&plugin, &missing, prepared, &directory, &mut report).await?;
    }
    print(&match options.subject.format {
        Format::Table => report.table(),
        Format::Json => serde_json::to_string_pretty(&report.json())?,
    })?;
    Ok(exit_code(report.failed() == 0))
}

/// Loads the plugin with all grants that it needs, if that is possible. Returns the plugin, and the grants that its examples
/// lack.
async fn load(
    common: &Common,
    options: &Options,
    bytes: &[u8],
    name: &str,
    report: &mut Report,
) -> anyhow::Result<Option<(Arc<Plugin>, Vec<&'static Capability>)>> {
    let shape = match Shape::read(bytes) {
        Ok(shape) => shape,
        Err(error) => {
            report.failed_because("component", error.to_string());
            return Ok(None);
        }
    };
    let size = bytes.len();
    report.ok(
        "component",
        format!("{size} bytes, sha256 {}", Digest::of(bytes)),
    );
    let granted = options.granted();
    let mut missing = shape.needs();
    missing.retain(|need| granted.get(need.name()).is_none());
    let mut grants = granted;
    missing.iter().for_each(|need| grants.grant_least(need));
    let plugin_options = PluginOptions {
        grants,
        settings: Settings {
            settings: options.setting.iter().cloned().collect(),
            ..Settings::default()
        },
        ..PluginOptions::new(name)
    };
    match Plugin::load(&engine(common)?, bytes, plugin_options).await {
        Ok(plugin) => {
            let world = shape.world().unwrap_or_else(|| "no world".into());
            let count = match plugin.tools().len() {
                1 => "1 tool".into(),
                count => format!("{count} tools"),
            };
            report.ok(
                "load",
                format!("it fits the world {world} and lists {count}"),
            );
            Ok(Some((plugin, missing)))
        }
        Err(error) => {
            report.failed_because("load", error.to_string());
            Ok(None)
        }
    }
}

/// Reports weaknesses of the tools. They are valid, as the plugin was loaded.
fn tools(plugin: &Plugin, report: &mut Report) {
    /// The longest description that every provider takes, in bytes.
    const SHORT: usize = 1024;
    if plugin.tools().is_empty() {
        report.note("tools", "it lists none".into());
    }
    for tool in plugin.tools() {
        let subject = format!("tool {}", tool.name);
        report.ok(&subject, "its name, texts and schemas are sound".into());
        let size = tool.description.len();
        if size == 0 {
            report.note(
                &subject,
                "it has no description, by which a model would know when to use it".into(),
            );
        } else if size > SHORT {
            let text =
                format!("its description has {size} bytes, and some providers cut it at {SHORT}");
            report.note(&subject, text);
        }
        if !plugin
            .examples()
            .iter()
            .any(|example| example.tool == tool.name)
        {
            report.note(
                &subject,
                "it has no examples, so no call of it was checked".into(),
            );
        }
    }
}
