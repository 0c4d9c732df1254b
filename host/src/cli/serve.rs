//! `toolhost serve`.

mod people;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;
use clap::builder::FalseyValueParser;
use toolhost_call::call::Durability;
use toolhost_call::events;
use toolhost_call::notice::Courier;
use toolhost_core::{Host, PluginSet};
use toolhost_http::access::Access;
use toolhost_http::webhooks::Webhooks;
use toolhost_http::{Listen, Listener};
use toolhost_link::AgentsConfig;
use toolhost_server::{McpOptions, ServerParts};
use toolhost_service::follow::Follower;
use toolhost_service::keep;
use toolhost_service::listening::{self, Clients, ConsoleOptions, Doors, Served};
use toolhost_service::logging::log_file;
use toolhost_service::processes::Prepared;
use toolhost_service::signals;
use toolhost_workspace::process::Info;

use super::{Common, cluster, config_tokens, doctor, host, plugins};
use crate::config::{self, Config};

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost serve --workspace ~/project
  toolhost serve --config toolhost.toml --keep
  toolhost serve --tool-mode both --sandbox-network none
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
    /// The failures that the records of calls survive: a crash of the host, or a power failure as well. With `power`, each call
    /// waits for the disk twice and each command once, and a call does not run if it cannot be recorded
    #[arg(
        long,
        value_name = "host|power",
        env = "TOOLHOST_DURABILITY",
        default_value = "host"
    )]
    durability: Durability,
    /// Keep the arguments of calls (of at most 64 KiB) with their replies, so that they can be looked up. Arguments may contain
    /// secrets
    #[arg(long, env = "TOOLHOST_KEEP_ARGUMENTS", value_parser = FalseyValueParser::new())]
    keep_arguments: bool,
    /// The longest that a call over MCP waits for its command before it replies that this is running; clients give up by
    /// themselves
    #[arg(
        long,
        value_name = "TIME",
        env = "TOOLHOST_MCP_MAX_WAIT",
        default_value = "100s",
        value_parser = toolhost_service::time::time
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
    /// The largest file that a client may upload (`PUT /v1/chats/{chat}/files/{path}`)
    #[arg(
        long,
        value_name = "SIZE",
        env = "TOOLHOST_UPLOAD_SIZE",
        default_value = "10GiB"
    )]
    upload_size: ByteSize,
    /// Do not listen at the socket in the state directory, by which commands such as `toolhost ps` find the server without --server.
    /// Only the user that runs the server can use it
    #[arg(long, env = "TOOLHOST_NO_LOCAL_SOCKET", value_parser = FalseyValueParser::new())]
    no_local_socket: bool,
    /// When the server is told to end, refuse new calls, and let those that run go on for this long before they are cancelled
    #[arg(
        long,
        value_name = "TIME",
        env = "TOOLHOST_DRAIN",
        default_value = "0s",
        value_parser = toolhost_service::time::time
    )]
    drain: Duration,
    #[command(flatten)]
    clients: Clients,
    #[command(flatten)]
    console: ConsoleOptions,
    #[command(flatten)]
    people: people::Options,
    #[command(flatten)]
    pub(super) host: host::Options,
    #[command(flatten)]
    keep: keep::Options,
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    common.check_files(options.clients.private_files())?;
    let mut plan = options.host.plan(common)?;
    plan.private.extend(options.clients.private_files());
    plan.private.extend(log_file());
    // The configuration is followed until this is dropped.
    let mut watcher = None;
    let policy = options.host.processes.sandbox()?;
    let (spawner, state) = (prepared.spawner.clone(), common.state_dir());
    let config = common.configuration.clone();
    let checks =
        move || doctor::of_server(&policy, spawner.as_ref(), state.as_deref(), config.as_ref());
    let forwarding = cluster::forwarding(&plan.config)?;
    let webhooks = webhooks(&plan.config)?;
    let start = async || {
        let events = events::Limits {
            readers: 2 * usize::from(options.event_readers),
            ..events::Limits::default()
        };
        let kept = Some(options.durability);
        let host = plan.start(plan.embedded(), &prepared, kept, |builder| {
            let builder = builder
                .keep_processes(options.keep.time())
                .keep_arguments(options.keep_arguments)
                .event_limits(events);
            let workspaces = plan.config.workspaces();
            let builder = match &workspaces.directories {
                Some(directories) => builder.directories(directories.clone()),
                None => builder,
            };
            let builder = match &webhooks {
                Some(webhooks) => builder.courier(Arc::clone(webhooks)),
                None => builder,
            };
            let builder = builder.templates(plan.config.templates().clone());
            builder.agents(AgentsConfig {
                hosts: cluster::hosts(&plan.config),
                ..workspaces.agents.clone()
            })
        });
        let host = host.await?;
        watcher = follow(&plan.config, &host, plan.plugins.clone()).await;
        let parts = ServerParts::from(host)
            .with_mcp(McpOptions {
                max_wait: options.mcp_max_wait,
                ..McpOptions::default()
            })
            .with_file_size(options.upload_size.as_u64())
            .with_checks(checks);
        let parts = match forwarding {
            Some(forwarding) => parts.with_forwarding(forwarding),
            None => parts,
        };
        let parts = match options.agent_api {
            true => parts.with_agent(),
            false => parts,
        };
        Ok(Tools {
            parts,
            drain: options.drain,
            people: options.people.clone(),
        })
    };
    let tokens = config_tokens::of(common);
    let (listen, clients) = (&options.listen, &options.clients);
    let doors = Doors {
        local: common.local_socket().filter(|_| !options.no_local_socket),
        console: Some(options.console),
        public_name: options.people.name(),
    };
    listening::run(
        common,
        tokens,
        listen,
        clients,
        &plan.oversight,
        doors,
        start,
    )
    .await
}

