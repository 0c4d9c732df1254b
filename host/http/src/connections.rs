//! Connections: accepting, bounding and ending them.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::future::join_all;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use toolhost_call::metrics::Metrics;
use tower::ServiceExt;

use super::accept_errors::AcceptErrors;
use super::access::Peer;
use super::headers::HEADER_BYTES;
use super::listen::{Incoming, Listener, Listeners};
use super::slots::{Client, ConnectionSlot, ConnectionSlots};
use super::stream::{Raw, Sent, Watched};
use crate::guarded_body::Holding;

/// The most connections at once, if there are enough file descriptors. For a new connection beyond these, idle ones are
/// evicted.
const CONNECTIONS: usize = 1024;

/// The time limits of clients. None of them bounds how long the server may take for a reply: calls, waits and streams of events
/// have no limit here.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// The time for the TLS handshake.
    handshake: Duration,
    /// The time to send the headers of a request. A client may also keep an idle connection for this long.
    headers: Duration,
    /// The time until the client takes some bytes of a reply that is being sent.
    write: Duration,
}

const PATIENCE: Patience = Patience {
    handshake: Duration::from_secs(10),
    headers: Duration::from_secs(30),
    write: Duration::from_secs(30),
};

/// The longest wait for clients to take their replies when the server stops.
const LAST_REPLIES: Duration = Duration::from_secs(5);

/// Serves these routes until `ending` is ready, and returns its output; `None` if no listener accepts connections any more.
///
/// The server still answers requests while `ending` ends the calls that they wait for. It then sends their replies before it
/// closes connections. It does not wait for a client that has not sent all of a request by then.
///
/// # Errors
///
/// If a listener has no address.
pub async fn serve<T>(
    listeners: impl Into<Listeners>,
    routes: Router,
    metrics: &Metrics,
    ending: impl Future<Output = T>,
) -> io::Result<Option<T>> {
    let Listeners(listeners) = listeners.into();
    for listener in &listeners {
        listener.url()?;
    }
    let server = Server {
        router: routes,
        slots: ConnectionSlots::new(connections()),
        connections: TaskTracker::new(),
        closing: CancellationToken::new(),
        stopping: CancellationToken::new(),
    };
    metrics.watch(&server.slots, |slots, levels| {
        levels.connections += slots.count() as u64;
    });
    let accepting = join_all(listeners.iter().map(|listener| server.accept(listener)));
    // Until everything has ended, new clients are still accepted and told to retry, so that they do not wait for a server that
    // is gone.
    let ended = tokio::select! {
        biased;
        ended = ending => Some(ended),
        _ = accepting => None,
    };
    drop(listeners);
    server.stopping.cancel();
    server.slots.evict_idle();
    server.closing.cancel();
    server.connections.close();
    if tokio::time::timeout(LAST_REPLIES, server.connections.wait())
        .await
        .is_err()
    {
        tracing::debug!("some clients did not take their replies");
    }
    Ok(ended)
}

/// The state that all connections share.
struct Server {
    router: Router,
    slots: Arc<ConnectionSlots>,
    connections: TaskTracker,
    /// Cancelled when connections end after the reply that they are sending.
    closing: CancellationToken,
    /// Cancelled when no new requests are taken.
    stopping: CancellationToken,
}

