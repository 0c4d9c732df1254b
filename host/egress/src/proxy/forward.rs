//! Forwarding of requests with an absolute URI. Each request uses a new connection to the server.

use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Fuse};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, EXPECT, HOST, HeaderValue, TRANSFER_ENCODING};
use hyper::http::uri::Scheme;
use hyper::{Request, Response, Version};
use hyper_util::rt::TokioIo;

use super::headers::remove_hop_by_hop;
use super::refusal::Refusal;
use super::{BUFFER, Shared};
use crate::origin::origin_form;
use crate::rules::Target;

/// The body of a response, with the connection to the server that sends it. Dropping the body closes the connection.
pub(super) struct Forwarded {
    incoming: Incoming,
    connection: Fuse<BoxFuture<'static, ()>>,
}

/// Sends a request to the host of its URI. The header `Host` of the request is ignored and replaced.
pub(super) async fn forward(
    shared: &Shared,
    mut request: Request<Incoming>,
) -> Result<Response<Forwarded>, Refusal> {
    let uri = request.uri();
    let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
        return Err(Refusal::NotForProxies);
    };
    if *scheme != Scheme::HTTP {
        return Err(Refusal::NotForProxies);
    }
    let is_chunked = is_chunked(&request)?;
    let target = Target::parse(authority.as_str(), Some(80));
    let server = shared.dial(authority.as_str(), target.clone()).await?;
    // This cannot happen, because dialling fails without a target.
    let Ok(target) = target else {
        return Err(Refusal::NotForProxies);
    };
    prepare(&mut request, &target, is_chunked);
    let failed = |error| Refusal::Exchange {
        target: target.clone(),
        error,
    };
    let (mut requests, connection) = http1::Builder::new()
        .max_buf_size(BUFFER)
        .handshake(TokioIo::new(server))
        .await
        .map_err(failed)?;
    // Drop the result: an error also reaches the reader of the response.
    let mut connection = connection.map(drop).boxed().fuse();
    let mut response = pin!(requests.send_request(request));
    let response = tokio::select! {
        biased;
        response = &mut response => response,
        // When the connection has ended, the response is either ready or an error.
        () = &mut connection => response.await,
    };
    let mut response = response.map_err(failed)?;
    remove_hop_by_hop(response.headers_mut());
    *response.version_mut() = Version::HTTP_11;
    Ok(response.map(|incoming| Forwarded {
        incoming,
        connection,
    }))
}

/// Returns whether the body is chunked instead of having a length. hyper has already decoded the chunks, and has refused requests whose
/// last transfer coding is not `chunked`.
fn is_chunked(request: &Request<Incoming>) -> Result<bool, Refusal> {
    let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(false),
        (Some(coding), None) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(true),
        _ => Err(Refusal::TransferCoding),
    }
}

/// Rewrites a request to the proxy as a request to the server.
fn prepare(request: &mut Request<Incoming>, target: &Target, is_chunked: bool) {
    *request.uri_mut() = origin_form(request.uri());
    *request.version_mut() = Version::HTTP_11;
    let headers = request.headers_mut();
    remove_hop_by_hop(headers);
    // hyper itself sends `100 Continue` to the client, so the server need not.
    headers.remove(EXPECT);
    let authority = match target.port {
        80 => target.host.to_string(),
        _ => target.to_string(),
    };
    if let Ok(host) = HeaderValue::from_str(&authority) {
        headers.insert(HOST, host);
    }
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    if is_chunked {
        // Without this header, hyper would send no body with some methods.
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
}

impl Body for Forwarded {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        _ = self.connection.poll_unpin(context);
        Pin::new(&mut self.incoming).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
