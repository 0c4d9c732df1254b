//! How a call ended.

use std::time::Duration;

use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::metrics::Used;
use crate::tool::{Content, ErrorKind, Reply, ToolError};
use toolhost_state::id::CallId;

/// The one result of a call. It never changes, so every repeat of the call gets the same bytes.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The caller's name of the call.
    pub id: CallId,
    /// The tool that was called.
    pub tool: String,
    /// The reply of the tool, or why there is none.
    pub result: Result<Reply, ToolError>,
    /// Whether the call was cancelled; `result` is then what the tool had by that time.
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
}

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The call waits for a place.
    Queued,
    /// The call runs.
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
    /// Returns whether the call can still change.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }

    /// Returns the name of the state, as it is in replies.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

impl Outcome {
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

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let error_text;
        let (content, structured) = match &self.result {
            Ok(reply) => (reply.content.as_slice(), reply.structured()),
            Err(error) => {
                error_text = [Content::Text {
                    text: error.message.clone(),
                }];
                (error_text.as_slice(), None)
            }
        };
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let mut fields = serializer.serialize_struct("Outcome", 10)?;
        fields.serialize_field("id", self.id.as_str())?;
        fields.serialize_field("tool", &self.tool)?;
        fields.serialize_field("state", &self.state())?;
        fields.serialize_field("is_error", &self.is_error())?;
        fields.serialize_field("content", content)?;
        match structured {
            Some(structured) => fields.serialize_field("structured", structured)?,
            None => fields.skip_field("structured")?,
        }
        match &self.result {
            Ok(_) => fields.skip_field("error")?,
            Err(error) => fields.serialize_field("error", error)?,
        }
        fields.serialize_field("processes", &self.processes)?;
        fields.serialize_field("duration_ms", &milliseconds(self.duration))?;
        fields.serialize_field("queued_ms", &milliseconds(self.queued))?;
        fields.end()
    }
}

/// Reads a serialized outcome, which serializes to the same bytes again.
impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            id: String,
            tool: String,
            state: State,
            is_error: bool,
            content: Vec<Content>,
            error: Option<ToolError>,
            processes: Vec<String>,
            duration_ms: u64,
            queued_ms: u64,
        }
        let fields = Fields::deserialize(deserializer)?;
        let (content, is_error) = (fields.content, fields.is_error);
        let says_so = |error: &ToolError| error.kind == ErrorKind::UnknownOutcome;
        let is_known = fields.state != State::Unknown;
        Ok(Self {
            uncertain: !is_known && !fields.error.as_ref().is_some_and(says_so),
            id: fields.id.parse().map_err(D::Error::custom)?,
            tool: fields.tool,
            result: fields.error.map_or(Ok(Reply { content, is_error }), Err),
            cancelled: fields.state == State::Cancelled,
            processes: fields.processes,
            duration: Duration::from_millis(fields.duration_ms),
            queued: Duration::from_millis(fields.queued_ms),
            used: Default::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(result: Result<Reply, ToolError>) -> Outcome {
        Outcome {
            id: "call_1".parse().unwrap(),
            tool: "execute".into(),
            result,
            cancelled: false,
            uncertain: false,
            processes: vec!["p".into()],
            duration: Duration::from_micros(812_900),
            queued: Duration::ZERO,
            used: Default::default(),
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
    fn what_was_serialized_reads_back_to_the_same_bytes() {
        use crate::tool::Blob;
        let json = r#"{"b":1.0,"a":[1e3,"\u00e4",null]}"#;
        let blob = || Blob {
            media_type: "image/png".into(),
            data: vec![0, 255, 7],
        };
        let content = vec![
            Content::Text {
                text: "a\u{0}\n\u{1f600}".into(),
            },
            Content::Json {
                json: serde_json::value::RawValue::from_string(json.into()).unwrap(),
            },
            Content::Image(blob()),
            Content::Audio(blob()),
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
