//! Dialling: connecting to a listed host that a client has named.

use std::net::IpAddr;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::Shared;
use super::error::{EgressError, Unreached};
use crate::destination::HostError;
use crate::reach::{connect, find};
use crate::rules::Target;

/// The most bytes of a client's text that errors and reports repeat.
const MAX_SHOWN: usize = 300;

/// The idle time before the first TCP keepalive probe, and the interval between probes.
const KEEPALIVE: Duration = Duration::from_secs(60);

impl Shared {
    /// Connects to a target. `text` is the text of the client, which the error contains if it is no target.
    pub(super) async fn dial(
        &self,
        text: &str,
        target: Result<Target, HostError>,
    ) -> Result<TcpStream, Unreached> {
        let shown = target
            .as_ref()
            .map_or_else(|_| show(text), Target::to_string);
        let unreached = |why| Unreached { target: shown, why };
        self.try_dial(target).await.map_err(|why| {
            let unreached = unreached(why);
            self.reports.refused(&unreached.target, &unreached.why);
            unreached
        })
    }

    async fn try_dial(&self, target: Result<Target, HostError>) -> Result<TcpStream, EgressError> {
        let target = target?;
        // Check the list before resolving the name, because a lookup sends the name to a DNS server, and the name can carry data.
        if !self.rules.lists(&target) {
            return Err(EgressError::NotListed);
        }
        let admits = |address, own: &[IpAddr]| self.rules.admits(address, target.port, own);
        let until = Instant::now() + self.limits.connect;
        let addresses = find(&*self.resolver, &target.host, until, admits).await?;
        let stream = connect(&addresses, target.port, until).await?;
        _ = stream.set_nodelay(true);
        let keepalive = TcpKeepalive::new()
            .with_time(KEEPALIVE)
            .with_interval(KEEPALIVE);
        _ = SockRef::from(&stream).set_tcp_keepalive(&keepalive);
        if let Ok(peer) = stream.peer_addr() {
            self.reports.connected(&target, peer.ip());
        }
        Ok(stream)
    }
}

/// Returns a text for errors and reports: escaped to printable ASCII, cut, and without a user and password.
fn show(text: &str) -> String {
    let text = text.rsplit('@').next().unwrap_or_default();
    let mut shown: String = text
        .chars()
        .take(MAX_SHOWN)
        .flat_map(char::escape_default)
        .collect();
    shown.truncate(MAX_SHOWN);
    shown
}
