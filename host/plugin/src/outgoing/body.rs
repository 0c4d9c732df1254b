//! The body of a response.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::Sleep;

use super::account::Account;
use super::error::SendError;

/// The body of a response. It ends with an error, never silently, if there is more than the call may receive.
#[derive(Debug)]
pub struct ResponseBody {
    incoming: Incoming,
    account: Arc<Account>,
    patience: Option<Duration>,
    silence: Option<Pin<Box<Sleep>>>,
}

impl ResponseBody {
    pub(super) fn new(
        incoming: Incoming,
        account: Arc<Account>,
        patience: Option<Duration>,
    ) -> Self {
        Self {
            incoming,
            account,
            patience,
            silence: None,
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = SendError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, SendError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.incoming).poll_frame(context) {
            this.silence = None;
            let explain = |error| SendError::explain(error, this.account.reached());
            return Poll::Ready(frame.map(|frame| frame.map_err(explain)));
        }
        let Some(patience) = this.patience else {
            return Poll::Pending;
        };
        let silence = this
            .silence
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(silence.as_mut().poll(context));
        Poll::Ready(Some(Err(SendError::ReadTimeout)))
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
