//! `toolhost workspaces`: list, show, make, start, stop and remove workspaces.

mod machines;
mod table;
mod text;

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use toolhost_call::call::{StoredWorkspace, Workspaces};
use toolhost_state::workspace_name::WorkspaceName;

use super::lookup::Source;
use super::{Common, print, remote};
use toolhost_service::stderr;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost workspaces list
  toolhost workspaces create team-a/web --git https://git.example.com/web.git --idle 30days
  toolhost workspaces create team-a/box --machine debian --parameter size=2
  toolhost workspaces delete team-a/web --force
  toolhost workspaces show team-a/web --server http://127.0.0.1:7411 --token-file token";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the workspaces by name
    #[command(alias = "ls")]
    List(List),
    /// Show a workspace
    Show(Show),
    /// Make a workspace; its files are made when the first call runs in it
    #[command(alias = "new")]
    Create(Box<Create>),
    /// List the templates of machines, of which --machine takes one
    Templates(machines::Templates),
    /// Start the machine of a workspace, and wait until it can be used
    Start(machines::Start),
    /// Stop the machine of a workspace, and keep its files
    Stop(machines::Stop),
    /// Print what was written while the machine of a workspace was made and started
    Log(machines::Log),
    /// Remove a workspace and its files
    #[command(alias = "rm", alias = "remove")]
    Delete(Delete),
}

#[derive(Debug, Args)]
struct List {
    /// Only workspaces whose names begin like this
    #[arg(long, value_name = "PREFIX", default_value = "")]
    prefix: String,
    #[command(flatten)]
    remote: remote::Remote,
}

#[derive(Debug, Args)]
struct Show {
    /// The name of the workspace
    #[arg(value_parser = str::parse::<WorkspaceName>)]
    name: WorkspaceName,
    #[command(flatten)]
    remote: remote::Remote,
}

#[derive(Debug, Args)]
struct Create {
    /// The name of the workspace
    #[arg(value_parser = str::parse::<WorkspaceName>)]
    name: WorkspaceName,
    /// The template whose files it begins with, as [workspaces.templates] names it
    #[arg(long, value_name = "NAME", conflicts_with = "git")]
    template: Option<String>,
    /// The repository that it begins with
    #[arg(long, value_name = "URL")]
    git: Option<String>,
    /// The branch or tag of the repository
    #[arg(long, value_name = "NAME", requires = "git")]
    branch: Option<String>,
    /// The most bytes of its files
    #[arg(long, value_name = "BYTES")]
    quota_bytes: Option<u64>,
    /// The most files and directories
    #[arg(long, value_name = "N")]
    quota_files: Option<u64>,
    /// Refuse the workspace if its quota cannot be enforced
    #[arg(long)]
    quota_required: bool,
    /// The name of the agent that has it, as [workspaces.agents] gives it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["template", "git", "idle", "agent_url"])]
    agent: Option<String>,
    /// The address of the agent that has it, if the server allows it
    #[arg(long, value_name = "URL", conflicts_with_all = ["template", "git", "idle"], requires = "agent_token_file")]
    agent_url: Option<String>,
    /// A file with the token of that agent
    #[arg(long, value_name = "PATH", requires = "agent_url")]
    agent_token_file: Option<PathBuf>,
    /// Ask the server's lookup service for the agent that has it
    #[arg(long, conflicts_with_all = ["template", "git", "idle", "agent", "agent_url"])]
    lookup: bool,
    /// Make it on a machine of its own, of this template of [templates]
    #[arg(long, value_name = "TEMPLATE", conflicts_with_all = ["template", "git", "idle", "agent", "agent_url", "lookup"])]
    machine: Option<String>,
    /// A parameter of the template of the machine; can be repeated. A value that is JSON is taken as such
    #[arg(long, value_name = "NAME=VALUE", requires = "machine", value_parser = machines::parameter)]
    parameter: Vec<(String, Value)>,
    /// After how long without a call or a process it is removed, such as 30days [default: never]
    #[arg(long, value_name = "TIME", value_parser = toolhost_service::time::time)]
    idle: Option<Duration>,
    #[command(flatten)]
    remote: remote::Remote,
}

