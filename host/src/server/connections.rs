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
use crate::host::Host;

/// The most connections at once, if there are enough descriptors. More wait to be accepted.
const CONNECTIONS: usize = 1024;

/// How long a client may take to send the headers of a request, and how long it may keep a connection without one.
const HEADER_TIME: Duration = Duration::from_secs(30);

/// How long a client may take nothing of a reply that is there.
const WRITE_TIME: Duration = Duration::from_secs(30);

/// How long replies may take to reach their clients at the end.
const LAST_REPLIES: Duration = Duration::from_secs(5);

/// Serves a host until `shutdown` is ready, then ends calls and processes and returns what was still live.
///
/// Calls are cancelled and get their replies out before connections are closed.
///
/// # Errors
///
/// If the listener has no address.
pub async fn serve(
    listener: TcpListener,
    host: Host,
    access: Access,
    shutdown: impl Future<Output = ()>,
) -> io::Result<Vec<crate::process::Info>> {
    listener.local_addr()?;
    let router = router(host.clone(), access);
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
                if let Err(error) = connection(stream, router, watcher, WRITE_TIME).await {
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
    let live = host.shutdown().await;
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
    write_time: Duration,
) -> Result<(), String> {
    // Replies are written at once; waiting for more to fill a packet only costs time.
    stream
        .set_nodelay(true)
        .map_err(|error| error.to_string())?;
    let local = LocalAddress(stream.local_addr().map_err(|error| error.to_string())?);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(write_time));
    let service =
        hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(local);
            router.clone().oneshot(request)
        });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
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

    #[tokio::test]
    async fn a_client_that_reads_nothing_loses_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        // More than the buffers of the system take.
        let router = Router::new().fallback(async || vec![b'x'; 64 << 20]);
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        client
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let graceful = GracefulShutdown::new();
        let served = connection(
            stream,
            router,
            graceful.watcher(),
            Duration::from_millis(50),
        );
        let patience = Duration::from_secs(60);
        let ended = tokio::time::timeout(patience, served)
            .await
            .expect("the connection stays");
        assert!(ended.is_err());
        drop(client);
    }

    #[test]
    fn connections_leave_descriptors_for_the_rest() {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        assert!(limit.is_none_or(|limit| connections() as u64 <= limit / 2));
        assert!(connections() <= CONNECTIONS);
    }
}