/// Returns the webhooks of a configuration, if it has any.
fn webhooks(config: &Config) -> anyhow::Result<Option<Arc<dyn Courier>>> {
    let (names, webhooks): (Vec<_>, Vec<_>) = config.webhooks().iter().cloned().unzip();
    if webhooks.is_empty() {
        return Ok(None);
    }
    let webhooks = Webhooks::new(webhooks).map_err(|(place, error)| {
        let name = names.get(place).map_or("", String::as_str);
        let key = format!("webhooks.{name}");
        config.invalid(vec![config.problem(key, error.to_string())])
    })?;
    Ok(Some(Arc::new(webhooks)))
}

/// The host and its parts, as the server serves them.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    pub(super) parts: ServerParts,
    /// How long calls may go on when the server is told to end.
    pub(super) drain: Duration,
    /// How people reach the server.
    pub(super) people: people::Options,
}

impl Served for Tools {
    const OFFERS_TOOLS: bool = true;

    async fn serve(
        self,
        listeners: Vec<Listener>,
        access: Access,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<Vec<Info>> {
        let host = self.parts.host().clone();
        let drained = async {
            shutdown.await;
            host.drain(self.drain).await;
        };
        toolhost_server::serve(listeners, self.parts, access, drained).await
    }

    fn listens(&self, listeners: &[Listener]) {
        if let Some(address) = self.people.address(listeners) {
            self.parts.host().set_public_address(address);
        }
    }

    fn problems(&self) -> Vec<String> {
        plugins::failed(self.parts.host())
    }

    fn hurry(&self) {
        self.parts.host().hurry();
    }
}

/// Loads the plugins of the configuration, and follows its files, if there are any. Returns when the plugins are loaded. If
/// compiling takes long, returns before that; the list of plugins then shows which are missing.
pub(super) async fn follow(config: &Config, host: &Host, plugins: PluginSet) -> Option<Follower> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let has_files = !config.dependencies().is_empty();
    if !has_files && plugins.sources.is_empty() {
        return None;
    }
    let watcher = has_files.then(|| config::follow(config.clone(), host.clone()));
    let watcher = watcher.and_then(|watcher| {
        watcher
            .inspect_err(
                |error| tracing::warn!(%error, "changed plugins are loaded at the next start"),
            )
            .ok()
    });
    if let Some(watcher) = &watcher {
        signals::on_reload(watcher.reload());
    }
    let host = host.clone();
    let applied = async {
        match &watcher {
            Some(watcher) => watcher.applied().await,
            // The task goes on after the wait below has timed out.
            None => _ = tokio::spawn(async move { host.apply(plugins).await }).await,
        }
    };
    if tokio::time::timeout(PATIENCE, applied).await.is_err() {
        tracing::info!("plugins are still being loaded");
    }
    watcher
}
