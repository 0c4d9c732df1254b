//! What `serve` and `agent` have in common: an address, who may use it, and an end in order.

mod credentials;

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::Context as _;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::list::List;
use super::{Common, stderr, token};
use crate::server::{self, Access, Listen, Listener, Surfaces, Tls};
use credentials::Credentials;

/// Who may use a server, and how they reach it.
#[derive(Debug, Args)]
pub(super) struct Clients {
    /// A file with a bearer token for everything, which others must not be able to read [default: the variable
    /// TOOLHOST_TOKEN, or else the tokens of the configuration, or else a new token]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A name besides localhost and the address itself by which clients may reach the server; can be repeated
    #[arg(long, value_name = "NAME", env = "TOOLHOST_ALLOW_HOST")]
    allow_host: Vec<List>,
    /// An origin, such as https://chat.example.com, whose web pages may use the server; can be repeated
    #[arg(long, value_name = "ORIGIN", env = "TOOLHOST_ALLOW_ORIGIN")]
    allow_origin: Vec<List>,
    /// A PEM file with the certificate of the server, and those between it and an authority: addresses then speak TLS
    #[arg(
        long,
        value_name = "FILE",
        env = "TOOLHOST_TLS_CERT",
        requires = "tls_key"
    )]
    tls_cert: Option<PathBuf>,
    /// The PEM file with its private key, which others must not be able to read
    #[arg(
        long,
        value_name = "FILE",
        env = "TOOLHOST_TLS_KEY",
        requires = "tls_cert"
    )]
    tls_key: Option<PathBuf>,
    /// The mode of Unix sockets. With 600 the user that runs the server needs no token there; with any that lets others
    /// connect, all need one
    #[arg(
        long,
        value_name = "MODE",
        env = "TOOLHOST_SOCKET_MODE",
        default_value = "600"
    )]
    socket_mode: Mode,
}

/// The mode of a file, as `chmod` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mode(u32);

/// It is none.
#[derive(Debug, thiserror::Error)]
#[error("write it as chmod takes it, such as 600 or 660; the owner must be able to read and write")]
struct InvalidMode;

impl FromStr for Mode {
    type Err = InvalidMode;

    fn from_str(text: &str) -> Result<Self, InvalidMode> {
        let mode = u32::from_str_radix(text, 8).map_err(|_| InvalidMode)?;
        (mode <= 0o777 && mode & 0o600 == 0o600)
            .then_some(Self(mode))
            .ok_or(InvalidMode)
    }
}

impl Clients {
    fn tls(&self) -> anyhow::Result<Option<Tls>> {
        // clap makes sure that there are both or none.
        let files = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        let tls = files.map(|(certificate, key)| Tls::open(certificate, key));
        Ok(tls.transpose()?)
    }

    async fn listen(&self, listen: &Listen, tls: Option<&Tls>) -> anyhow::Result<Listener> {
        let address = match listen {
            Listen::Unix(path) => return Ok(Listener::unix(path.clone(), self.socket_mode.0)?),
            Listen::Tcp(address) => *address,
        };
        let listener = Listener::tcp(address, tls.cloned()).await;
        let listener = listener.with_context(|| format!("cannot listen on {listen}"))?;
        if !address.ip().to_canonical().is_loopback() && tls.is_none() {
            tracing::warn!(
                %listen,
                "tokens and replies are not encrypted on the way: set --tls-cert and --tls-key, or put a TLS proxy in front"
            );
        }
        Ok(listener)
    }
}

/// Serves what `start` makes until a signal ends it, and then ends everything that it runs.
pub(super) async fn run(
    common: &Common,
    listen: &[Listen],
    clients: &Clients,
    start: impl AsyncFnOnce() -> anyhow::Result<Surfaces>,
) -> anyhow::Result<ExitCode> {
    // From here on a signal ends the server in order, also while it starts.
    let mut stop = Box::pin(signalled());
    let tls = clients.tls()?;
    let mut listeners = Vec::new();
    for listen in listen {
        listeners.push(clients.listen(listen, tls.as_ref()).await?);
    }
    let urls = listeners.iter().map(Listener::url);
    let urls = urls.collect::<Result<Vec<_>, _>>()?;
    let mut credentials = Credentials::new(common, clients.token_file.as_deref(), tls);
    let mut known = credentials.read()?;
    // The file with a new token goes when this ends, however it does.
    let mut made = None;
    if known.is_empty() && listeners.iter().any(Listener::needs_token) {
        let port = listeners.iter().find_map(Listener::address);
        let place = port.map_or_else(|| "socket".into(), |address| address.port().to_string());
        let new = made.insert(token::made(common.state_dir(), &place)?);
        known = credentials.add(new.token.clone())?;
    }
    let tokens = server::Tokens::new(known);
    let _following = credentials.follow(tokens.clone());
    let surfaces = tokio::select! {
        biased;
        () = &mut stop => {
            tracing::info!("stopped before it had started");
            return Ok(ExitCode::SUCCESS);
        }
        surfaces = start() => surfaces?,
    };
    let access = Access {
        tokens,
        hosts: List::join(&clients.allow_host),
        origins: List::join(&clients.allow_origin),
    };
    for url in &urls {
        stderr::line(format_args!("listening on {url}"));
    }
    if let (Some(made), Some(listener)) = (&made, listeners.first()) {
        stderr::line(made.hint(&listener.local_url()?));
    }
    let hurried = surfaces.clone();
    let stop = async move {
        stop.await;
        // Whoever asks again does not want to wait for processes that take their time.
        tokio::spawn(async move {
            signalled().await;
            hurried.hurry();
        });
    };
    let ended = server::serve(listeners, surfaces, access, stop).await?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_octal_and_leave_the_socket_to_its_owner() {
        let mode = |text: &str| text.parse::<Mode>().ok();
        assert_eq!(mode("600"), Some(Mode(0o600)));
        assert_eq!(mode("0660"), Some(Mode(0o660)));
        for bad in ["", "000", "066", "1600", "800", "rw"] {
            assert_eq!(mode(bad), None, "{bad}");
        }
    }
}
