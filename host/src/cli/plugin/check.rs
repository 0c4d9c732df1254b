//! `toolhost plugin check`.

mod examples;
mod report;
pub(super) mod subprocess;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::{Common, Subject, engine, notes};
use crate::cli::given::Given;
use crate::cli::{exit_code, print};
use report::Report;
use toolhost_call::tool::{Format, UnknownFormat};
use toolhost_core::{Grants, Options as PluginOptions};
use toolhost_plugin::{Capability, Digest, Plugin, Shape};
use toolhost_service::processes::Prepared;
use toolhost_workspace::files::FilesGrant;

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    subject: Subject,
    #[command(flatten)]
    given: Given,
    /// Fail if a tool cannot be offered in this format of lists of tools, such as anthropic, or in one of them (all). Without this
    /// option, that is a note
    #[arg(long, value_name = "FORMAT", value_parser = Wanted::parse)]
    format: Option<Wanted>,
    /// The temporary directory of the check; set if this process is the one that runs the check
    #[arg(long, value_name = "DIR", hide = true)]
    confined: Option<PathBuf>,
}

/// The formats in which every tool must be offered: `all`, or one by its name.
#[derive(Clone, Debug)]
struct Wanted {
    name: String,
    format: Option<Format>,
}

impl Wanted {
    fn parse(text: &str) -> Result<Self, String> {
        let format = match text {
            "all" => None,
            name => Some(
                name.parse()
                    .map_err(|error: UnknownFormat| format!("{error}, or all"))?,
            ),
        };
        let name = text.to_owned();
        Ok(Self { name, format })
    }

    fn has(&self, format: Format) -> bool {
        self.format.is_none_or(|only| only == format)
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
        granted(&self.given)
    }

    /// Returns the arguments for the process that runs the check.
    fn arguments(&self) -> Vec<OsString> {
        let subject = &self.subject;
        let name = subject.name.iter().map(|name| format!("--name={name}"));
        let format = self
            .format
            .iter()
            .map(|wanted| format!("--format={}", wanted.name));
        let given = self.given.flags().chain(name).chain(format);
        let mut arguments: Vec<_> = given.map(OsString::from).collect();
        arguments.extend(["--".into(), subject.file.clone().into_os_string()]);
        arguments
    }
}

/// Returns grants from the command line, and that of the temporary workspace.
pub(super) fn granted(given: &Given) -> Grants {
    given.grants(Grants::default().with_files(FilesGrant::Write))
}

/// Returns a value as the command line has it.
pub(super) fn named(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

pub(super) async fn run(
    common: &Common,
    mut options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    options.subject.resolve()?;
    let Some(directory) = options.confined.clone() else {
        // Check this before anything is started: a missing file is wrong usage.
        super::component(&options.subject.file)?;
        return subprocess::confined(common, "check", options.arguments()).await;
    };
    subprocess::end_with_parent()?;
    let (name, bytes) = options.subject.read()?;
    let mut report = Report::new(&name, Digest::of(&bytes));
    let loaded = load(common, &options, &bytes, &name, &mut report).await?;
    if let Some((plugin, missing)) = loaded {
        tools(&plugin, options.format.as_ref(), &mut report);
        let component = bytes.into();
        examples::run(
            (&plugin, &component),
            &missing,
            prepared,
            &directory,
            &mut report,
        )
        .await?;
    }
    print(&match common.json {
        false => report.table(),
        true => serde_json::to_string_pretty(&report.json())?,
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
    for note in notes::of_imports(&shape, bytes) {
        report.note("imports", note);
    }
    let granted = options.granted();
    let mut missing = shape.needs();
    missing.retain(|need| granted.get(need.name()).is_none());
    let mut grants = granted;
    missing.iter().for_each(|need| grants.grant_least(need));
    let plugin_options = PluginOptions {
        grants,
        settings: options.given.values()?,
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
            let cause = match error.cause() {
                Some(cause) => Some(cause.clone().with_lines(bytes.to_vec().into()).await),
                None => None,
            };
            report.failed_with("load", error.to_string(), cause);
            Ok(None)
        }
    }
}

/// Reports weaknesses of the tools. They are valid, as the plugin was loaded.
fn tools(plugin: &Plugin, wanted: Option<&Wanted>, report: &mut Report) {
    /// The longest description that every provider takes, in bytes.
    const SHORT: usize = 1024;
    /// The longest name with which a client of MCP stays within the 64 bytes of providers: some put `mcp__toolhost__` before it.
    const LONG: usize = 49;
    if plugin.tools().is_empty() {
        report.note("tools", "it lists none".into());
    }
    for tool in plugin.tools() {
        let subject = format!("tool {}", tool.name);
        report.ok(&subject, "its name, texts and schemas are sound".into());
        for (formats, reason) in Format::misfits(tool) {
            let is_wanted = wanted.is_some_and(|wanted| formats.iter().any(|one| wanted.has(*one)));
            let names: Vec<_> = formats.iter().map(|format| format.name()).collect();
            let text = format!(
                "it is not offered in the format {}: {reason}",
                names.join(" or ")
            );
            match is_wanted {
                true => report.failed_because(&subject, text),
                false => report.note(&subject, text),
            }
        }
        let name = format!("{}__{}", plugin.name(), tool.name);
        if name.len() > LONG {
            let text = format!(
                "its full name {name} has {} bytes: with more than {LONG}, clients of MCP that put mcp__toolhost__ before it exceed the 64 bytes of providers",
                name.len()
            );
            report.note(&subject, text);
        }
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
