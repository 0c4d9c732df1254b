//! `toolhost serve`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use clap::builder::FalseyValueParser;

use super::listening::{self, Clients};
use super::processes::{self, Prepared};
use super::{Common, files, oversight, plugins, signals};
use crate::config::{Config, Watcher};
use toolhost_call::call::Durability;
use toolhost_call::events;
use toolhost_core::{Host, PluginSet};
use toolhost_http::Listen;
use toolhost_server::{McpOptions, ServerParts};

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost serve --workspace ~/project
  toolhost serve --listen unix:/run/user/1000/toolhost.sock
  toolhost serve --listen 0.0.0.0:7411 --tls-cert cert.pem --tls-key key.pem --allow-host tools.example.com";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// Where to listen: an address, of which port 0 is any free one, or unix:/PATH; can be repeated
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:7411",
        env = "TOOLHOST_LISTEN",
        value_delimiter = ','
    )]
    listen: Vec<Listen>,
    /// Offer the agent API as well, with which the token reaches the processes of all chats, and
    /// the files of the workspace
    #[arg(long, env = "TOOLHOST_AGENT_API", value_parser = FalseyValueParser::new())]
    agent_api: bool,
    /// What the records of calls survive: the end of the host, or of the machine as well. With `power`, a call takes two
    /// waits for the disk more, and does not run if it cannot be written down
    #[arg(
        long,
        value_name = "host|power",
        env = "TOOLHOST_DURABILITY",
        default_value = "host"
    )]
    durability: Durability,
    /// The longest that a call over MCP waits for its command before it replies that this is running; clients give up by
    /// themselves
    #[arg(
        long,
        value_name = "TIME",
        env = "TOOLHOST_MCP_MAX_WAIT",
        default_value = "100s",
        value_parser = super::time::time
    )]
    mcp_max_wait: Duration,
    /// The most readers that follow chats (`GET /v1/chats/{chat}/events`) with one token; all tokens together have twice as many
    #[arg(
        long,
        value_name = "N",
        env = "TOOLHOST_EVENT_READERS",
        default_value_t = 128,
        value_parser = clap::value_parser!(u16).range(1..=448)
    )]
    event_readers: u16,
    #[command(flatten)]
    clients: Clients,
    #[command(flatten)]
    plugins: plugins::Options,
    #[command(flatten)]
    files: files::Options,
    #[command(flatten)]
    oversight: oversight::Options,
    #[command(flatten)]
    pub(super) processes: processes::Options,
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    let config = options.plugins.configuration(common)?;
    let oversight = options.oversight.open(common)?;
    // Followed for as long as this lives.
    let mut watcher = None;
    let start = async || {
        // Those of the configuration may have to be compiled, for which nobody should wait.
        let plugins = config.plugins()?;
        let embedded = PluginSet {
            embedded: plugins.embedded.clone(),
            ..PluginSet::default()
        };
        let host = common.start(embedded, |builder| {
            let processes = options.processes.kept(common, prepared.clone())?;
            let builder = options.files.configure(builder.processes(processes));
            let builder = builder
                .durability(options.durability)
                .event_limits(events::Limits {
                    readers: 2 * usize::from(options.event_readers),
                    ..events::Limits::default()
                });
            Ok(oversight.configure(builder))
        });
        let host = host.await?;
        watcher = follow(&config, &host, plugins).await;
        let parts = ServerParts::from(host).with_mcp(McpOptions {
            max_wait: options.mcp_max_wait,
            ..McpOptions::default()
        });
        Ok(if options.agent_api {
            parts.with_agent()
        } else {
            parts
        })
    };
    listening::run(common, &options.listen, &options.clients, &oversight, start).await
}

/// Loads the plugins of the configuration, and follows it if there is anything to follow. Returns when they are loaded, or after
/// a while in which compilers are still at work: they show in the list of plugins.
pub(super) async fn follow(config: &Config, host: &Host, plugins: PluginSet) -> Option<Watcher> {
    const PATIENCE: Duration = Duration::from_secs(5);
    if config.dependencies().is_empty() {
        return None;
    }
    let watcher = Watcher::start(config.clone(), host.clone());
    let watcher = watcher
        .inspect_err(|error| tracing::warn!(%error, "changed plugins are loaded at the next start"))
        .ok();
    if let Some(watcher) = &watcher {
        signals::on_reload(watcher.reload());
    }
    let host = host.clone();
    let applied = async {
        match &watcher {
            Some(watcher) => watcher.applied().await,
            // Goes on when nobody waits any more.
            None => _ = tokio::spawn(async move { host.apply(plugins).await }).await,
        }
    };
    if tokio::time::timeout(PATIENCE, applied).await.is_err() {
        tracing::info!("plugins are still being loaded");
    }
    watcher
}
