//! `toolhost mcp install` and `uninstall`: the entry of this program in the configuration of a client.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use toolhost_edit::{Bounds, diff};
use toolhost_view::hidden::escape;

use super::client::{Client, HERE};
use super::edit::{add, remove};
use super::entry::{Entry, Removed};
use super::file::ConfigFile;
use crate::cli::{Common, exit_code, print, question};

/// The longest that a call waits. Clients such as Claude Desktop, Codex and Zed give up after a minute.
const MAX_WAIT: &str = "50s";

/// Command lines to copy.
const INSTALL_EXAMPLES: &str = "\
Examples:
  toolhost mcp install --client claude-code --workspace ~/project
  toolhost mcp install --client vscode --project --workspace ~/project
  toolhost mcp install --client zed --dry-run";

/// Command lines to copy.
const UNINSTALL_EXAMPLES: &str = "\
Examples:
  toolhost mcp uninstall --client claude-code";

/// The commands below `toolhost mcp`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Add this program to the configuration of an MCP client
    ///
    /// The entry starts `toolhost mcp` in the workspace. Shows the change and asks before it writes. Comments, order and other servers
    /// stay as they are. Exit codes: 0 if the entry is there, 1 if the answer is no, 2 for bad usage or a file that cannot be changed.
    #[command(after_help = INSTALL_EXAMPLES)]
    Install(Options),
    /// Take this program out of the configuration of an MCP client
    ///
    /// Shows the change and asks before it writes. A file that `toolhost mcp install` made is removed. Exit codes: 0 if the entry is
    /// gone, 1 if the answer is no, 2 for bad usage or a file that cannot be changed.
    #[command(after_help = UNINSTALL_EXAMPLES)]
    Uninstall(Options),
}

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The client
    #[arg(long, value_name = "CLIENT")]
    client: Client,
    /// The name of the server at the client: letters, digits, `-` and `_`
    #[arg(long, value_name = "NAME", default_value = "toolhost", value_parser = name)]
    name: String,
    /// Change the file of the project in the workspace, and not that of the user
    #[arg(long)]
    project: bool,
    /// Change this file, and not that of the user
    #[arg(long, value_name = "FILE", conflicts_with = "project")]
    file: Option<PathBuf>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Show the change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Reads the name of a server.
fn name(text: &str) -> Result<String, &'static str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match (1..=64).contains(&text.len()) && text.chars().all(is_allowed) {
        true => Ok(text.to_owned()),
        false => Err("a name has 1 to 64 letters, digits, `-` and `_`"),
    }
}

pub(super) async fn run(common: &Common, command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Install(options) => install(common, &options).await,
        Command::Uninstall(options) => uninstall(common, &options).await,
    }
}

async fn install(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    let path = options.path(common)?;
    let entry = entry(common, &options.name)?;
    let file = ConfigFile::read(&path)?;
    let added = add(file.text(), &options.client.facts().format, &entry);
    let added = added.with_context(|| format!("cannot change {}", path.display()))?;
    let client = options.client.facts().name;
    if file.text() == Some(&added) {
        print(&format!(
            "{}: {} is there already",
            path.display(),
            entry.name
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let question = format!("write this into {}?", path.display());
    let old = file.text().unwrap_or_default();
    if !confirmed(options, &path, (old, &added), &question).await? {
        return Ok(exit_code(options.dry_run));
    }
    file.replace(&added)?;
    print(&format!(
        "{}: {} was added; restart {client} to use it",
        path.display(),
        entry.name
    ))?;
    Ok(ExitCode::SUCCESS)
}

async fn uninstall(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    let path = options.path(common)?;
    let file = ConfigFile::read(&path)?;
    let old = file.text().unwrap_or_default();
    let removed = match file.text() {
        Some(text) => remove(text, &options.client.facts().format, &options.name)
            .with_context(|| format!("cannot change {}", path.display()))?,
        None => Removed::Absent,
    };
    let (rest, question) = match &removed {
        Removed::Absent => {
            print(&format!(
                "{}: {} is not there",
                path.display(),
                options.name
            ))?;
            return Ok(ExitCode::SUCCESS);
        }
        // The link and its target were not made by this program.
        Removed::Nothing if file.is_link() => ("{}\n", "write this into"),
        Removed::Nothing => ("", "remove the file"),
        Removed::Rest(rest) => (rest.as_str(), "write this into"),
    };
    let question = format!("{question} {}?", path.display());
    if !confirmed(options, &path, (old, rest), &question).await? {
        return Ok(exit_code(options.dry_run));
    }
    match removed {
        Removed::Nothing if !file.is_link() => file.remove()?,
        _ => file.replace(rest)?,
    }
    print(&format!("{}: {} was removed", path.display(), options.name))?;
    Ok(ExitCode::SUCCESS)
}

/// Shows a change, and returns whether to make it.
async fn confirmed(
    options: &Options,
    path: &Path,
    (old, new): (&str, &str),
    question: &str,
) -> anyhow::Result<bool> {
    let path = path.display().to_string();
    let shown = diff(&path, old.as_bytes(), new.as_bytes(), Bounds::NONE);
    // A file of a project may have been written by a command.
    let shown = shown.replace("\r\n", "\n");
    print(escape(shown.trim_end()).0.as_ref())?;
    if options.yes || options.dry_run {
        return Ok(!options.dry_run);
    }
    if !std::io::stdin().is_terminal() {
        bail!("cannot ask without a terminal: confirm the change with --yes");
    }
    question::ask(question).await
}

impl Options {
    /// Returns the file to change.
    fn path(&self, common: &Common) -> anyhow::Result<PathBuf> {
        if let Some(file) = &self.file {
            return std::path::absolute(file)
                .with_context(|| format!("{} cannot be used", file.display()));
        }
        let facts = self.client.facts();
        let client = facts.name;
        if self.project {
            let file = facts.project_file(&common.workspace()?);
            return file.with_context(|| {
                format!("{client} has no configuration of a project: leave --project out")
            });
        }
        facts.user_file(HERE).with_context(|| {
            format!("HOME is not set, so the configuration of {client} cannot be found: name it with --file")
        })
    }
}

/// Returns the entry that starts this program in the workspace, with the configuration and the state directory that were named.
fn entry(common: &Common, name: &str) -> anyhow::Result<Entry> {
    let workspace = common.workspace()?;
    let workspace = workspace.canonicalize().with_context(|| {
        let path = workspace.display();
        format!("the workspace {path} cannot be used; name a directory with --workspace")
    })?;
    common.check_workspace()?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let text = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.with_context(|| format!("the path {} is not UTF-8", path.display()))
    };
    let mut args = vec![
        "mcp".to_owned(),
        "--workspace".to_owned(),
        text(&workspace)?,
    ];
    if common.workspace_anyway {
        args.push("--workspace-anyway".to_owned());
    }
    let named = [
        ("--config", &common.config),
        ("--state-dir", &common.state_dir),
    ];
    for (flag, path) in named {
        if let Some(path) = path {
            args.extend([flag.to_owned(), text(&std::path::absolute(path)?)?]);
        }
    }
    args.extend(["--max-wait".to_owned(), MAX_WAIT.to_owned()]);
    Ok(Entry {
        name: name.to_owned(),
        command: text(&program)?,
        args,
    })
}
