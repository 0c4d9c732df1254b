//! The tools that MCP's conformance suite calls, as a plugin for tests.
//!
//! Names, texts and schemas are those that the suite asks for (`@modelcontextprotocol/conformance`, its server scenarios). Every
//! kind of content that the contract has is in one of the replies. The tools of the suite that ask the client for something
//! (sampling, elicitation) or send it log lines are not here: a plugin has no way to.

mod content;
mod echo;
mod panic;
mod progress;
mod resources;
mod schema;

use schemars::JsonSchema;
use serde::Deserialize;
use toolhost_sdk::{Hints, export_tools};

use content::{
    AudioContent, EmbeddedResource, ErrorHandling, ImageContent, MultipleContentTypes, SimpleText,
};
use progress::ToolWithProgress;
use resources::ReadResource;
use schema::Schema202012;

export_tools!(
    SimpleText,
    ImageContent,
    AudioContent,
    EmbeddedResource,
    MultipleContentTypes,
    ErrorHandling,
    ToolWithProgress,
    Schema202012,
    ReadResource,
    echo::echo,
    panic::panic,
);

/// What most of the tools take.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// The tools touch nothing at all.
const HARMLESS: Hints = Hints {
    read_only: true,
    non_destructive: true,
    idempotent: true,
    closed_world: true,
};
