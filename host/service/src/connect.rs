//! An agent that connects to a host, because the host cannot connect to it.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::http::Uri;
use clap::Args;
use toolhost_agent::Offer;
use toolhost_http::Listener;
use toolhost_http::access::{Access, Principal, Scope, Token, Tokens};
use toolhost_link::{ConnectError, Dial, tunnel};
use toolhost_state::secret::Secret;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::process::Info;

use crate::listening::Served;
use crate::{logging, tls, token};

/// The pauses before a further attempt, after failures.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The options of an agent that connects to a host.
#[derive(Debug, Args)]
#[command(next_help_heading = "An agent behind a firewall")]
#[group(skip)]
pub(crate) struct Options {
    /// Connect to a host instead of listening: the address of its /agents, such as wss://tools.example.com/agents, or the
    /// socket of a host on this machine, as unix:/PATH. The token of --token-file needs the scope `connect` there
    #[arg(long, value_name = "URL", env = "TOOLHOST_CONNECT", value_parser = place)]
    connect: Option<Place>,
    /// The name by which the host finds this agent: that of its workspace [default: the name of this machine]
    #[arg(long, value_name = "NAME", env = "TOOLHOST_NAME", requires = "connect", value_parser = str::parse::<WorkspaceName>)]
    name: Option<WorkspaceName>,
    /// A PEM file with the certificates of the authorities of the host, or its own [default: what the system trusts]
    #[arg(
        long,
        value_name = "FILE",
        env = "TOOLHOST_CONNECT_CA",
        requires = "connect"
    )]
    connect_ca: Option<PathBuf>,
}

/// Where a host takes agents.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// At an address.
    Url(Uri),
    /// At a Unix socket, by its absolute path.
    Socket(PathBuf),
}

fn place(text: &str) -> Result<Place, String> {
    let wrong =
        || format!("{text:?} is no address of a host: write it as wss://HOST/agents or unix:/PATH");
    if let Some(path) = text.strip_prefix("unix:") {
        let path = PathBuf::from(path);
        let is_good = path.is_absolute() && path.file_name().is_some();
        return is_good.then_some(Place::Socket(path)).ok_or_else(wrong);
    }
    let url: Uri = text.parse().map_err(|_| wrong())?;
    match matches!(url.scheme_str(), Some("ws" | "wss")) && url.host().is_some() {
        true => Ok(Place::Url(url)),
        false => Err(wrong()),
    }
}

impl Options {
    /// Returns the host to connect to, with the token of this file or of the variable; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If there is no token, or a file cannot be used.
    pub(crate) fn host(&self, token_file: Option<&Path>) -> anyhow::Result<Option<Dial>> {
        let Some(place) = &self.connect else {
            return Ok(None);
        };
        let token = token::configured(token_file)?;
        let token = token.map(Secret::new).context(
            "an agent that connects needs a token of the host: set --token-file or TOOLHOST_TOKEN",
        )?;
        let name = match &self.name {
            Some(name) => name.clone(),
            None => {
                machine().context("the name of this machine is no name of an agent: set --name")?
            }
        };
        let url = match place {
            Place::Url(url) => url,
            Place::Socket(path) => return Ok(Some(Dial::unix(path, name, token))),
        };
        if url.scheme_str() == Some("ws") && !is_loopback(url) {
            tracing::warn!(
                %url,
                "the token and everything else goes to the host unencrypted: use wss://"
            );
        }
        let tls = match url.scheme_str() {
            Some("wss") => Some(tls::client(self.connect_ca.as_deref())?),
            _ => None,
        };
        Ok(Some(Dial::new(url.clone(), name, token, tls)))
    }
}

fn machine() -> anyhow::Result<WorkspaceName> {
    let system = nix::sys::utsname::uname()?;
    Ok(system.nodename().to_string_lossy().parse()?)
}

fn is_loopback(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
    let address: Result<IpAddr, _> = host.parse();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Returns a time between half of this one and all of it, so that many agents do not come back at once.
fn jittered(pause: Duration) -> Duration {
    let mut byte = [0];
    // Without random bytes, all agents wait the whole time.
    let share = getrandom::fill(&mut byte).map_or(1.0, |()| f64::from(byte[0]) / 255.0);
    pause.mul_f64(0.5 + share / 2.0)
}

/// An agent that connects to a host.
#[derive(Clone)]
pub(crate) struct Connecting {
    offer: Offer,
    routes: Router,
    dial: Dial,
}

impl Connecting {
    /// Offers a workspace to a host.
    ///
    /// # Errors
    ///
    /// If no token can be made for the requests of the host.
    pub(crate) fn new(offer: Offer, dial: Dial) -> anyhow::Result<Self> {
        // Only this host has the token, for as long as the agent runs.
        let text = token::generate()?;
        let token = Token::new(&text)?;
        let host = Principal::new("host", [Scope::Agent], None, None);
        let access = Access {
            tokens: Tokens::new(vec![(token, host)]),
            ..Access::default()
        };
        Ok(Self {
            routes: toolhost_link::router(offer.clone(), access),
            offer,
            dial: dial.letting_in(text),
        })
    }

    /// Connects, answers requests until the connection breaks, and connects again. Never ends.
    async fn stay_connected(&self) {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.dial.connect().await {
                Ok(tunnel) => {
                    pause = FIRST_PAUSE;
                    let (url, name) = (self.dial.shown(), self.dial.name());
                    logging::notice(
                        format_args!("connected to {url} as {name}"),
                        &[("url", url), ("agent", name)],
                    );
                    match tunnel::answer(tunnel, self.routes.clone()).await {
                        Ok(()) => tracing::info!("the host closed the connection"),
                        Err(error) => tracing::warn!(%error, "the connection to the host broke"),
                    }
                }
                Err(error @ ConnectError::Refused(_)) => {
                    tracing::error!(%error, "the host does not take this agent");
                    pause = LONGEST_PAUSE;
                }
                Err(error) => tracing::warn!(%error, "cannot connect to the host"),
            }
            tokio::time::sleep(jittered(pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

impl Served for Connecting {
    const OFFERS_TOOLS: bool = false;

    async fn serve(
        self,
        _: Vec<Listener>,
        _: Access,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<Vec<Info>> {
        tokio::select! {
            () = shutdown => {}
            () = self.stay_connected() => {}
        }
        let live = self.offer.workspace.end_all().await;
        self.offer.ledger.finish().await;
        Ok(live)
    }

    fn hurry(&self) {
        self.offer.workspace.kill_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_at_an_address_or_a_socket() {
        for good in ["ws://127.0.0.1:1/agents", "wss://h/agents"] {
            assert_eq!(place(good), Ok(Place::Url(good.parse().unwrap())));
        }
        let socket = Place::Socket("/run/h.sock".into());
        assert_eq!(place("unix:/run/h.sock"), Ok(socket));
        for bad in ["", "http://h/agents", "unix:", "unix:h.sock", "unix:/"] {
            let text = place(bad).unwrap_err();
            assert!(text.contains("unix:/PATH"), "{bad}: {text}");
        }
    }
}
