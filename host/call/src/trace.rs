//! Traces: the caller names the trace of a call by W3C Trace Context, and the commands of the call get it in turn.
//!
//! Spans are those of `tracing`: `request` for a request over HTTP, `call` for a call of a plugin. With the feature `otel`
//! they are exported, and the context of the span is passed on instead of the caller's.

#[cfg(feature = "otel")]
pub mod otel;
mod state;

use std::collections::BTreeMap;

/// The attribute, and the header, that names the caller's span.
pub const TRACEPARENT: &str = "traceparent";

/// The attribute, and the header, with data of the systems that traced the request before.
pub const TRACESTATE: &str = "tracestate";

/// The context of a span: its trace, its id, and whether it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// `00-`, 32 digits, `-`, 16 digits, `-`, two digits.
    parent: String,
    state: Option<String>,
}

impl TraceContext {
    /// Reads both values, as they are in headers. `None` if the first is not one of version 00, in lower-case hex, with ids
    /// that are not all zero. A `tracestate` that is not valid is left out: `traceparent` is enough without it.
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Self> {
        let mut parts = parent.split('-');
        let mut part = |length| {
            let hex = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
            parts
                .next()
                .filter(|part: &&str| part.len() == length && part.bytes().all(hex))
        };
        let (version, trace, span, _flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        let zero = |id: &str| id.bytes().all(|digit| digit == b'0');
        if version != "00" || zero(trace) || zero(span) || parts.next().is_some() {
            return None;
        }
        Some(Self {
            parent: parent.to_owned(),
            state: state.filter(|state| state::is_valid(state)).map(Into::into),
        })
    }

    /// Reads the attributes of a request.
    pub fn of(attributes: &BTreeMap<String, String>) -> Option<Self> {
        let state = attributes.get(TRACESTATE).map(String::as_str);
        Self::parse(attributes.get(TRACEPARENT)?, state)
    }

    /// Writes the context into the attributes of a request, and replaces one that is there.
    pub fn set(&self, attributes: &mut BTreeMap<String, String>) {
        attributes.insert(TRACEPARENT.into(), self.parent.clone());
        match &self.state {
            Some(state) => attributes.insert(TRACESTATE.into(), state.clone()),
            None => attributes.remove(TRACESTATE),
        };
    }

    /// Returns the value of `traceparent`.
    pub fn parent(&self) -> &str {
        &self.parent
    }

    /// Returns the value of `tracestate`, if there is one.
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// Returns the id of the trace: 32 digits.
    pub fn trace_id(&self) -> &str {
        self.parent.get(3..35).unwrap_or_default()
    }

    /// Returns the environment variables that pass the context to a command.
    pub fn variables(&self) -> Vec<(String, String)> {
        let parent = ("TRACEPARENT".into(), self.parent.clone());
        let state = self.state.clone();
        let state = state.map(|state| ("TRACESTATE".into(), state));
        std::iter::once(parent).chain(state).collect()
    }
}

/// Makes a span a child of its caller's span, if spans are exported. The span must not have been entered yet.
#[cfg(feature = "otel")]
pub fn adopt(span: &tracing::Span, caller: &TraceContext) {
    otel::adopt(span, caller);
}

/// Does nothing: spans are not exported.
#[cfg(not(feature = "otel"))]
pub fn adopt(_span: &tracing::Span, _caller: &TraceContext) {}

/// Returns whether a span belongs to the caller's trace already.
pub fn is_within(span: &tracing::Span, caller: &TraceContext) -> bool {
    exported(span).is_some_and(|own| own.trace_id() == caller.trace_id())
}

/// Returns the id of the trace that a span belongs to: its own if it is exported, else the caller's.
pub fn id(span: &tracing::Span, caller: Option<&TraceContext>) -> Option<String> {
    let own = exported(span);
    let context = own.as_ref().or(caller)?;
    Some(context.trace_id().to_owned())
}

/// Returns the context to pass on from within the current span: that of the span if it is exported, else the caller's.
pub fn onward(caller: Option<TraceContext>) -> Option<TraceContext> {
    exported(&tracing::Span::current()).or(caller)
}

/// Returns the context of a span if it is exported.
#[cfg(feature = "otel")]
fn exported(span: &tracing::Span) -> Option<TraceContext> {
    otel::context(span)
}

/// Returns nothing: spans are not exported.
#[cfg(not(feature = "otel"))]
fn exported(_span: &tracing::Span) -> Option<TraceContext> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn what_is_written_as_the_standard_says_is_read() {
        let context = TraceContext::parse(PARENT, Some("vendor=a b,tenant@system=1")).unwrap();
        assert_eq!(context.trace_id(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(context.state(), Some("vendor=a b,tenant@system=1"));
        let mut attributes = BTreeMap::from([("locale".to_owned(), "de".to_owned())]);
        context.set(&mut attributes);
        assert_eq!(TraceContext::of(&attributes).unwrap(), context);
        let names = context.variables();
        assert_eq!(names[0], ("TRACEPARENT".into(), PARENT.into()));
        assert_eq!(names[1].0, "TRACESTATE");
        // The `tracestate` belongs to the replaced parent, so it is removed as well.
        let alone = TraceContext::parse(PARENT, None).unwrap();
        alone.set(&mut attributes);
        assert!(!attributes.contains_key(TRACESTATE));
        assert_eq!(alone.variables().len(), 1);
    }

    #[test]
    fn what_is_not_is_ignored() {
        let broken = [
            "",
            "00",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-extra",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n",
        ];
        for parent in broken {
            assert_eq!(TraceContext::parse(parent, None), None, "{parent:?}");
        }
        let context = TraceContext::parse(PARENT, Some("a=$(id)\n")).unwrap();
        assert_eq!(context.state(), None);
    }
}
