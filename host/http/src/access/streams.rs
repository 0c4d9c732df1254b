//! Streams of events: they end when their principal is no longer known, and with the login of their client.

use std::time::SystemTime;

use axum::body::Body;
use axum::response::Response;
use futures_util::StreamExt;

use super::{Principal, Tokens};
use crate::event_stream;

/// Ends a stream of events once its principal is no longer known, and when the login of its client ends. Other replies are left as they are: their client was
/// authenticated when it sent the request.
pub(super) fn while_known(
    response: Response,
    tokens: &Tokens,
    principal: Principal,
    login_ends: Option<SystemTime>,
) -> Response {
    if !event_stream::is_one(response.headers()) {
        return response;
    }
    let known = tokens.clone().until_gone(principal);
    let gone = Box::pin(async move {
        match login_ends {
            Some(ends) => {
                let left = ends.duration_since(SystemTime::now());
                // Over in any case after this time, also if the clock was set back.
                _ = tokio::time::timeout(left.unwrap_or_default(), known).await;
            }
            None => known.await,
        }
    });
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(gone)))
}
