//! Tools and replies as callers see them, whatever their origin. This module knows no WIT and no HTTP.

mod format;
mod read;
mod resource;
mod typescript;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

pub use format::{Format, ToolList, UnknownFormat};
pub use resource::{InvalidPattern, Resource, UriPattern};

/// A tool with all its properties.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Tool)]
pub struct Definition {
    /// The name by which the tool is called.
    pub name: String,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub title: Option<String>,
    /// A description of the tool and of its uses, for the model.
    pub description: String,
    /// JSON Schema (2020-12) of the arguments.
    #[schema(value_type = Object)]
    pub input_schema: Value,
    /// JSON Schema of the structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value, required = false)]
    pub output_schema: Option<Value>,
    /// Promises about its effects.
    pub hints: Hints,
    /// The maximum duration of one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub max_duration_ms: Option<u64>,
    /// The documents that the tool returns by their address, when it is called with `{"uri": …}`. Such a tool is read-only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    /// The plugin that offers the tool.
    pub plugin: String,
}

/// Promises of a tool about its effects. Effects that no promise excludes may happen, as in MCP's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Hints {
    /// The tool changes nothing outside of itself.
    pub read_only: bool,
    /// The tool destroys nothing.
    pub non_destructive: bool,
    /// Calling the tool again with the same arguments changes nothing more.
    pub idempotent: bool,
    /// The tool touches only a known, closed set of things.
    pub closed_world: bool,
}

/// The reply of a tool.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The parts, in the order in which a model should read them.
    pub content: Vec<Content>,
    /// Whether the tool ran and reports a failure.
    pub is_error: bool,
}

/// One part of a reply.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Part)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Text for the model.
    Text {
        /// The text.
        text: String,
    },
    /// The structured result.
    Json {
        /// One JSON value, as the tool wrote it.
        #[schema(value_type = Value)]
        json: Box<RawValue>,
    },
    /// An image.
    Image {
        /// The media type.
        media_type: String,
        /// The bytes, in base64 when serialized.
        #[serde(serialize_with = "as_base64")]
        #[schema(value_type = String, content_encoding = "base64")]
        data: Vec<u8>,
    },
    /// A sound.
    Audio {
        /// The media type.
        media_type: String,
        /// The bytes, in base64 when serialized.
        #[serde(serialize_with = "as_base64")]
        #[schema(value_type = String, content_encoding = "base64")]
        data: Vec<u8>,
    },
    /// A document, or a pointer to one.
    Document {
        /// The address of the document.
        uri: String,
        /// The media type of the document.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        media_type: Option<String>,
        /// The bytes of the document, in base64 when serialized. Without them, `uri` says where they are.
        #[serde(
            skip_serializing_if = "Option::is_none",
            serialize_with = "as_optional_base64"
        )]
        #[schema(value_type = String, required = false, content_encoding = "base64")]
        data: Option<Vec<u8>>,
    },
}

/// The error of a call without a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The problem and its remedy: a text for the caller, often a model.
    pub message: String,
}

/// The kinds of failure of a call.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[schema(as = ToolErrorKind)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ErrorKind {
    /// There is no tool of this name.
    UnknownTool,
    /// The tool does not accept the arguments.
    InvalidArguments,
    /// The tool needs something that it was not granted.
    Denied,
    /// Something that the tool needs cannot be reached now.
    Unavailable,
    /// The tool failed in another way.
    Failed,
    /// The call reached a limit of the host, and was ended.
    Limit,
    /// The plugin broke: it trapped, or its reply makes no sense.
    Broken,
    /// The call was cancelled.
    Cancelled,
    /// The outcome of the call is not known: the host, or the workspace, stopped while it ran.
    UnknownOutcome,
}

impl Content {
    /// Returns about how many bytes the part holds.
    pub fn size(&self) -> usize {
        const OVERHEAD: usize = 64;
        let bytes = match self {
            Self::Text { text } => text.len(),
            Self::Json { json } => json.get().len(),
            Self::Image { media_type, data } | Self::Audio { media_type, data } => {
                media_type.len() + data.len()
            }
            Self::Document {
                uri,
                media_type,
                data,
            } => {
                uri.len()
                    + media_type.as_ref().map_or(0, String::len)
                    + data.as_ref().map_or(0, Vec::len)
            }
        };
        bytes + OVERHEAD
    }
}

impl ToolError {
    /// Makes an error of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

impl Reply {
    /// Returns the structured result: the first part that is JSON.
    pub fn structured(&self) -> Option<&RawValue> {
        self.content.iter().find_map(|part| match part {
            Content::Json { json } => Some(json.as_ref()),
            _ => None,
        })
    }
}

fn as_base64<S: Serializer>(data: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&BASE64.encode(data))
}

fn as_optional_base64<S: Serializer>(
    data: &Option<Vec<u8>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match data {
        Some(data) => as_base64(data, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_serialize_with_their_type() {
        let part = |content: Content| serde_json::to_string(&content).unwrap();
        assert_eq!(
            part(Content::Text { text: "a".into() }),
            r#"{"type":"text","text":"a"}"#
        );
        let json = RawValue::from_string(r#"{"b":1,"a":2}"#.into()).unwrap();
        assert_eq!(
            part(Content::Json { json }),
            r#"{"type":"json","json":{"b":1,"a":2}}"#
        );
        let image = Content::Image {
            media_type: "image/png".into(),
            data: vec![1, 2, 3],
        };
        assert_eq!(
            part(image),
            r#"{"type":"image","media_type":"image/png","data":"AQID"}"#
        );
        let document = Content::Document {
            uri: "file:///a".into(),
            media_type: None,
            data: Some(vec![0]),
        };
        assert_eq!(
            part(document),
            r#"{"type":"document","uri":"file:///a","data":"AA=="}"#
        );
    }
}
