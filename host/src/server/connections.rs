//! Connections: accepting, bounding and ending them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower::ServiceExt;

use super::access::{Access, LocalAddress};
use super::router;
use crate::host::Host;

/// The most connections at once. More wait to be accepted.
const CONNECTIONS: usize = 1024;

/// How long a client may take to send the headers of a request, and how long it may keep a connection without one.
const HEADER_TIME: Duration = Duration::from_secs(30);

/// The most bytes of the headers of a request.
const HEADER_BYTES: usize = 64 << 10;

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
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let accepting = async {
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors, or the client is gone already: neither ends the server.
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let watcher = graceful.watcher();
            let router = router.clone();
            tokio::spawn(async move {
                if let Err(error) = connection(stream, router, watcher).await {
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

async fn connection(
    stream: TcpStream,
    router: Router,
    watcher: hyper_util::server::graceful::Watcher,
) -> Result<(), String> {
    // Replies are written at once; waiting for more to fill a packet only costs time.
    stream
        .set_nodelay(true)
        .map_err(|error| error.to_string())?;
    let local = LocalAddress(stream.local_addr().map_err(|error| error.to_string())?);
    let service =
        hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(local);
            router.clone().oneshot(request)
        });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    watcher
        .watch(connection)
        .await
        .map_err(|error| error.to_string())
}
