//! The expected end of each hostile guest: `guests/expected.json`, which `toolhost plugin attack` has as well.

use std::sync::OnceLock;

use serde::Deserialize;
use toolhost_call::metrics::LimitKind;
use toolhost_call::tool::ErrorKind;
use toolhost_core::Outcome;
use toolhost_plugin::{Limits, LoadError};

use super::contained::End;

const TABLE: &str = include_str!("../guests/expected.json");

/// How a guest must end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    pub(crate) name: String,
    ends: Ends,
    /// The limit that ends it.
    pub(crate) limit: Option<String>,
    /// A part of the message, or the text of the reply.
    #[serde(default)]
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ends {
    Reply,
    Error,
    Limit,
    Broken,
    Refused,
}

/// All guests of the table, in its order.
pub(crate) fn all() -> &'static [Expected] {
    static ALL: OnceLock<Vec<Expected>> = OnceLock::new();
    ALL.get_or_init(|| serde_json::from_str(TABLE).unwrap())
}

/// How the guest of this name must end.
pub(crate) fn of(name: &str) -> &'static Expected {
    let found = all().iter().find(|expected| expected.name == name);
    found.unwrap_or_else(|| panic!("{name} is not in guests/expected.json"))
}

impl Expected {
    /// Whether a call is ended by this limit.
    pub(crate) fn ends_by(&self, limit: &str) -> bool {
        self.ends == Ends::Limit && self.limit.as_deref() == Some(limit)
    }

    /// Asserts that a call with these limits ended so.
    pub(crate) fn assert(&self, outcome: &Outcome, limits: &Limits) {
        let (text, reached) = (self.text.as_str(), self.reached(limits));
        let end = match self.ends {
            Ends::Reply => End::Reply(text),
            Ends::Error => End::Failed(ErrorKind::Failed, text),
            Ends::Broken => End::Broken(text),
            Ends::Limit => End::Limit(&reached),
            Ends::Refused => panic!("{} must not load", self.name),
        };
        end.assert(outcome);
    }

    /// Asserts that the guest did not load for this reason.
    pub(crate) fn assert_refused(&self, error: &LoadError, limits: &Limits) {
        assert_eq!(self.ends, Ends::Refused, "{}", self.name);
        let (error, reached) = (error.to_string(), self.reached(limits));
        assert!(
            error.contains(&self.text) && error.contains(&reached),
            "{error}"
        );
    }

    /// The text of the limit; empty if there is none.
    fn reached(&self, limits: &Limits) -> String {
        let Some(limit) = self.limit.as_deref() else {
            return String::new();
        };
        let milliseconds = |time: std::time::Duration| usize::try_from(time.as_millis()).unwrap();
        let (kind, value) = match limit {
            "guest_time" => (LimitKind::GuestTime, milliseconds(limits.guest_time)),
            "deadline" => (LimitKind::Deadline, milliseconds(limits.deadline)),
            "memory" => (LimitKind::Memory, limits.memory),
            "table_elements" => (LimitKind::TableElements, limits.table_elements),
            "handles" => (LimitKind::Handles, limits.handles),
            "stack" => (LimitKind::Stack, 1 << 20),
            "reply" => (LimitKind::Reply, limits.reply),
            "host_call_data" => (LimitKind::HostCallData, limits.host_call_data),
            other => panic!("{other} is no limit that a guest here reaches"),
        };
        assert_eq!(kind.name(), limit);
        kind.reached(value as u64)
    }
}
