//! Tracing of requests: each request has an id, a span, one log line, metrics, and the trace that it belongs to.
//!
//! None of these contains a path, query, token, header value or body. The only text from a client is the id of its request, if
//! that is safe to log.

use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use crate::time::milliseconds;
use toolhost_call::metrics::Metrics;
use toolhost_call::trace::{self, TRACEPARENT, TRACESTATE, TraceContext};

/// The header by which a client names its request, and in which each response names it.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest request id that is accepted from a client, in bytes.
const MAX_REQUEST_ID: usize = 128;

/// The span of a request, for the work that it causes on other tasks.
#[derive(Clone, Debug)]
pub struct Within(pub Span);

/// Runs a request by `run` in a span of its own, counts it, writes its line, and tells the client its id.
///
/// Nothing comes before, so that it also sees the requests that are refused.
pub(super) async fn request(
    metrics: &Metrics,
    mut request: Request,
    run: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map(MatchedPath::as_str);
    let counted = metrics.http_request_began(route, request.method().as_str());
    let (id, value) = id(request.headers());
    let span = span(&request, route, &id);
    request.extensions_mut().insert(Within(span.clone()));
    let mut response = run(request).instrument(span.clone()).await;
    let took = counted.answered(response.status().as_u16());
    ended(&span, response.status(), took);
    response.headers_mut().insert(REQUEST_ID, value);
    response
}

/// Begins the span of a request. Like the span of a call, it has the level ERROR, so that every log level includes it.
fn span(request: &Request, route: Option<&str>, id: &str) -> Span {
    let span = tracing::error_span!(
        "request",
        request = id,
        method = request.method().as_str(),
        route = route.unwrap_or("none"),
        otel.kind = "server",
        principal = Empty,
        trace = Empty,
        status = Empty,
        duration_ms = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    let caller = of_headers(request.headers());
    if let Some(caller) = &caller {
        trace::adopt(&span, caller);
    }
    if let Some(trace) = trace::id(&span, caller.as_ref()) {
        span.record("trace", &*trace);
    }
    span
}

/// Writes the line of a request.
///
/// Lines of successful requests repeat the audit trail and the metrics, and would be most of any log. With lines of client
/// errors, any client could fill the disk. So both are logged at DEBUG. Failures of the server are logged at INFO.
fn ended(span: &Span, status: StatusCode, took: Duration) {
    if span.is_disabled() {
        return;
    }
    span.record("status", status.as_u16());
    span.record("duration_ms", milliseconds(took));
    span.in_scope(|| {
        if status.is_server_error() {
            tracing::info!("a request failed");
        } else {
            tracing::debug!("answered a request");
        }
    });
}

/// Records the principal in the span of the current request.
pub(super) fn sent_by(principal: &str) {
    Span::current().record("principal", principal);
}

/// Returns the id of a request: the client's, if that is visible ASCII, or else a new one.
fn id(headers: &HeaderMap) -> (String, HeaderValue) {
    let visible = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        (1..=MAX_REQUEST_ID).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
    };
    let given = one(headers, &REQUEST_ID).filter(visible);
    if let Some(value) = given
        && let Ok(text) = value.to_str()
    {
        return (text.to_owned(), value.clone());
    }
    let text = uuid::Uuid::new_v4().simple().to_string();
    // Hex digits are a valid header value; the fallback is never used.
    let value = HeaderValue::from_str(&text);
    (text, value.unwrap_or(HeaderValue::from_static("none")))
}

/// Reads the trace context from the headers; `None` if it is missing or malformed.
pub fn of_headers(headers: &HeaderMap) -> Option<TraceContext> {
    let parent = one(headers, &HeaderName::from_static(TRACEPARENT))?;
    // `tracestate` is a list, which may be spread over several headers.
    let states: Result<Vec<_>, _> = headers
        .get_all(TRACESTATE)
        .iter()
        .map(HeaderValue::to_str)
        .collect();
    let state = states.ok().map(|states| states.join(","));
    TraceContext::parse(parent.to_str().ok()?, state.as_deref())
}

/// Returns the trace context to propagate for the one in the headers.
pub fn onward(headers: &HeaderMap) -> Option<TraceContext> {
    trace::onward(of_headers(headers))
}

/// Returns the value of a header that occurs exactly once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    #[test]
    fn ids_of_clients_are_taken_if_they_are_fit_to_be_logged() {
        let longest = "x".repeat(128);
        for given in ["a", "01J-x/y+z=", longest.as_str()] {
            assert_eq!(id(&headers(&[("x-request-id", given)])).0, given);
        }
        let too_long = "x".repeat(129);
        for given in ["", "a b", "ä", "a\tb", too_long.as_str()] {
            let (made, value) = id(&headers(&[("x-request-id", given)]));
            assert!(made.len() == 32 && value == *made, "{given:?}: {made}");
        }
        let twice = headers(&[("x-request-id", "a"), ("x-request-id", "b")]);
        assert_eq!(id(&twice).0.len(), 32);
        assert_ne!(id(&HeaderMap::new()).0, id(&HeaderMap::new()).0);
    }

    #[test]
    fn a_trace_is_named_once_and_its_state_may_be_in_pieces() {
        const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let given = headers(&[
            ("traceparent", PARENT),
            ("tracestate", "a=1"),
            ("tracestate", "b=2"),
        ]);
        let context = of_headers(&given).unwrap();
        assert_eq!(
            (context.parent(), context.state()),
            (PARENT, Some("a=1,b=2"))
        );
        for other in [
            headers(&[("traceparent", PARENT), ("traceparent", PARENT)]),
            headers(&[("traceparent", "00-x")]),
            headers(&[("tracestate", "a=1")]),
        ] {
            assert_eq!(of_headers(&other), None);
        }
    }
}