#[derive(Debug, Args)]
struct Delete {
    /// The name of the workspace
    #[arg(value_parser = str::parse::<WorkspaceName>)]
    name: WorkspaceName,
    /// End what runs in it
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    remote: remote::Remote,
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    match options.command {
        Command::List(options) => list(common, options).await?,
        Command::Show(options) => show(common, options).await?,
        Command::Create(options) => {
            let server = options.remote.required(common)?;
            let made = server
                .put_workspace(&options.name, &spec(&options)?)
                .await?;
            common.report(&text::render(&made), &made)?;
        }
        Command::Templates(options) => machines::templates(common, &options).await?,
        Command::Start(options) => machines::start(common, &options).await?,
        Command::Stop(options) => machines::stop(common, &options).await?,
        Command::Log(options) => machines::log(common, &options).await?,
        Command::Delete(options) => {
            let server = options.remote.required(common)?;
            let removed = server.remove_workspace(&options.name, options.force);
            let removed = removed.await?;
            common.report(&text::removed(options.name.as_str(), &removed), &removed)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(common: &Common, options: List) -> anyhow::Result<()> {
    let found = match Source::new(common, &options.remote)? {
        Source::Server(server) => server.workspaces(&options.prefix).await?,
        Source::AtRest { store, .. } => {
            let mut all = at_rest(&store.workspaces()?);
            all.retain(|(name, _)| name.as_str().starts_with(&options.prefix));
            all.into_iter().map(|(_, described)| described).collect()
        }
    };
    if common.json {
        return found.iter().try_for_each(|one| print(&one.to_string()));
    }
    if found.is_empty() {
        stderr::line(format_args!("toolhost: there is no such workspace"));
        return Ok(());
    }
    print(&table::render(&found)?)
}

async fn show(common: &Common, options: Show) -> anyhow::Result<()> {
    let found = match Source::new(common, &options.remote)? {
        Source::Server(server) => server.workspace(&options.name).await?,
        Source::AtRest { store, .. } => {
            let mut all = at_rest(&store.workspaces()?).into_iter();
            let found = all.find(|(name, _)| *name == options.name);
            let missing = || {
                let name = &options.name;
                format!(
                    "there is no workspace \"{name}\" in the state directory, which no server uses: start one, and make it with \
                     `toolhost workspaces create {name}`"
                )
            };
            found.with_context(missing)?.1
        }
    };
    common.report(&text::render(&found), &found)
}

/// Returns what the server is asked for.
fn spec(options: &Create) -> anyhow::Result<Value> {
    if options.lookup || options.agent.is_some() || options.agent_url.is_some() {
        let token = options.agent_token_file.as_ref().map(|path| {
            let token = std::fs::read_to_string(path);
            token.with_context(|| {
                format!("cannot read the token of the agent from {}", path.display())
            })
        });
        let token = token.transpose()?;
        return Ok(without_null(json!({
            "provider": "agent", "agent": options.agent, "url": options.agent_url,
            "token": token.as_deref().map(str::trim),
        })));
    }
    if let Some(template) = &options.machine {
        let parameters: serde_json::Map<_, _> = options.parameter.iter().cloned().collect();
        return Ok(json!({
            "provider": "template", "template": template, "parameters": parameters,
        }));
    }
    let mut spec = json!({ "provider": "directory" });
    let mut set = |key: &str, value: Value| {
        if let Value::Object(fields) = &mut spec {
            fields.insert(key.to_owned(), value);
        }
    };
    if let Some(template) = &options.template {
        set("template", json!(template));
    }
    if let Some(url) = &options.git {
        set(
            "git",
            without_null(json!({ "url": url, "branch": options.branch })),
        );
    }
    if options.quota_bytes.is_some() || options.quota_files.is_some() || options.quota_required {
        set(
            "quota",
            without_null(json!({
                "bytes": options.quota_bytes, "files": options.quota_files, "required": options.quota_required,
            })),
        );
    }
    if let Some(idle) = options.idle {
        set("idle_seconds", json!(idle.as_secs()));
    }
    Ok(spec)
}

fn without_null(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

/// Describes the workspaces of a store that no host uses, as a server describes its own.
fn at_rest(all: &Workspaces) -> Vec<(WorkspaceName, Value)> {
    let mut chats = HashMap::<&WorkspaceName, usize>::new();
    for binding in &all.bindings {
        *chats.entry(&binding.workspace).or_default() += 1;
    }
    let present = all.found.iter().filter(|one| one.removed_ms.is_none());
    let described = present.map(|one| {
        let chats = chats.get(&one.name).copied().unwrap_or_default();
        (one.name.clone(), describe(one, chats))
    });
    described.collect()
}

fn describe(workspace: &StoredWorkspace, chats: usize) -> Value {
    let mut described: Value = serde_json::from_str(&workspace.spec).unwrap_or_default();
    if let Value::Object(fields) = &mut described {
        for (key, value) in [
            ("name", json!(workspace.name.as_str())),
            ("state", json!("closed")),
            ("chats", json!(chats)),
            ("created_at_unix_ms", json!(workspace.created_ms)),
            ("used_at_unix_ms", json!(workspace.used_ms)),
        ] {
            fields.insert(key.to_owned(), value);
        }
        fields.shift_remove("token");
    }
    described
}