impl Server {
    /// Accepts connections, and serves each in its own task. Never ends.
    async fn accept(&self, listener: &Listener) {
        let mut errors = AcceptErrors::default();
        loop {
            let incoming = match listener.accept().await {
                Ok(incoming) => incoming,
                Err(error) => {
                    // Out of descriptors, or the client is gone already: neither ends the server.
                    errors.warn(&error);
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let slot = self.slots.take().await;
            let connection = Connection {
                client: Arc::clone(slot.client()),
                router: self.router.clone(),
                _open: self.connections.token(),
                closing: self.closing.clone(),
                stopping: self.stopping.clone(),
                patience: PATIENCE,
            };
            tokio::spawn(connection.run(incoming, slot));
        }
    }
}

/// The state of one connection.
struct Connection {
    client: Arc<Client>,
    router: Router,
    /// The server waits until this is dropped.
    _open: TaskTrackerToken,
    closing: CancellationToken,
    stopping: CancellationToken,
    patience: Patience,
}

impl Connection {
    /// Serves until either side ends it, or the slot is needed. The slot is given back when the socket is closed.
    async fn run(self, incoming: Incoming, slot: ConnectionSlot) {
        let client = Arc::clone(&self.client);
        tokio::select! {
            ended = self.serve(incoming) => if let Err(error) = ended {
                tracing::debug!(error, "a connection ended badly");
            },
            () = client.evicted() => tracing::debug!("an idle connection was closed to make room"),
        }
        drop(slot);
    }

    async fn serve(self, incoming: Incoming) -> Result<(), String> {
        let Incoming {
            stream,
            local,
            channel,
            tls,
            client: address,
        } = incoming;
        let peer = address.map(Peer);
        let client = Arc::clone(&self.client);
        let watched = Watched::new(stream, Arc::clone(&client), self.patience.write);
        let stream: Raw = match tls {
            None => Box::new(watched),
            Some(tls) => {
                let accepting = TlsAcceptor::from(tls).accept(watched);
                let accepted = tokio::select! {
                    accepted = tokio::time::timeout(self.patience.handshake, accepting) => accepted,
                    () = self.stopping.cancelled() => return Ok(()),
                };
                let accepted = accepted.map_err(|_| "the TLS handshake took too long")?;
                Box::new(accepted.map_err(|error| format!("TLS: {error}"))?)
            }
        };
        let (router, stopping) = (self.router, self.stopping);
        let service = hyper::service::service_fn(
            move |mut request: hyper::Request<hyper::body::Incoming>| {
                // A connection that is being closed runs no more requests. The client finds it closed, and retries.
                let begun = client.begin().ok_or("the connection is being closed");
                let extensions = request.extensions_mut();
                extensions.insert(Arc::clone(&client));
                if let Some(local) = local {
                    extensions.insert(local);
                }
                if let Some(peer) = peer {
                    extensions.insert(peer);
                }
                if let Some(channel) = &channel {
                    extensions.insert(channel.clone());
                }
                let request = request.map(|body| Sent::new(body, stopping.clone()));
                let router = router.clone();
                async move {
                    let begun = begun?;
                    let Ok(response) = router.oneshot(request).await;
                    Ok::<_, &'static str>(response.map(|body| Holding::new(body, begun)))
                }
            },
        );
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.patience.headers)
            .max_buf_size(HEADER_BYTES)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            biased;
            ended = &mut connection => ended,
            () = self.closing.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        ended.map_err(|error| error.to_string())
    }
}

/// Returns the most connections that the server takes. Half of the file descriptors are left to processes and files.
fn connections() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let half = limit.and_then(|limit| usize::try_from(limit / 2).ok());
    half.unwrap_or(CONNECTIONS).clamp(1, CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const SHORT: Patience = Patience {
        handshake: Duration::from_millis(50),
        headers: Duration::from_millis(50),
        write: Duration::from_millis(50),
    };

    const GET: &str = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

    /// Serves one connection with short time limits, and returns its client and the result.
    async fn connect(
        router: Router,
        request: &str,
        stopping: CancellationToken,
    ) -> (TcpStream, impl Future<Output = Result<(), String>> + Send) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        let incoming = Listener::from(listener).accept().await.unwrap();
        let slot = ConnectionSlots::new(1).take().await;
        let connections = TaskTracker::new();
        let connection = Connection {
            client: Arc::clone(slot.client()),
            router,
            _open: connections.token(),
            closing: CancellationToken::new(),
            stopping,
            patience: SHORT,
        };
        let served = async move {
            let ended = connection.serve(incoming).await;
            drop(slot);
            ended
        };
        let patience = Duration::from_secs(60);
        let served = async move {
            tokio::time::timeout(patience, served)
                .await
                .expect("the connection stays")
        };
        (client, served)
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_loses_its_connection() {
        // More than the buffers of the system hold.
        let router = Router::new().fallback(async || vec![b'x'; 64 << 20]);
        let (client, served) = connect(router, GET, CancellationToken::new()).await;
        assert!(served.await.is_err());
        drop(client);
    }

    #[tokio::test]
    async fn a_reply_may_take_longer_than_clients_may() {
        use axum::response::sse::{Event, Sse};
        use tokio::io::AsyncReadExt;
        // First a reply that takes long, then a stream that is silent for as long.
        let long = SHORT.headers * 10;
        let router = Router::new().fallback(move || async move {
            tokio::time::sleep(long).await;
            let events = futures_util::stream::unfold(0, move |count| async move {
                tokio::time::sleep(long).await;
                let event = Event::default().data(format!("event {count}"));
                (count < 2).then_some((Ok::<_, std::convert::Infallible>(event), count + 1))
            });
            Sse::new(events)
        });
        let (mut client, served) = connect(router, GET, CancellationToken::new()).await;
        let served = tokio::spawn(served);
        let mut reply = Vec::new();
        // The connection ends after the reply, as no other request comes.
        _ = client.read_to_end(&mut reply).await;
        let reply = String::from_utf8(reply).unwrap();
        assert!(
            reply.contains("event 0") && reply.contains("event 1"),
            "{reply}"
        );
        assert!(reply.ends_with("0\r\n\r\n"), "it is complete: {reply}");
        _ = served.await;
    }

    #[tokio::test]
    async fn who_is_still_sending_when_the_server_stops_is_not_waited_for() {
        use axum::extract::Request;
        use tokio::io::AsyncReadExt;
        let router = Router::new().fallback(async |request: Request| {
            let read = crate::body::read(request, 100).await;
            read.map(|_| ()).map_err(crate::problem::Problem::from)
        });
        let half = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 8\r\n\r\nhalf";
        let stopping = CancellationToken::new();
        let (mut client, served) = connect(router, half, stopping.clone()).await;
        let served = tokio::spawn(served);
        stopping.cancel();
        let mut reply = String::new();
        client.read_to_string(&mut reply).await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 503 "), "{reply}");
        assert!(reply.contains("shutting_down"), "{reply}");
        _ = served.await;
    }

    #[test]
    fn connections_leave_descriptors_for_the_rest() {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        assert!(limit.is_none_or(|limit| connections() as u64 <= limit / 2));
        assert!(connections() <= CONNECTIONS);
    }
}
