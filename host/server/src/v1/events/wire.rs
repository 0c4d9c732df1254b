//! Events on the wire.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::v1::bytes::Bytes;
use toolhost_call::events::{Event, Reset, Subject};
use toolhost_http::notice_values::Notice;
use toolhost_http::process_values::ProcessStatus;

/// One event.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Event)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub(super) enum Data {
    /// A call began, or ended.
    Call {
        /// The id of the call.
        call: String,
        /// The tool that was called.
        tool: String,
        /// `queued`, `running`, `finished`, `failed`, `cancelled` or `unknown`.
        state: &'static str,
        /// Whether the reply is a failure, once the call has ended, for as long as the reply is kept.
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
    },
    /// A call made progress.
    Progress {
        /// The id of the call.
        call: String,
        /// How much is done, in a unit of the plugin's choice. It does not decrease.
        done: f64,
        /// How much there is to do, if that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        /// A message for people.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A process was started.
    ProcessStarted {
        /// The id of the process.
        process: String,
        /// The call that started it, if one did.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Its command, cut at 512 bytes.
        command: String,
        /// The absolute directory in which it was started.
        workdir: String,
        /// Whether it was started as a background process.
        background: bool,
    },
    /// The status of a process changed.
    Process {
        /// The id of the process.
        process: String,
        /// The call that started it, if one did.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        #[serde(flatten)]
        status: ProcessStatus,
        /// How many bytes it has written so far.
        total_bytes: u64,
    },
    /// Output of a process.
    Output {
        /// The id of the process.
        process: String,
        /// The cursor of the first byte.
        offset: u64,
        /// How many bytes these are.
        length: u64,
        #[serde(flatten)]
        bytes: Bytes,
    },
    /// Something happened to a process of which the chat wanted to be told.
    Notice(Notice),
    /// Lost output: a process wrote these bytes, and they are no longer kept.
    Gap {
        /// The id of the process.
        process: String,
        /// The cursor of the first byte.
        offset: u64,
        /// How many bytes these are.
        length: u64,
    },
    /// The reader does not know of the events before the next one.
    Reset {
        /// `unknown_id`: no event of this chat and this start of the server has the id; `expired`: the events after it are no
        /// longer kept; `behind`: the reader was too slow; `cut_off`: other servers may have events that this one was not told.
        reason: &'static str,
    },
    /// The chat was ended, with all that ran in it.
    ChatEnded {
        /// The id of the chat.
        chat: String,
    },
}

impl Data {
    /// Returns the name of the event, and its data as they are sent.
    pub(super) fn encode(&self) -> (String, String) {
        let mut parts = serde_json::to_value(self).unwrap_or_default();
        let mut part = |name: &str| parts.get_mut(name).map(Value::take).unwrap_or_default();
        let name = part("event").as_str().unwrap_or_default().to_owned();
        (name, part("data").to_string())
    }

    /// Returns the data of an event whose data can be built without reading output; `None` for output.
    pub(super) fn of(event: Event, chat: &str, is_error: Option<bool>) -> Option<Self> {
        let call = |process: &Subject| process.call.as_ref().map(ToString::to_string);
        Some(match event {
            Event::Call { call, tool, state } => Self::Call {
                call: call.to_string(),
                tool,
                state: state.name(),
                is_error,
            },
            Event::Progress {
                call,
                done,
                total,
                message,
            } => Self::Progress {
                call: call.to_string(),
                done,
                total,
                message,
            },
            Event::ProcessStarted {
                process,
                command,
                workdir,
                background,
            } => Self::ProcessStarted {
                process: process.id.clone(),
                call: call(&process),
                command,
                workdir: workdir.to_string_lossy().into_owned(),
                background,
            },
            Event::Process {
                process,
                state,
                total,
            } => Self::Process {
                process: process.id.clone(),
                call: call(&process),
                status: ProcessStatus::from(&state),
                total_bytes: total,
            },
            Event::Notice { notice, .. } => Self::Notice(Notice::from(&*notice)),
            Event::Reset(reset) => Self::Reset {
                reason: match reset {
                    Reset::Unknown => "unknown_id",
                    Reset::Expired => "expired",
                    Reset::Behind => "behind",
                    Reset::CutOff => "cut_off",
                },
            },
            Event::ChatEnded => Self::ChatEnded { chat: chat.into() },
            Event::Output { .. } => return None,
        })
    }
}
