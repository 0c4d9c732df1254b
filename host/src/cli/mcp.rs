//! `toolhost mcp`.

mod client;
mod edit;
mod entry;
mod file;
mod install;
mod json;
mod streams;
mod toml;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use toolhost_call::call::Durability;

use super::{Common, host, serve};
use toolhost_server::{McpOptions, serve_mcp};
use toolhost_service::processes::Prepared;
use toolhost_service::signals::{self, Hangup};
use toolhost_state::id::ChatId;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost mcp --workspace ~/project
  toolhost mcp --files none --plugin weather.wasm
  toolhost mcp install --client claude-code --workspace ~/project";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct Options {
    /// Another job than to serve.
    #[command(subcommand)]
    command: Option<install::Command>,
    /// The chat of calls that name none [default: a random one]
    #[arg(long, value_name = "ID", env = "TOOLHOST_MCP_CHAT", value_parser = str::parse::<ChatId>)]
    chat: Option<ChatId>,
    /// The longest that a call waits for its command before it replies that this is running; clients give up by themselves
    #[arg(
        long,
        value_name = "TIME",
        env = "TOOLHOST_MCP_MAX_WAIT",
        default_value = "100s",
        value_parser = toolhost_service::time::time
    )]
    max_wait: Duration,
    /// Reply with structured content and output schemas, for programs; some clients show models the same reply twice then
    #[arg(long, env = "TOOLHOST_MCP_STRUCTURED")]
    structured: bool,
    #[command(flatten)]
    pub(super) host: host::Options,
}

impl Options {
    /// Forks what serving needs, if this is the job.
    pub(super) fn prepare(&self) -> Prepared {
        match self.command {
            Some(_) => Prepared::default(),
            None => self.host.prepare(),
        }
    }
}

pub(super) async fn run(
    common: &Common,
    mut options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    if let Some(command) = options.command {
        return install::run(common, command).await;
    }
    // From here on, a signal shuts the host down in order, even while it starts.
    let mut stop = Box::pin(signals::ended(Hangup::Reloads));
    options.host.processes.protect_by_default();
    let plan = options.host.plan(common)?;
    let start = async {
        // Several clients may start this program at once, so records are kept only in a state directory that the operator
        // names.
        let kept = common.state_dir.is_some().then(Durability::default);
        let host = plan.start(plan.embedded(), &prepared, kept, |builder| builder);
        let host = host.await?;
        let watcher = serve::follow(&plan.config, &host, plan.plugins.clone()).await;
        anyhow::Ok((host, watcher))
    };
    signals::on_reload(|| tracing::info!("SIGHUP: the files of the configuration are read again"));
    let (host, _watcher) = tokio::select! {
        biased;
        () = &mut stop => return Ok(ExitCode::SUCCESS),
        started = start => started?,
    };
    let hurried = host.clone();
    let stop = async move {
        stop.await;
        // A second signal kills the processes that are still ending.
        tokio::spawn(async move {
            signals::ended(Hangup::Reloads).await;
            hurried.hurry();
        });
    };
    let served = McpOptions {
        chat: options.chat,
        max_wait: options.max_wait,
        structured: options.structured,
    };
    let (input, output) = streams::streams();
    let ended = serve_mcp(host, served, input, output, stop).await?;
    tracing::info!(
        processes = ended.len(),
        "stopped, and ended what was still running"
    );
    Ok(ExitCode::SUCCESS)
}
