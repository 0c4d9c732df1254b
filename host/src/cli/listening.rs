//! What `serve` and `agent` have in common: an address, who may use it, and an end in order.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::list::List;
use super::{Common, stderr, token};
use crate::server::{self, Access, Surfaces};

/// Who may use a server.
#[derive(Debug, Args)]
pub(super) struct Clients {
    /// A file with the bearer token [default: the variable TOOLHOST_TOKEN, or else a new token]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A name besides localhost and the address itself by which clients may reach the server; can be repeated
    #[arg(long, value_name = "NAME", env = "TOOLHOST_ALLOW_HOST")]
    allow_host: Vec<List>,
    /// An origin, such as https://chat.example.com, whose web pages may use the server; can be repeated
    #[arg(long, value_name = "ORIGIN", env = "TOOLHOST_ALLOW_ORIGIN")]
    allow_origin: Vec<List>,
}

/// Serves what `start` makes until a signal ends it, and then ends everything that it runs.
pub(super) async fn run(
    common: &Common,
    listen: SocketAddr,
    clients: &Clients,
    start: impl AsyncFnOnce() -> anyhow::Result<Surfaces>,
) -> anyhow::Result<ExitCode> {
    // From here on a signal ends the server in order, also while it starts.
    let mut stop = Box::pin(signalled());
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("cannot listen on {listen}"))?;
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        tracing::warn!(%address, "tokens and replies are not encrypted on the way: put a TLS proxy in front");
    }
    // The file with a new token goes when this ends, however it does.
    let (token, _file) = token::of_server(
        clients.token_file.as_deref(),
        common.state_dir(),
        address.port(),
    )?;
    let surfaces = tokio::select! {
        biased;
        () = &mut stop => {
            tracing::info!("stopped before it had started");
            return Ok(ExitCode::SUCCESS);
        }
        surfaces = start() => surfaces?,
    };
    let access = Access {
        token,
        hosts: List::join(&clients.allow_host),
        origins: List::join(&clients.allow_origin),
    };
    stderr::line(format_args!("listening on http://{address}"));
    let hurried = surfaces.clone();
    let stop = async move {
        stop.await;
        // Whoever asks again does not want to wait for processes that take their time.
        tokio::spawn(async move {
            signalled().await;
            hurried.hurry();
        });
    };
    let ended = server::serve(listener, surfaces, access, stop).await?;
    tracing::info!(
        processes = ended.len(),
        "stopped, and ended what was still running"
    );
    Ok(ExitCode::SUCCESS)
}

/// Is ready once SIGINT, SIGTERM or SIGHUP arrives, which from this call on do nothing else.
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
