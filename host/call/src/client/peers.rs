//! The HTTP client of agents and other hosts, whose connections stay open between requests and whose answers may take hours.

use std::time::Duration;

use reqwest::ClientBuilder;
use rustls::ClientConfig;

/// The longest time for a connection and its TLS handshake.
const CONNECT: Duration = Duration::from_secs(5);

/// How long an idle connection is kept. Agents and hosts close one after 30 s.
const KEEP: Duration = Duration::from_secs(25);

/// After how long without traffic the system probes a connection, and the time between its probes.
const PROBE_AFTER: Duration = Duration::from_secs(10);
const PROBE_EVERY: Duration = Duration::from_secs(5);

/// After how many probes without an answer the system takes a connection for broken.
const PROBES: u32 = 3;

/// After how long the system takes a connection for broken whose other side confirms nothing that was sent.
const UNCONFIRMED: Duration = Duration::from_secs(20);

/// Returns a builder of clients of agents and other hosts, as [`builder`](super::builder) does for others. An answer may take any time;
/// the system notices a connection that is dead.
pub fn for_peers(tls: ClientConfig) -> ClientBuilder {
    super::builder(tls)
        .connect_timeout(CONNECT)
        .pool_idle_timeout(KEEP)
        .tcp_keepalive(PROBE_AFTER)
        .tcp_keepalive_interval(PROBE_EVERY)
        .tcp_keepalive_retries(PROBES)
        .tcp_user_timeout(UNCONFIRMED)
        .tcp_nodelay(true)
}
