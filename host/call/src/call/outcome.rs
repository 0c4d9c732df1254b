//! The outcome of a call.

use std::borrow::Cow;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::metrics::Used;
use crate::tool::{Content, ErrorKind, Reply, ToolError};
use toolhost_state::id::CallId;

/// The times that the end of a serialized outcome says, in milliseconds; `None` for those that it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// How long the call ran.
    pub duration_ms: Option<u64>,
    /// How long the call waited before it ran.
    pub queued_ms: Option<u64>,
    /// The CPU time of the tool itself.
    pub guest_ms: Option<u64>,
}

/// The one result of a call. It never changes, so every repeat of the call gets the same bytes.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The caller's name of the call.
    pub id: CallId,
    /// The tool that was called.
    pub tool: String,
    /// The reply of the tool, or why there is none.
    pub result: Result<Reply, ToolError>,
    /// Whether the call was cancelled; `result` is then the part of the reply that the tool had by that time.
    pub cancelled: bool,
    /// Whether the workspace stopped answering, so that an operation of the tool may or may not have been done. `result` is
    /// then the tool's own reply about it.
    pub uncertain: bool,
    /// The ids of the processes that the call started, in order.
    pub processes: Vec<String>,
    /// How long the call ran.
    pub duration: Duration,
    /// How long the call waited before it ran.
    pub queued: Duration,
    /// The CPU time and memory that its guest used; zero for a call that ran in an earlier host. No client sees it.
    pub used: Used,
    /// The CPU time of the guest, as the stored outcome has it; `None` if no guest ran.
    pub guest_time: Option<Duration>,
}

/// The state of a call. An outcome has one of these: `finished`, the tool replied, or refused its arguments; `failed`, the host
/// ended the call; `cancelled`, the call was cancelled; `unknown`, the host or the workspace stopped while the call ran, so its
/// result is unknown, or the state of something that it started or wrote.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[schema(as = EndedState)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// The call waits for a place.
    #[serde(skip)]
    Queued,
    /// The call runs.
    #[serde(skip)]
    Running,
    /// The tool replied, or refused its arguments.
    Finished,
    /// The host ended the call: a limit, a trap, a reply that makes no sense.
    Failed,
    /// The call was cancelled.
    Cancelled,
    /// The host, or the workspace, stopped while the call ran: the outcome of the call, or of one of its operations, is not
    /// known.
    Unknown,
}

impl State {
    /// Returns the name of the state, as replies and events have it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns whether the call can still change.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }
}

impl Outcome {
    /// Makes the outcome of a call that took no time and started no process.
    pub fn new(id: CallId, tool: impl Into<String>, result: Result<Reply, ToolError>) -> Self {
        Self {
            id,
            tool: tool.into(),
            result,
            cancelled: false,
            uncertain: false,
            processes: Vec::new(),
            duration: Duration::ZERO,
            queued: Duration::ZERO,
            guest_time: None,
            used: Used::default(),
        }
    }

    /// Returns where the call stands.
    pub fn state(&self) -> State {
        match &self.result {
            _ if self.cancelled => State::Cancelled,
            Err(error) if matches!(error.kind, ErrorKind::Limit | ErrorKind::Broken) => {
                State::Failed
            }
            Err(error) if error.kind == ErrorKind::UnknownOutcome => State::Unknown,
            _ if self.uncertain => State::Unknown,
            _ => State::Finished,
        }
    }

    /// Returns whether the caller should treat the content as a failure.
    pub fn is_error(&self) -> bool {
        self.result.as_ref().map_or(true, |reply| reply.is_error)
    }

