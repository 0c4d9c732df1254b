//! A request of a person and the answer of a server of a chat, with connections that change their protocol, such as WebSockets.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use futures_util::StreamExt as _;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use toolhost_core::{Host, Link, Target};
use toolhost_workspace::Connection;

use super::Refusal;
use super::gate::left;
use super::rewrite::{self, Origin};

/// The most connections to servers of chats at a time.
const CONNECTIONS: usize = 512;

/// How long a server has for the head of its answer.
const HEAD_WITHIN: Duration = Duration::from_mins(5);

/// The permits for connections. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Connections(Arc<Semaphore>);

impl Default for Connections {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(CONNECTIONS)))
    }
}

/// Has the server of a link answer a request.
pub(super) async fn pass(
    host: &Host,
    connections: &Connections,
    link: &Link,
    origin: &Origin,
    mut request: Request,
) -> Result<Response, Refusal> {
    let Target::Port(port) = link.target else {
        return Err(Refusal::new(StatusCode::NOT_FOUND, "this is no server"));
    };
    let permit = Arc::clone(&connections.0).try_acquire_owned();
    let permit = permit.map_err(|_| {
        let text = format!("{CONNECTIONS} connections to servers are open, and no more are made");
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text)
    })?;
    let connection = host.connect_port(&link.chat, port).await;
    let connection = connection.map_err(|error| bad(error.to_string()))?;
    let until = Until::new(link, host.draining());
    let of_person = hyper::upgrade::on(&mut request);
    let mut answer = send(request, connection, port, origin).await?;
    let of_server = hyper::upgrade::on(&mut answer);
    rewrite::for_person(answer.headers_mut(), port, origin);
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        tokio::spawn(async move {
            let join = async {
                let (person, server) = tokio::try_join!(of_person, of_server).ok()?;
                let (mut person, mut server) = (TokioIo::new(person), TokioIo::new(server));
                copy_bidirectional(&mut person, &mut server).await.ok()
            };
            tokio::select! {
                _ = join => {}
                () = until.over() => {}
            }
            drop(permit);
        });
        return Ok(answer.map(|_| Body::empty()));
    }
    Ok(answer.map(|body| held(Body::new(body), until, permit)))
}

/// Sends a request through a connection, and returns the head of the answer with its body.
async fn send(
    request: Request,
    connection: Box<dyn Connection>,
    port: u16,
    origin: &Origin,
) -> Result<axum::http::Response<hyper::body::Incoming>, Refusal> {
    let (mut parts, body) = request.into_parts();
    rewrite::for_server(&mut parts.headers, port, origin);
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse::<Uri>().unwrap_or_default();
    parts.version = axum::http::Version::HTTP_11;
    let request = Request::from_parts(parts, body);
    let broken = |error: hyper::Error| bad(format!("the server at port {port} broke off: {error}"));
    let made = http1::handshake(TokioIo::new(connection)).await;
    let (mut sender, driving) = made.map_err(broken)?;
    tokio::spawn(driving.with_upgrades());
    let sent = tokio::time::timeout(HEAD_WITHIN, sender.send_request(request)).await;
    let late = |_| {
        let text = format!("the server at port {port} does not answer");
        Refusal::new(StatusCode::GATEWAY_TIMEOUT, text)
    };
    sent.map_err(late)?.map_err(broken)
}

/// Returns a body that holds a permit, and ends when a link does.
fn held(body: Body, until: Until, permit: OwnedSemaphorePermit) -> Body {
    let stream = body.into_data_stream();
    let stream = stream.take_until(Box::pin(async move { until.over().await }));
    Body::from_stream(stream.inspect(move |_| _ = &permit))
}

fn bad(text: String) -> Refusal {
    Refusal::new(StatusCode::BAD_GATEWAY, text)
}

/// The end of a connection: its link expires, or this host stops.
struct Until {
    left: Duration,
    stopping: CancellationToken,
}

impl Until {
    fn new(link: &Link, stopping: CancellationToken) -> Self {
        let left = left(link);
        Self { left, stopping }
    }

    async fn over(self) {
        tokio::select! {
            () = tokio::time::sleep(self.left) => {}
            () = self.stopping.cancelled() => {}
        }
    }
}
