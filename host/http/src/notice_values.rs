//! Values of notices that events, lists and webhooks serialize alike.

use serde::Serialize;
use utoipa::ToSchema;

use crate::process_values::ProcessStatus;
use toolhost_call::notice::{self, Delivery, Trigger};

/// A notice: something that happens to a process, of which its chat wants to be told.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Notice {
    /// The id of the notice.
    id: String,
    /// The id of the process.
    process: String,
    /// The call that started the process, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// The command of the process, cut at 512 bytes.
    command: String,
    /// The event that the chat waits for: the end of the process, or output that matches.
    on: On,
    /// With `output`: the regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    /// With `output`: the cursor from which the output is searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    /// When it was asked for, in seconds since 1970.
    asked_at_unix: u64,
    /// Where its delivery to the webhook stands; absent without one, and while the chat waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery: Option<&'static str>,
    /// The event; absent while the chat waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    told: Option<Told>,
}

/// `exit`, or `output`.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum On {
    Exit,
    Output,
}

/// The event of the process of a notice.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct Told {
    /// `exited`; `matched`; `lost`: it is not known how the process ended.
    event: &'static str,
    /// When the server saw it, in seconds since 1970.
    at_unix: u64,
    #[serde(flatten)]
    status: ProcessStatus,
    /// How many bytes the process had written.
    total_bytes: u64,
    /// The cursor just past the match.
    #[serde(skip_serializing_if = "Option::is_none")]
    match_end: Option<u64>,
}

impl From<&notice::Notice> for Notice {
    fn from(notice: &notice::Notice) -> Self {
        let (on, pattern, since) = match &notice.trigger {
            Trigger::Exit => (On::Exit, None, None),
            Trigger::Output { pattern, since } => (On::Output, Some(pattern.clone()), Some(*since)),
        };
        Self {
            id: notice.id.clone(),
            process: notice.process.clone(),
            call: notice.started_by.clone(),
            command: notice.command.clone(),
            on,
            pattern,
            since,
            asked_at_unix: notice.asked_ms / 1000,
            delivery: (notice.delivery != Delivery::None).then(|| notice.delivery.into()),
            told: notice.told.as_ref().map(|told| Told {
                event: told.event(),
                at_unix: told.at_ms / 1000,
                status: ProcessStatus::from(&told.state),
                total_bytes: told.total,
                match_end: told.match_end,
            }),
        }
    }
}
