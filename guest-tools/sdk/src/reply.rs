//! The reply of a tool: an ordered list of parts.

use std::cell::Cell;

use serde::{Serialize, Serializer};

use crate::ToolError;
use crate::bindings::exports::toolhost::plugin::tools as wit;
use crate::parameters::text;

/// One part of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text for the model.
    Text(String),
    /// The text of one JSON value: the structured result.
    Json(String),
    /// An image.
    Image {
        /// Its media type, for example `image/png`.
        media_type: String,
        /// Its bytes.
        data: Vec<u8>,
    },
    /// A sound.
    Audio {
        /// Its media type, for example `audio/wav`.
        media_type: String,
        /// Its bytes.
        data: Vec<u8>,
    },
    /// A document, or a pointer to one.
    Document {
        /// Its address.
        uri: String,
        /// Its media type; `None` if it is not known.
        media_type: Option<String>,
        /// Its bytes; `None` if the reply only points to it.
        data: Option<Vec<u8>>,
    },
}

/// The reply of a tool. Its parts stay in the order in which they were added.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    content: Vec<Content>,
    is_error: bool,
    extra: Vec<(String, String)>,
}

impl Reply {
    /// Makes a reply without any part.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a reply of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().and(Content::Text(text.into()))
    }

    /// Makes a reply of one JSON value.
    ///
    /// # Errors
    ///
    /// The value cannot be written as JSON: a map has keys that are no strings, or its `Serialize` fails.
    pub fn json(value: &impl Serialize) -> Result<Self, ToolError> {
        Self::new().and_json(value)
    }

    /// Makes a reply of one JSON object with these properties, in this order: `Reply::object([("words", 3)])`.
    ///
    /// # Errors
    ///
    /// As in [`json`](Reply::json).
    pub fn object<V: Serialize>(
        properties: impl IntoIterator<Item = (&'static str, V)>,
    ) -> Result<Self, ToolError> {
        Self::json(&Object(Cell::new(Some(properties))))
    }

    /// Makes a reply of one text that reports a failure which the model should read.
    pub fn error(text: impl Into<String>) -> Self {
        Self::text(text).as_error()
    }

    /// Adds a part.
    #[must_use]
    pub fn and(mut self, part: Content) -> Self {
        self.content.push(part);
        self
    }

    /// Adds a JSON value.
    ///
    /// # Errors
    ///
    /// As in [`json`](Reply::json).
    pub fn and_json(self, value: &impl Serialize) -> Result<Self, ToolError> {
        // The text of serde_json's own error would bring those of all errors of reading and of files: 10 KB.
        let text = serde_json::to_string(value).map_err(|_| {
            let reason = "a map has keys that are no strings, or a type refuses to be written";
            ToolError::Failed(text(&["the reply cannot be written as JSON: ", reason]))
        })?;
        Ok(self.and(Content::Json(text)))
    }

    /// Marks the reply as the report of a failure.
    #[must_use]
    pub fn as_error(mut self) -> Self {
        self.is_error = true;
        self
    }

    /// Adds a pair of a name and a JSON text for hosts that know the name.
    #[must_use]
    pub fn with_extra(mut self, name: impl Into<String>, json: impl Into<String>) -> Self {
        self.extra.push((name.into(), json.into()));
        self
    }

    /// Returns the parts.
    #[must_use]
    pub fn content(&self) -> &[Content] {
        &self.content
    }

    /// Returns whether the reply reports a failure.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error
    }
}

/// An object of properties that are written once.
struct Object<P>(Cell<Option<P>>);

impl<V: Serialize, P: IntoIterator<Item = (&'static str, V)>> Serialize for Object<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.take().into_iter().flatten())
    }
}

impl From<Content> for wit::Content {
    fn from(part: Content) -> Self {
        match part {
            Content::Text(text) => Self::Text(text),
            Content::Json(text) => Self::Json(text),
            Content::Image { media_type, data } => Self::Image(wit::Blob { media_type, data }),
            Content::Audio { media_type, data } => Self::Audio(wit::Blob { media_type, data }),
            Content::Document {
                uri,
                media_type,
                data,
            } => Self::Document(wit::Document {
                uri,
                media_type,
                data,
            }),
        }
    }
}

impl From<Reply> for wit::Reply {
    fn from(reply: Reply) -> Self {
        let content = reply.content.into_iter().map(Into::into).collect();
        Self {
            content,
            is_error: reply.is_error,
            extra: reply.extra,
        }
    }
}
