//! Streams of events: they end when their principal is no longer known.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

use super::{Principal, Tokens};

/// The type of a stream of events.
const EVENTS: &[u8] = b"text/event-stream";

/// The body of a reply that ends when its principal is no longer known.
struct WhileKnown {
    body: Body,
    gone: Pin<Box<dyn Future<Output = ()> + Send>>,
    over: bool,
}

/// Ends a stream of events once its principal is no longer known. Other replies are left as they are: their client was
/// authenticated when it sent the request.
pub(super) fn while_known(response: Response, tokens: &Tokens, principal: Principal) -> Response {
    let kind = response.headers().get(CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(EVENTS)) {
        return response;
    }
    let gone = Box::pin(tokens.clone().until_gone(principal));
    let over = false;
    response.map(|body| Body::new(WhileKnown { body, gone, over }))
}

impl HttpBody for WhileKnown {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.over && self.gone.as_mut().poll(context).is_ready() {
            self.over = true;
            // Dropping the body frees at once what it holds, such as a reader's permit.
            self.body = Body::empty();
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
