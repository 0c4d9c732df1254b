//! `toolhost serve`.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;
use clap::builder::FalseyValueParser;

use super::listening::{self, Clients};
use super::processes::{self, Prepared};
use super::{Common, files, oversight, plugins};
use crate::config::{Config, Watcher};
use crate::host::Host;
use crate::server::Surfaces;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The address to listen on; port 0 takes any free one
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:7411",
        env = "TOOLHOST_LISTEN"
    )]
    listen: SocketAddr,
    #[command(flatten)]
    clients: Clients,
    /// Offer the agent API as well, with which the token reaches the processes of all chats, and
    /// the files of the workspace
    #[arg(long, env = "TOOLHOST_AGENT_API", value_parser = FalseyValueParser::new())]
    agent_api: bool,
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
        let host = common.start(&config, |builder| {
            let processes = options.processes.kept(common, prepared.clone())?;
            let builder = options.files.configure(builder.processes(processes));
            Ok(oversight.configure(builder))
        });
        let host = host.await?;
        watcher = follow(&config, &host);
        let surfaces = Surfaces::from(host);
        Ok(if options.agent_api {
            surfaces.with_agent()
        } else {
            surfaces
        })
    };
    listening::run(common, options.listen, &options.clients, start).await
}

/// Follows the configuration, if there is anything to follow. Where that is not possible, plugins are loaded anew by a restart.
fn follow(config: &Config, host: &Host) -> Option<Watcher> {
    if config.dependencies().is_empty() {
        return None;
    }
    let watcher = Watcher::start(config.clone(), host.clone());
    watcher
        .inspect_err(|error| tracing::warn!(%error, "changed plugins are loaded at the next start"))
        .ok()
}
