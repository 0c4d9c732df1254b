//! The span of a call: the fields that name the call in log lines and in exported traces.

use tracing::Span;
use tracing::field::Empty;

use toolhost_call::call::{Outcome, Request};
use toolhost_call::trace::{self, TraceContext};

/// Begins the span of a call, within the span of its request.
///
/// The span has the level ERROR, so that even a warning says which call it is about. It contains no argument and no attribute.
pub(super) fn of_call(asked: &Span, plugin: &str, request: &Request) -> Span {
    let span = tracing::error_span!(
        parent: asked,
        "call",
        chat = request.chat.as_str(),
        call = request.id.as_str(),
        tool = request.tool.as_str(),
        plugin,
        workspace = Empty,
        trace = Empty,
        state = Empty,
        duration_ms = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    if let Some(workspace) = &request.workspace {
        span.record("workspace", workspace.as_str());
    }
    let caller = TraceContext::of(&request.attributes);
    if let Some(caller) = &caller
        && !trace::is_within(asked, caller)
    {
        trace::adopt(&span, caller);
    }
    if let Some(trace) = trace::id(&span, caller.as_ref()) {
        span.record("trace", &*trace);
    }
    span
}

/// Records in the span how the call ended, and logs the end.
pub(super) fn record_end(span: &Span, outcome: &Outcome) {
    if span.is_disabled() {
        return;
    }
    let milliseconds = u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX);
    span.record("state", outcome.state().name());
    span.record("duration_ms", milliseconds);
    span.in_scope(|| tracing::debug!("a call ended"));
}
