//! The proxy through which commands reach the hosts of a list.
//!
//! The proxy accepts connections from a listener in the network namespace of the commands, and connects to hosts from the network of the
//! host program. It speaks HTTP (`CONNECT` and requests with an absolute URI) and SOCKS5 on the same port. The first byte of
//! a connection tells them apart, because no HTTP request begins with the byte 5.
//!
//! One task serves each connection and owns both sockets. Aborting the task closes both.

mod dial;
mod error;
mod forward;
mod headers;
mod http;
mod observer;
mod refusal;
mod report;
mod socks;
mod tunnel;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub use error::EgressError;
pub use observer::Observer;

use crate::resolve::Resolve;
use crate::rules::Rules;
use report::Reports;

/// The version of SOCKS5, which is the first byte of its connections.
const SOCKS5: u8 = 5;

/// The most bytes of a request head, and the most bytes that are buffered for a slow reader.
const BUFFER: usize = 64 << 10;

/// How long the proxy waits after it failed to accept a connection, for example because the process has no descriptors left.
const PAUSE: Duration = Duration::from_secs(1);

/// Limits of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most concurrent connections of clients; 256 by default. Further connections wait until one ends.
    pub connections: usize,
    /// The time to receive the head of a request, which includes the idle time between two requests; 30 s by default.
    pub handshake: Duration,
    /// The time to resolve and connect to a host; 30 s by default.
    pub connect: Duration,
    /// The idle time after which a half-closed tunnel ends; 10 minutes by default. A tunnel that is open in both directions has no limit.
    pub half_closed: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            handshake: Duration::from_secs(30),
            connect: Duration::from_secs(30),
            half_closed: Duration::from_secs(10 * 60),
        }
    }
}

/// A proxy for the commands of one chat. Clones share the limits.
#[derive(Clone, Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
}

/// The state that all connections of a proxy share.
#[derive(Debug)]
struct Shared {
    rules: Rules,
    resolver: Arc<dyn Resolve>,
    reports: Reports,
    limits: Limits,
    permits: Arc<Semaphore>,
}

impl Proxy {
    /// Makes a proxy with the default limits.
    pub fn new(rules: Rules, resolver: Arc<dyn Resolve>, observer: Arc<dyn Observer>) -> Self {
        Self::with_limits(rules, resolver, observer, Limits::default())
    }

    /// Makes a proxy with these limits.
    pub fn with_limits(
        rules: Rules,
        resolver: Arc<dyn Resolve>,
        observer: Arc<dyn Observer>,
        limits: Limits,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                rules,
                resolver,
                reports: Reports::new(observer),
                limits,
                permits: Arc::new(Semaphore::new(limits.connections)),
            }),
        }
    }

    /// Serves the connections of a listener until the token is cancelled. The listener and all connections are closed then, or when the
    /// future is dropped.
    pub async fn serve(self, listener: TcpListener, until: CancellationToken) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                () = until.cancelled() => break,
                Some(ended) = connections.join_next() => {
                    if let Err(error) = ended {
                        tracing::error!(%error, "the task of a connection to the proxy of commands failed");
                    }
                }
                (stream, permit) = self.shared.accept(&listener) => {
                    let shared = Arc::clone(&self.shared);
                    connections.spawn(async move {
                        let _permit = permit;
                        if let Err(error) = shared.serve(stream).await {
                            tracing::debug!(%error, "a connection to the proxy of commands failed");
                        }
                    });
                }
            }
        }
        drop(listener);
        connections.shutdown().await;
    }
}

impl Shared {
    /// Waits for a permit, and accepts the next connection.
    async fn accept(&self, listener: &TcpListener) -> (TcpStream, OwnedSemaphorePermit) {
        let permit = loop {
            // The semaphore is never closed.
            if let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await {
                break permit;
            }
        };
        loop {
            match listener.accept().await {
                Ok((stream, _)) => return (stream, permit),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(%error, "the proxy of commands cannot accept a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Serves one connection.
    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        _ = stream.set_nodelay(true);
        let mut first = [0];
        if timeout(self.limits.handshake, stream.peek(&mut first)).await?? == 0 {
            return Ok(());
        }
        match first {
            [SOCKS5] => socks::serve(self, stream).await,
            _ => http::serve(self, stream).await,
        }
    }
}
