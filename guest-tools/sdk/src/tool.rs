//! The trait of tools, which a plugin author implements for one type per tool.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::exports::toolhost::plugin::tools as wit;
use crate::{Reply, Schema, files, processes};

/// A tool: a named function that a language model can call.
///
/// It is implemented by a type that needs no value, and offered by [`export_tools!`](crate::export_tools). A function with
/// [`#[tool]`](crate::tool) is shorter; the trait is for tools that it cannot describe, such as those with an output schema beside several parts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "write `#[tool]` above the function, or implement `Tool` for the type"
)]
pub trait Tool {
    /// The name: `[a-z][a-z0-9]*(_[a-z0-9]+)*`, at most 31 bytes. Anything else fails to compile.
    const NAME: &'static str;

    /// The purpose of the tool and when to use it, written for the model.
    const DESCRIPTION: &'static str;

    /// A name for people, in lists; `None`: the name itself.
    const TITLE: Option<&'static str> = None;

    /// The promises of the tool about its effects.
    const HINTS: Hints = Hints::NONE;

    /// The longest that one call may take; `None`: the host's default. The operator's limit wins.
    const MAX_DURATION: Option<Duration> = None;

    /// Calls that show the tool at work.
    const EXAMPLES: &'static [Example] = &[];

    /// Documents that the tool returns when it is called with `{"uri": …}`, which clients of MCP read as resources. A tool
    /// with some must promise to be read-only, and replies with a [`Content::Document`](crate::Content::Document).
    const RESOURCES: &'static [Resource] = &[];

    /// The arguments: a struct whose doc comments describe the arguments to the model.
    ///
    /// Put `#[serde(deny_unknown_fields)]` on it, so that an argument that does not exist is refused by name. To answer
    /// with a text of your own when an argument is missing, mark its field `#[serde(default)]` and
    /// `#[schemars(!default)]`: the schema still requires it, and [`call`](Tool::call) sees that it is empty.
    ///
    /// Models write `1.0` for an integer, null or an empty text for an optional argument, and numbers in quotes. The schema decides:
    /// a value that it refuses, and that can mean only one thing, is read as that.
    type Arguments: DeserializeOwned + JsonSchema;

    /// Returns the schema of the JSON part of a reply; `None` if the tool promises no such part.
    fn output_schema() -> Option<Schema> {
        None
    }

    /// Runs one call.
    ///
    /// # Errors
    ///
    /// A [`ToolError`] says that the call gave no reply. A failure that the tool itself reports, such as a command that
    /// exits with 1, is a [`Reply`].
    fn call(call: &Call, arguments: Self::Arguments) -> Result<Reply, ToolError>;
}

/// One call of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// The caller's name of this call. A repeat of the call carries the same one.
    pub id: String,
}

impl Call {
    /// Names a call.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into() }
    }

    /// Returns whether a plugin made this call, such as a script, rather than a client. No client can choose an id with `/`.
    pub fn is_nested(&self) -> bool {
        self.id.contains('/')
    }
}

/// Promises about a tool. With none of them the worst is assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// The tool changes nothing outside of itself.
    pub read_only: bool,
    /// The tool may change things, but it never destroys any.
    pub non_destructive: bool,
    /// Calling the tool again with the same arguments changes nothing more.
    pub idempotent: bool,
    /// The tool touches only a known, closed set of things, not the world at large.
    pub closed_world: bool,
}

impl Hints {
    /// No promise, to be extended: `Hints { read_only: true, ..Hints::NONE }`.
    pub const NONE: Self = Self {
        read_only: false,
        non_destructive: false,
        idempotent: false,
        closed_world: false,
    };
}

impl From<Hints> for wit::Hints {
    fn from(hints: Hints) -> Self {
        let mut flags = Self::empty();
        flags.set(Self::READ_ONLY, hints.read_only);
        flags.set(Self::NON_DESTRUCTIVE, hints.non_destructive);
        flags.set(Self::IDEMPOTENT, hints.idempotent);
        flags.set(Self::CLOSED_WORLD, hints.closed_world);
        flags
    }
}

/// A call that shows a tool at work. A host's check of a plugin may run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// The point of the example, in a few words.
    pub name: &'static str,
    /// The text of one JSON object that fits the tool's arguments.
    pub arguments: &'static str,
    /// Whether the reply is expected to report an error.
    pub is_error: bool,
}

/// Documents with an address, or with addresses that fit a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Resource {
    /// The address, or a URI template (RFC 6570) of addresses, at most 1024 bytes: `{name}` stands for one character or more
    /// and for none of `/`, `?`, `&` and `#`; `{+name}` for one or more of any.
    pub uri: &'static str,
    /// A name for programs, at most 128 bytes.
    pub name: &'static str,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'static str>,
    /// The content, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'static str>,
    /// The media type, if it is the same for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<&'static str>,
}

impl Resource {
    /// Names documents by an address or a pattern, to be extended:
    /// `Resource { media_type: Some("text/markdown"), ..Resource::new("docs:{page}", "page") }`.
    pub const fn new(uri: &'static str, name: &'static str) -> Self {
        Self {
            uri,
            name,
            title: None,
            description: None,
            media_type: None,
        }
    }
}

/// Why a call gave no reply. The text is shown to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolError {
    /// The plugin offers no tool of this name.
    UnknownTool(String),
    /// The arguments are not what the tool takes.
    InvalidArguments(String),
    /// The tool needs something that it was not granted.
    Denied(String),
    /// Something that the tool needs cannot be reached now; trying again later may help.
    Unavailable(String),
    /// The tool failed in another way.
    Failed(String),
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTool(name) => write!(f, "there is no tool \"{name}\""),
            Self::InvalidArguments(text)
            | Self::Denied(text)
            | Self::Unavailable(text)
            | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ToolError {}

impl From<processes::Error> for ToolError {
    fn from(error: processes::Error) -> Self {
        let text = error.to_string();
        match error {
            processes::Error::Denied(_) => Self::Denied(text),
            processes::Error::Unavailable(_) => Self::Unavailable(text),
            _ => Self::Failed(text),
        }
    }
}

impl From<files::Error> for ToolError {
    fn from(error: files::Error) -> Self {
        let text = error.to_string();
        match error {
            files::Error::Denied(_) => Self::Denied(text),
            files::Error::Unavailable(_) => Self::Unavailable(text),
            _ => Self::Failed(text),
        }
    }
}

#[cfg(feature = "http")]
impl From<crate::http::Error> for ToolError {
    fn from(error: crate::http::Error) -> Self {
        let text = error.to_string();
        match error {
            crate::http::Error::Denied(_) => Self::Denied(text),
            crate::http::Error::Unavailable(_) => Self::Unavailable(text),
            _ => Self::Failed(text),
        }
    }
}

impl From<ToolError> for wit::ToolError {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::UnknownTool(name) => Self::UnknownTool(name),
            ToolError::InvalidArguments(text) => Self::InvalidArguments(text),
            ToolError::Denied(text) => Self::Denied(text),
            ToolError::Unavailable(text) => Self::Unavailable(text),
            ToolError::Failed(text) => Self::Failed(text),
        }
    }
}
