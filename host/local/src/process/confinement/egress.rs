//! The way out of a chat whose network is a list of hosts: a proxy of this process, which listens in the namespaces of the chat.

use std::net::{IpAddr, TcpListener};
use std::sync::Arc;

use tokio_util::sync::{CancellationToken, DropGuard};
use toolhost_egress::{EgressError, Observer, Proxy, Resolver, Rules, Target};
use toolhost_state::id::ChatId;

use crate::process::Error;

/// A proxy that runs. Dropping it closes all of its connections.
#[derive(Debug)]
pub(super) struct Egress {
    port: u16,
    _end: DropGuard,
}

impl Egress {
    /// Starts a proxy that lets commands reach these hosts. The caller is within a tokio runtime.
    pub(super) fn start(
        hosts: &[String],
        listener: TcpListener,
        chat: Option<&ChatId>,
    ) -> Result<Self, Error> {
        let rules = Rules::new(hosts).map_err(|error| Error::Failed(error.to_string()))?;
        let listens = || {
            let port = listener.local_addr()?.port();
            listener.set_nonblocking(true)?;
            Ok::<_, std::io::Error>((port, tokio::net::TcpListener::from_std(listener)?))
        };
        let failed = |error| Error::Failed(format!("no proxy for commands: {error}"));
        let (port, listener) = listens().map_err(failed)?;
        let observer = Log(chat.map(ToString::to_string).unwrap_or_default());
        let proxy = Proxy::new(rules, Arc::new(Resolver::new()), Arc::new(observer));
        let end = CancellationToken::new();
        tokio::spawn(proxy.serve(listener, end.clone()));
        Ok(Self {
            port,
            _end: end.drop_guard(),
        })
    }

    /// Returns the variables by which clients find the proxy.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        toolhost_egress::variables(self.port)
    }
}

/// Writes what the commands of a chat reach into the log.
#[derive(Debug)]
struct Log(String);

impl Observer for Log {
    fn connected(&self, target: &Target, address: IpAddr) {
        tracing::debug!(chat = self.0, %target, %address, "a command is connected");
    }

    fn refused(&self, target: &str, why: &EgressError) {
        if why.is_denial() {
            tracing::info!(chat = self.0, target, %why, "a command may not reach a host");
        } else {
            tracing::debug!(chat = self.0, target, %why, "a command did not reach a host");
        }
    }

    fn left_out(&self, connected: u64, refused: u64) {
        let chat = &self.0;
        tracing::info!(
            chat,
            connected,
            refused,
            "more connections of commands in this minute"
        );
    }
}
