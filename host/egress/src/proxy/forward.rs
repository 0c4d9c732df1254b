//! Requests with an absolute URI: each goes out on a connection of its own.

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

use super::headers::remove_of_one_connection;
use super::refusal::Refusal;
use super::{BUFFER, Shared};
use crate::origin::origin_form;
use crate::rules::Target;

/// The body of a response, with the connection that it comes from. Dropping it closes the connection.
pub(super) struct Forwarded {
    incoming: Incoming,
    connection: Fuse<BoxFuture<'static, ()>>,
}

/// Sends a request to the host of its URI. The header `Host` of the request decides nothing, and is replaced.
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
    // Dialling fails without a target.
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
    // The reader of the response gets the error.
    let mut connection = connection.map(drop).boxed().fuse();
    let mut response = pin!(requests.send_request(request));
    let response = tokio::select! {
        biased;
        response = &mut response => response,
        // The response is here now or will never come.
        () = &mut connection => response.await,
    };
    let mut response = response.map_err(failed)?;
    remove_of_one_connection(response.headers_mut());
    *response.version_mut() = Version::HTTP_11;
    Ok(response.map(|incoming| Forwarded {
        incoming,
        connection,
    }))
}

/// Returns whether the body has chunks instead of a length. hyper has decoded the chunks, and refused a request whose last coding is
/// another one.
fn is_chunked(request: &Request<Incoming>) -> Result<bool, Refusal> {
    let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(false),
        (Some(coding), None) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(true),
        _ => Err(Refusal::Coding),
    }
}

/// Makes the request one to the server itself.
fn prepare(request: &mut Request<Incoming>, target: &Target, is_chunked: bool) {
    *request.uri_mut() = origin_form(request.uri());
    *request.version_mut() = Version::HTTP_11;
    let headers = request.headers_mut();
    remove_of_one_connection(headers);
    // hyper asks the client for its body without waiting for the server.
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
        // Said, because hyper would send no body with some methods.
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
