//! The proxy of a chat whose network is a list of hosts. It runs in this process, and listens in the namespaces of the chat.

use std::fmt;
use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Weak};

use tokio_util::sync::{CancellationToken, DropGuard};
use toolhost_egress::{EgressError, Observer, Proxy, Resolver, Rules, Target};
use toolhost_sandbox::Sandbox;
use toolhost_state::id::ChatId;

use crate::process::{Error, shortage};

/// A running proxy. Dropping this value closes all its connections.
#[derive(Debug)]
pub(super) struct Egress {
    port: u16,
    _end: DropGuard,
}

impl Egress {
    /// Starts a proxy that lets commands reach these hosts. Must be called within a tokio runtime.
    pub(super) fn start(
        hosts: &[String],
        listener: TcpListener,
        observer: Reports,
    ) -> Result<Self, Error> {
        let rules = Rules::new(hosts).map_err(|error| Error::Failed(error.to_string()))?;
        let listens = || {
            let port = listener.local_addr()?.port();
            listener.set_nonblocking(true)?;
            Ok::<_, std::io::Error>((port, tokio::net::TcpListener::from_std(listener)?))
        };
        let failed = |error| shortage::failed("cannot start the proxy of commands", &error);
        let (port, listener) = listens().map_err(failed)?;
        let proxy = Proxy::new(rules, Arc::new(Resolver::new()), Arc::new(observer));
        let end = CancellationToken::new();
        tokio::spawn(proxy.serve(listener, end.clone()));
        Ok(Self {
            port,
            _end: end.drop_guard(),
        })
    }

    /// Returns the environment variables by which clients find the proxy.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        toolhost_egress::variables(self.port)
    }
}

/// An observer of denials of a sandbox.
pub(in crate::process) trait DenialObserver: fmt::Debug + Send + Sync {
    /// Reports a certain denial to a command in this sandbox, as a sentence that names the rule.
    fn denied(&self, chat: Option<&ChatId>, sandbox: &Weak<Sandbox>, denial: String);
}

/// An observer that logs the connections of a chat's commands, and reports refusals.
#[derive(Debug)]
pub(super) struct Reports {
    pub(super) chat: Option<ChatId>,
    pub(super) sandbox: Weak<Sandbox>,
    pub(super) observer: Option<Weak<dyn DenialObserver>>,
}

impl Reports {
    fn chat(&self) -> &str {
        self.chat.as_ref().map(ChatId::as_str).unwrap_or_default()
    }
}

impl Observer for Reports {
    fn connected(&self, target: &Target, address: IpAddr) {
        tracing::debug!(chat = self.chat(), %target, %address, "the proxy connected a command to a host");
    }

    fn refused(&self, target: &str, why: &EgressError) {
        if why.is_denial() {
            tracing::info!(chat = self.chat(), target, %why, "the proxy refused to connect a command to a host");
            if let Some(observer) = self.observer.as_ref().and_then(Weak::upgrade) {
                let denial = format!("commands may not reach {target}: {why}");
                observer.denied(self.chat.as_ref(), &self.sandbox, denial);
            }
        } else {
            tracing::debug!(chat = self.chat(), target, %why, "the proxy could not reach a host for a command");
        }
    }

    fn left_out(&self, connected: u64, refused: u64) {
        let chat = self.chat();
        tracing::info!(
            chat,
            connected,
            refused,
            "connections of commands that were not logged one by one"
        );
    }
}
