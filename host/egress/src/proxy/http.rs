//! HTTP/1: `CONNECT`, and requests with an absolute URI.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::TcpStream;

use super::forward::{Forwarded, forward};
use super::refusal::Refusal;
use super::tunnel::relay;
use super::{BUFFER, Shared};
use crate::rules::Target;

type Answer = Response<Either<Forwarded, Full<Bytes>>>;

/// A tunnel whose server is connected. It begins when the client has received the answer.
struct Tunnel {
    client: OnUpgrade,
    server: TcpStream,
}

/// Serves a connection of HTTP/1.
pub(super) async fn serve(shared: &Shared, client: TcpStream) -> io::Result<()> {
    let tunnel = Mutex::new(None);
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(shared.limits.handshake)
        .max_buf_size(BUFFER)
        .serve_connection(
            TokioIo::new(client),
            service_fn(|request| answer(shared, &tunnel, request)),
        )
        .with_upgrades()
        .await
        .map_err(io::Error::other)?;
    let Some(Tunnel { client, server }) = tunnel.into_inner() else {
        return Ok(());
    };
    let client = TokioIo::new(client.await.map_err(io::Error::other)?);
    relay(client, server, shared.limits.half_closed).await
}

async fn answer(
    shared: &Shared,
    tunnel: &Mutex<Option<Tunnel>>,
    request: Request<Incoming>,
) -> Result<Answer, Infallible> {
    let answer = if request.headers().get_all(HOST).iter().count() > 1 {
        Err(Refusal::SeveralHosts)
    } else if request.method() == Method::CONNECT {
        connect(shared, request).await.map(|made| {
            *tunnel.lock() = Some(made);
            Response::new(Either::Right(Full::default()))
        })
    } else {
        let answer = forward(shared, request).await;
        answer.map(|response| response.map(Either::Left))
    };
    Ok(answer.unwrap_or_else(|refusal| refused(&refusal)))
}

async fn connect(shared: &Shared, request: Request<Incoming>) -> Result<Tunnel, Refusal> {
    let uri = request.uri();
    let (None, Some(authority)) = (uri.scheme(), uri.authority()) else {
        return Err(Refusal::NotForProxies);
    };
    let target = Target::parse(authority.as_str(), None);
    let server = shared.dial(authority.as_str(), target).await?;
    Ok(Tunnel {
        client: hyper::upgrade::on(request),
        server,
    })
}

/// Returns the response to a request that is refused. The text is both the body and the reason phrase, because most clients show only the
/// reason phrase of an answer to `CONNECT`.
fn refused(refusal: &Refusal) -> Answer {
    let text = refusal.to_string();
    let reason = ReasonPhrase::try_from(text.as_bytes());
    let body = Full::new(Bytes::from(text + "\n"));
    let mut response = Response::new(Either::Right(body));
    *response.status_mut() = refusal.status();
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    // Close the connection: if the client has sent more without waiting for the answer, those bytes are no request.
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    if let Ok(reason) = reason {
        response.extensions_mut().insert(reason);
    }
    response
}
