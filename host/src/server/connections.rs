//! Connections: accepting, bounding and ending them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;
use tower::ServiceExt;

use super::accept_errors::AcceptErrors;
use super::access::{Access, LocalAddress};
use super::headers::HEADER_BYTES;
use super::router;
use super::surfaces::Surfaces;

/// The most connections at once, if there are enough descriptors. More wait to be accepted.
const CONNECTIONS: usize = 1024;

/// How long clients may take. Neither bounds how long a reply may take to be there: calls, waits and streams of events
/// take as long as they take.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// To send the headers of a request. Also how long a client may keep a connection without one.
    headers: Duration,
    /// To take something of a reply that is there.
    write: Duration,
}

const PATIENCE: Patience = Patience {
    headers: Duration::from_secs(30),
    write: Duration::from_secs(30),
};

/// How long replies may take to reach their clients at the end.
const LAST_REPLIES: Duration = Duration::from_secs(5);

/// Serves what is offered until `shutdown` is ready, then ends calls and processes and returns what was still live.
///
/// Calls are cancelled and get their replies out before connections are closed.
///
/// # Errors
///
/// If the listener has no address.
pub async fn serve(
    listener: TcpListener,
    surfaces: impl Into<Surfaces>,
    access: Access,
    shutdown: impl Future<Output = ()>,
) -> io::Result<Vec<crate::process::Info>> {
    listener.local_addr()?;
    let surfaces = surfaces.into();
    let router = router(surfaces.clone(), access);
    let places = Arc::new(Semaphore::new(connections()));
    let graceful = GracefulShutdown::new();
    let accepting = async {
        let mut errors = AcceptErrors::default();
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors, or the client is gone already: neither ends the server.
                    errors.warn(&error);
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let watcher = graceful.watcher();
            let router = router.clone();
            tokio::spawn(async move {
                if let Err(error) = connection(stream, router, watcher, PATIENCE).await {
                    tracing::debug!(error, "a connection ended badly");
                }
                drop(place);
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        () = shutdown => {}
    }
    drop(listener);
    let live = surfaces.shutdown().await;
    if tokio::time::timeout(LAST_REPLIES, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::debug!("some clients did not take their replies");
    }
    Ok(live)
}

/// Returns how many connections there may be. Half of the descriptors are left to processes and files.
fn connections() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let half = limit.and_then(|limit| usize::try_from(limit / 2).ok());
    half.unwrap_or(CONNECTIONS).clamp(1, CONNECTIONS)
}

async fn connection(
    stream: TcpStream,
    router: Router,
    watcher: hyper_util::server::graceful::Watcher,
    patience: Patience,
) -> Result<(), String> {
    // Replies are written at once; waiting for more to fill a packet only costs time.
    stream
        .set_nodelay(true)
        .map_err(|error| error.to_string())?;
    let local = LocalAddress(stream.local_addr().map_err(|error| error.to_string())?);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(patience.write));
    let service =
        hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(local);
            router.clone().oneshot(request)
        });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience.headers)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    watcher
        .watch(connection)
        .await
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    const SHORT: Patience = Patience {
        headers: Duration::from_millis(50),
        write: Duration::from_millis(50),
    };

    /// Serves one connection with little patience, and returns its client and how it ended.
    async fn connect(
        router: Router,
    ) -> (TcpStream, impl Future<Output = Result<(), String>> + Send) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        client
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let graceful = GracefulShutdown::new();
        let served = async move { connection(stream, router, graceful.watcher(), SHORT).await };
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
        // More than the buffers of the system take.
        let router = Router::new().fallback(async || vec![b'x'; 64 << 20]);
        let (client, served) = connect(router).await;
        assert!(served.await.is_err());
        drop(client);
    }

    #[tokio::test]
    async fn a_reply_may_take_longer_than_clients_may() {
        use axum::response::sse::{Event, Sse};
        use tokio::io::AsyncReadExt;
        // First a reply that is long in coming, then a stream that says nothing for as long.
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
        let (mut client, served) = connect(router).await;
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

    #[test]
    fn connections_leave_descriptors_for_the_rest() {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        assert!(limit.is_none_or(|limit| connections() as u64 <= limit / 2));
        assert!(connections() <= CONNECTIONS);
    }
}