    /// Returns the times of a call from the end of its serialized outcome.
    pub fn times(end: &[u8]) -> Times {
        let text = String::from_utf8_lossy(end);
        // These are the last fields.
        let fields = text.rsplit_once(r#","queued_ms":"#);
        let Some((before, fields)) =
            fields.and_then(|(before, fields)| Some((before, fields.strip_suffix('}')?)))
        else {
            return Times::default();
        };
        let duration = before.rsplit_once(r#","duration_ms":"#);
        let (queued, guest) = match fields.split_once(r#","guest_ms":"#) {
            Some((queued, guest)) => (queued, guest.parse().ok()),
            None => (fields, None),
        };
        Times {
            duration_ms: duration.and_then(|(_, duration)| duration.parse().ok()),
            queued_ms: queued.parse().ok(),
            guest_ms: guest,
        }
    }

    /// Returns about how many bytes the outcome holds.
    pub fn size(&self) -> usize {
        const OVERHEAD: usize = 512;
        const PROCESS_ID: usize = 64;
        let result = match &self.result {
            Ok(reply) => reply.content.iter().map(Content::size).sum(),
            Err(error) => error.message.len(),
        };
        result
            + self.id.as_str().len()
            + self.tool.len()
            + self.processes.len() * PROCESS_ID
            + OVERHEAD
    }
}

/// An outcome as its clients and the journal read it.
#[derive(Serialize, Deserialize, ToSchema)]
struct Fields<'a> {
    /// The id of the call.
    #[schema(examples("call_7Qx"))]
    id: Cow<'a, str>,
    /// The tool that was called.
    #[schema(examples("execute"))]
    tool: Cow<'a, str>,
    state: State,
    /// Whether the content reports a failure: of the tool, of its arguments, or of the host.
    is_error: bool,
    /// The content that the tool replied, in the order in which a model should read it; after an error, its message.
    content: Cow<'a, [Content]>,
    /// The structured result: the first part that is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value, required = false)]
    structured: Option<Cow<'a, RawValue>>,
    /// Why there is no reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ToolError, required = false)]
    error: Option<Cow<'a, ToolError>>,
    /// The ids of the processes that the call started, in order.
    processes: Cow<'a, [String]>,
    /// How long the call ran.
    duration_ms: u64,
    /// How long the call waited before it ran.
    queued_ms: u64,
    /// The CPU time of the tool itself, without its commands; absent for a call that did not reach its tool, and for one of an
    /// earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    guest_ms: Option<u64>,
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (reply, error) = match &self.result {
            Ok(reply) => (Some(reply), None),
            Err(error) => (None, Some(error)),
        };
        let text = error.map(|error| Content::Text {
            text: error.message.clone(),
        });
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let fields = Fields {
            id: self.id.as_str().into(),
            tool: self.tool.as_str().into(),
            state: self.state(),
            is_error: self.is_error(),
            content: reply.map_or(text.as_slice(), |reply| &reply.content).into(),
            structured: reply.and_then(Reply::structured).map(Cow::Borrowed),
            error: error.map(Cow::Borrowed),
            processes: self.processes.as_slice().into(),
            duration_ms: milliseconds(self.duration),
            queued_ms: milliseconds(self.queued),
            guest_ms: self.guest_time.map(milliseconds),
        };
        fields.serialize(serializer)
    }
}

/// Reads a serialized outcome, which serializes to the same bytes again.
impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Fields::deserialize(deserializer)?;
        let (content, is_error) = (fields.content.into_owned(), fields.is_error);
        let error = fields.error.map(Cow::into_owned);
        let says_so = |error: &ToolError| error.kind == ErrorKind::UnknownOutcome;
        let is_known = fields.state != State::Unknown;
        let id = CallId::recorded(&fields.id).map_err(D::Error::custom)?;
        let uncertain = !is_known && !error.as_ref().is_some_and(says_so);
        let result = error.map_or(Ok(Reply { content, is_error }), Err);
        Ok(Self {
            uncertain,
            cancelled: fields.state == State::Cancelled,
            processes: fields.processes.into_owned(),
            duration: Duration::from_millis(fields.duration_ms),
            queued: Duration::from_millis(fields.queued_ms),
            guest_time: fields.guest_ms.map(Duration::from_millis),
            ..Self::new(id, fields.tool, result)
        })
    }
}

impl PartialSchema for Outcome {
    fn schema() -> RefOr<Schema> {
        Fields::schema()
    }
}

impl ToSchema for Outcome {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Fields::schemas(schemas);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(result: Result<Reply, ToolError>) -> Outcome {
        Outcome {
            processes: vec!["p".into()],
            duration: Duration::from_micros(812_900),
            ..Outcome::new("call_1".parse().unwrap(), "execute", result)
        }
    }

