//! From the domain's types to the contract's.

use super::wit;
use crate::capability::session::{End, StartError};
use toolhost_call::call::{CallError, Outcome, Refused, State};
use toolhost_call::tool::{Content, Definition, ErrorKind, ToolError};

impl From<Definition> for wit::Tool {
    fn from(tool: Definition) -> Self {
        Self {
            name: tool.name,
            description: tool.description,
            input_schema: tool.input_schema.to_string(),
            output_schema: tool.output_schema.map(|schema| schema.to_string()),
            read_only: tool.hints.read_only,
        }
    }
}

impl From<StartError> for wit::Error {
    fn from(error: StartError) -> Self {
        let text = error.to_string();
        match error {
            StartError::Limit(..) => Self::Limit(text),
            StartError::Damaged(_) => Self::UnknownOutcome(text),
            StartError::Unreadable(_) => Self::Failed(text),
        }
    }
}

/// Returns the reply of a call that has ended, or why there is none.
pub(super) fn reply(end: End) -> Result<wit::Reply, wit::Error> {
    let outcome = end.map_err(refused)?;
    if outcome.state() == State::Cancelled {
        let text = match &outcome.result {
            Ok(_) => "the call was cancelled".to_owned(),
            Err(error) => error.message.clone(),
        };
        return Err(wit::Error::Cancelled(text));
    }
    match &outcome.result {
        Ok(_) if outcome.uncertain => {
            let text = "the workspace stopped answering, so it is not known whether the call had all its effects";
            Err(wit::Error::UnknownOutcome(text.into()))
        }
        Ok(reply) => Ok(wit::Reply {
            content: reply.content.iter().map(content).collect(),
            is_error: reply.is_error,
            processes: outcome.processes.clone(),
        }),
        Err(error) => Err(failed(&outcome, error)),
    }
}

fn failed(outcome: &Outcome, error: &ToolError) -> wit::Error {
    let text = error.message.clone();
    match error.kind {
        ErrorKind::UnknownTool => wit::Error::UnknownTool(text),
        ErrorKind::InvalidArguments => wit::Error::InvalidArguments(text),
        ErrorKind::Denied => wit::Error::Denied(text),
        ErrorKind::Unavailable => wit::Error::Unavailable(text),
        ErrorKind::Limit => wit::Error::Limit(text),
        ErrorKind::Broken => wit::Error::Broken(text),
        ErrorKind::Cancelled => wit::Error::Cancelled(text),
        ErrorKind::UnknownOutcome => wit::Error::UnknownOutcome(format!("{}: {text}", outcome.id)),
        ErrorKind::Failed => wit::Error::Failed(text),
    }
}

fn refused(error: CallError) -> wit::Error {
    let text = error.to_string();
    match error {
        CallError::UnknownTool { .. } => wit::Error::UnknownTool(text),
        CallError::Workspace(_) => wit::Error::Unavailable(text),
        CallError::Refused(refused) => match refused {
            Refused::Cancelled => wit::Error::Cancelled("the call was cancelled".into()),
            Refused::Gone => wit::Error::Gone(text),
            Refused::Busy(_) => wit::Error::Busy(text),
            Refused::Quarantined { .. }
            | Refused::Loading(_)
            | Refused::Workspace(_)
            | Refused::Closed => wit::Error::Unavailable(text),
            Refused::InputMismatch | Refused::Unrecorded(_) | Refused::Unreadable(_) => {
                wit::Error::Failed(text)
            }
        },
    }
}

fn content(part: &Content) -> wit::Content {
    let blob = |media_type: &String, data: &Vec<u8>| wit::Blob {
        media_type: media_type.clone(),
        data: data.clone(),
    };
    match part {
        Content::Text { text } => wit::Content::Text(text.clone()),
        Content::Json { json } => wit::Content::Json(json.get().to_owned()),
        Content::Image { media_type, data } => wit::Content::Image(blob(media_type, data)),
        Content::Audio { media_type, data } => wit::Content::Audio(blob(media_type, data)),
        Content::Document {
            uri,
            media_type,
            data,
        } => wit::Content::Document(wit::Document {
            uri: uri.clone(),
            media_type: media_type.clone(),
            data: data.clone(),
        }),
    }
}
