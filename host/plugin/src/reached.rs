//! Limits that a guest reached, with texts for the caller.

use std::time::Duration;

use toolhost_call::metrics::LimitKind;

/// A limit that was reached, and the text that says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(super) struct Reached {
    /// The kind of the limit.
    pub(super) kind: LimitKind,
    /// The value of the limit, in the unit of its kind.
    pub(super) value: usize,
    text: String,
}

impl Reached {
    /// Makes the text of a limit with this value, in the unit of its kind.
    pub(super) fn of(kind: LimitKind, value: usize) -> Self {
        let text = kind.reached(value as u64);
        Self { kind, value, text }
    }

    /// Makes the text of a limit of time with this value.
    pub(super) fn time(kind: LimitKind, value: Duration) -> Self {
        let value = usize::try_from(value.as_millis()).unwrap_or(usize::MAX);
        Self::of(kind, value)
    }

    /// Adds that a later try may succeed: other calls hold the resource and may give it back.
    pub(super) fn for_now(mut self) -> Self {
        self.text.push_str("; try again later");
        self
    }

    /// Adds the reason why the limit was exceeded.
    pub(super) fn because(mut self, why: &str) -> Self {
        self.text = format!("{}: {why}", self.text);
        self
    }
}
