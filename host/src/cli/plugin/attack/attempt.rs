//! One attempt: a call, or the loading of a component, and how it ended.

use serde::{Serialize, Serializer};
use toolhost_call::tool::{Content, ErrorKind, Reply, ToolError};
use toolhost_plugin::{Cause, Plugin, shown_up_to};

use super::arguments;
use super::set::{Case, End};

/// How much of a message is shown, in bytes.
const MAX_MESSAGE: usize = 300;

/// A call, and the name of what is hostile about it.
#[derive(Clone, Debug)]
pub(super) struct Called {
    /// The name of the tool; empty for the loading.
    pub(super) tool: String,
    pub(super) what: String,
    pub(super) arguments: String,
}

impl Called {
    /// Names the loading of a component.
    pub(super) fn loading() -> Self {
        Self {
            tool: String::new(),
            what: "loading".into(),
            arguments: String::new(),
        }
    }

    /// Returns the attack of a guest of the set: one call of its only tool.
    pub(super) fn of_the_set() -> Vec<Self> {
        vec![Self {
            tool: "t".into(),
            what: "attack".into(),
            arguments: "{}".into(),
        }]
    }

    /// Returns a call of each tool of a plugin with each of its examples, and with hostile arguments.
    pub(super) fn of(plugin: &Plugin) -> Vec<Self> {
        let mut calls = Vec::new();
        for tool in plugin.tools() {
            let examples = plugin.examples().iter();
            let examples = examples.filter(|example| example.tool == tool.name);
            let mut valid = examples.clone().filter(|example| !example.is_error);
            let valid = valid.find_map(|example| serde_json::from_str(&example.arguments).ok());
            let examples = examples.map(|example| {
                let what = format!("example: {}", shown_up_to(&example.name, 60));
                (what, example.arguments.clone())
            });
            let hostile = arguments::hostile(&tool.input_schema, valid.as_ref());
            calls.extend(examples.chain(hostile).map(|(what, arguments)| Self {
                tool: tool.name.clone(),
                what,
                arguments,
            }));
        }
        calls
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Ended {
    pub(super) ends: End,
    /// The names of the limits that were reached, also of those that only left something out, as `log` does.
    pub(super) limits: Vec<String>,
    /// The reply or the error as a model reads it; for a component that does not load, the message for the operator.
    #[serde(serialize_with = "cut")]
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cause: Option<Cause>,
}

fn cut<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown_up_to(text, MAX_MESSAGE))
}

impl Ended {
    /// Returns the end of a call that the host refused because of its arguments: no guest ran.
    pub(super) fn refused_by_the_host(message: String) -> Self {
        Self {
            ends: End::Error,
            limits: Vec::new(),
            message,
            cause: None,
        }
    }

    /// Returns the end of a call.
    pub(super) fn of(
        result: Result<Reply, ToolError>,
        cause: Option<Cause>,
        limits: Vec<String>,
    ) -> Self {
        let (ends, message) = match result {
            Ok(reply) => {
                let ends = if reply.is_error {
                    End::Error
                } else {
                    End::Reply
                };
                (ends, text(&reply))
            }
            Err(error) => (kind(error.kind, &limits), error.message),
        };
        Self {
            ends,
            limits,
            message,
            cause,
        }
    }

    /// Returns whether a guest of the set ended as it must.
    pub(super) fn is_as_expected(&self, case: &Case) -> bool {
        let limit = case.limit.as_ref();
        let text = case.text.as_deref().unwrap_or_default();
        self.ends == case.ends
            && limit.is_none_or(|limit| self.limits.contains(limit))
            && self.message.contains(text)
    }

    /// Returns the limits and the message in one line.
    pub(super) fn line(&self) -> String {
        let message = match &self.cause {
            Some(cause) => cause.text.clone(),
            None => self.message.clone(),
        };
        let message = shown_up_to(&message, MAX_MESSAGE);
        match self.limits.is_empty() {
            true => message,
            false => format!("[{}] {message}", self.limits.join(", ")),
        }
    }
}

/// One attempt.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) called: Called,
    pub(super) ended: Ended,
}

fn kind(kind: ErrorKind, limits: &[String]) -> End {
    match kind {
        ErrorKind::Limit => End::Limit,
        // The memory of all calls together is a limit as well.
        ErrorKind::Unavailable if !limits.is_empty() => End::Limit,
        ErrorKind::Broken | ErrorKind::Cancelled | ErrorKind::UnknownOutcome => End::Broken,
        ErrorKind::UnknownTool
        | ErrorKind::InvalidArguments
        | ErrorKind::Denied
        | ErrorKind::Unavailable
        | ErrorKind::Failed => End::Error,
    }
}

fn text(reply: &Reply) -> String {
    let texts = reply.content.iter().filter_map(|part| match part {
        Content::Text { text } => Some(text.as_str()),
        Content::Json { json } => Some(json.get()),
        _ => None,
    });
    texts.collect()
}