    #[test]
    fn a_reply_serializes_as_documented() {
        let json = serde_json::value::RawValue::from_string(r#"{"success":true}"#.into()).unwrap();
        let reply = Reply {
            content: vec![Content::Json { json }],
            is_error: false,
        };
        assert_eq!(
            serde_json::to_value(outcome(Ok(reply))).unwrap(),
            json!({
                "id": "call_1", "tool": "execute", "state": "finished", "is_error": false,
                "content": [{ "type": "json", "json": { "success": true } }], "structured": { "success": true },
                "processes": ["p"], "duration_ms": 812, "queued_ms": 0,
            })
        );
    }

    #[test]
    fn an_error_says_so_in_its_content() {
        let error = ToolError::new(ErrorKind::InvalidArguments, "command is required");
        assert_eq!(
            serde_json::to_value(outcome(Err(error))).unwrap(),
            json!({
                "id": "call_1", "tool": "execute", "state": "finished", "is_error": true,
                "content": [{ "type": "text", "text": "command is required" }],
                "error": { "kind": "invalid_arguments", "message": "command is required" },
                "processes": ["p"], "duration_ms": 812, "queued_ms": 0,
            })
        );
        assert_eq!(
            outcome(Err(ToolError::new(ErrorKind::Limit, "x"))).state(),
            State::Failed
        );
        let cancelled = Outcome {
            cancelled: true,
            ..outcome(Err(ToolError::new(ErrorKind::Cancelled, "x")))
        };
        assert_eq!(cancelled.state(), State::Cancelled);
    }

    #[test]
    fn the_times_are_read_from_the_end() {
        let times = |duration_ms, queued_ms, guest_ms| Times {
            duration_ms,
            queued_ms,
            guest_ms,
        };
        let read = |outcome: &Outcome| {
            let text = serde_json::to_string(outcome).unwrap();
            Outcome::times(&text.as_bytes()[text.len() - 80..])
        };
        let json = RawValue::from_string(r#"{"queued_ms":7,"guest_ms":8}"#.into()).unwrap();
        let reply = Reply {
            content: vec![Content::Json { json }],
            is_error: false,
        };
        let mut outcome = outcome(Ok(reply));
        outcome.processes.clear();
        outcome.duration = Duration::from_millis(1_234);
        assert_eq!(read(&outcome), times(Some(1_234), Some(0), None));
        outcome.queued = Duration::from_millis(3);
        outcome.guest_time = Some(Duration::ZERO);
        assert_eq!(read(&outcome), times(Some(1_234), Some(3), Some(0)));
        outcome.queued = Duration::MAX;
        outcome.guest_time = Some(Duration::MAX);
        // The end that a list has is too short for three times of this length.
        assert_eq!(read(&outcome), times(None, Some(u64::MAX), Some(u64::MAX)));
        assert_eq!(Outcome::times("é".as_bytes()), Times::default());
        assert_eq!(Outcome::times(br#""queued_ms":x}"#), Times::default());
    }

    #[test]
    fn what_was_serialized_reads_back_to_the_same_bytes() {
        let json = r#"{"b":1.0,"a":[1e3,"\u00e4",null]}"#;
        let content = vec![
            Content::Text {
                text: "a\u{0}\n\u{1f600}".into(),
            },
            Content::Json {
                json: serde_json::value::RawValue::from_string(json.into()).unwrap(),
            },
            Content::Image {
                media_type: "image/png".into(),
                data: vec![0, 255, 7],
            },
            Content::Audio {
                media_type: "image/png".into(),
                data: vec![0, 255, 7],
            },
            Content::Document {
                uri: "file:///a".into(),
                media_type: None,
                data: Some(Vec::new()),
            },
            Content::Document {
                uri: "file:///b".into(),
                media_type: Some("text/plain".into()),
                data: None,
            },
        ];
        let results = [
            Ok(Reply {
                content,
                is_error: true,
            }),
            Ok(Reply {
                content: Vec::new(),
                is_error: false,
            }),
            Err(ToolError::new(ErrorKind::UnknownOutcome, "?")),
            Err(ToolError::new(ErrorKind::Limit, "too long")),
        ];
        for result in results {
            for cancelled in [false, true] {
                let outcome = Outcome {
                    cancelled,
                    guest_time: cancelled.then_some(Duration::from_micros(1_900)),
                    ..outcome(result.clone())
                };
                let text = serde_json::to_string(&outcome).unwrap();
                let read: Outcome = serde_json::from_str(&text).unwrap();
                assert_eq!(serde_json::to_string(&read).unwrap(), text);
                assert_eq!(read.state(), outcome.state());
            }
        }
    }
}
