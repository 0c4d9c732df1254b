//! `toolhost serve`.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::Common;
use super::listening::{self, Clients};
use super::processes::{self, Prepared};
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
    /// Offer the agent API as well, with which the token reaches the processes of all chats
    #[arg(long, env = "TOOLHOST_AGENT_API")]
    agent_api: bool,
    #[command(flatten)]
    pub(super) processes: processes::Options,
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    let start = async || {
        let host = common.start(|builder| {
            let config = options.processes.kept(common, prepared.clone())?;
            Ok(builder.processes(config))
        });
        let surfaces = Surfaces::from(host.await?);
        Ok(if options.agent_api {
            surfaces.with_agent()
        } else {
            surfaces
        })
    };
    listening::run(common, options.listen, &options.clients, start).await
}

/// Is ready once SIGINT or SIGTERM arrives, which from this call on do nothing else.
pub(super) fn signalled() -> impl Future<Output = ()> {
    let signals = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ]
    .map(signal);
    async move {
        let mut arrivals = Vec::new();
        for signal in signals {
            match signal {
                Ok(mut signal) => arrivals.push(Box::pin(async move { signal.recv().await })),
                Err(error) => tracing::warn!(%error, "a signal cannot be handled"),
            }
        }
        if arrivals.is_empty() {
            return std::future::pending().await;
        }
        futures_util::future::select_all(arrivals).await;
    }
}
