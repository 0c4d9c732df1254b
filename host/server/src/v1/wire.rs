//! The types that the domain serializes, as `/openapi.json` describes them. They mirror the types of the domain, which know no
//! HTTP; the tests keep the two equal.

#![allow(
    dead_code,
    reason = "most of these types are there for their schema only"
)]

use serde_json::Value;
use utoipa::ToSchema;

/// How a call ended. It never changes: repeats of the call get the same bytes.
#[derive(ToSchema)]
pub(super) struct Outcome {
    /// The id of the call.
    #[schema(examples("call_7Qx"))]
    id: String,
    /// The tool that was called.
    #[schema(examples("execute"))]
    tool: String,
    state: EndedState,
    /// Whether the content reports a failure: of the tool, of its arguments, or of the host.
    is_error: bool,
    /// The content that the tool replied, in the order in which a model should read it; after an error, its message.
    content: Vec<Part>,
    /// The structured result: the first part that is JSON.
    #[schema(required = false)]
    structured: Value,
    /// Why there is no reply.
    #[schema(required = false)]
    error: ToolError,
    /// The ids of the processes that the call started, in order.
    processes: Vec<String>,
    /// How long the call ran.
    duration_ms: u64,
    /// How long the call waited before it ran.
    queued_ms: u64,
}

/// How a call ended: `finished`, the tool replied, or refused its arguments; `failed`, the host ended it; `cancelled`, the call
/// was cancelled; `unknown`, the host or the workspace stopped while it ran, so its result is unknown, or the state of
/// something that it started or wrote.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum EndedState {
    Finished,
    Failed,
    Cancelled,
    Unknown,
}

/// One part of a reply.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part {
    /// Text for the model.
    Text { text: String },
    /// The structured result.
    Json { json: Value },
    /// An image.
    Image {
        media_type: String,
        #[schema(content_encoding = "base64")]
        data: String,
    },
    /// A sound.
    Audio {
        media_type: String,
        #[schema(content_encoding = "base64")]
        data: String,
    },
    /// A document, or a pointer to one.
    Document {
        uri: String,
        #[schema(required = false)]
        media_type: String,
        /// Its bytes; absent, `uri` says where they are.
        #[schema(required = false, content_encoding = "base64")]
        data: String,
    },
}

/// Why a call gave no reply.
#[derive(ToSchema)]
pub(super) struct ToolError {
    kind: ToolErrorKind,
    /// What happened, and what to do about it: a text for the caller, often a model.
    message: String,
}

/// What kind of failure it is.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum ToolErrorKind {
    UnknownTool,
    InvalidArguments,
    Denied,
    Unavailable,
    Failed,
    Limit,
    Broken,
    Cancelled,
    UnknownOutcome,
}

/// A tool with all its properties.
#[derive(ToSchema)]
pub(super) struct Tool {
    name: String,
    /// A name for people.
    #[schema(required = false)]
    title: String,
    /// What the tool does and when to use it, for the model.
    description: String,
    /// JSON Schema (2020-12) of the arguments.
    #[schema(value_type = Object)]
    input_schema: Value,
    /// JSON Schema of the structured result.
    #[schema(required = false)]
    output_schema: Value,
    hints: Hints,
    /// The maximum duration of one call.
    #[schema(required = false)]
    max_duration_ms: u64,
    /// The documents that the tool returns by their address, when it is called with `{"uri": …}`.
    #[schema(required = false)]
    resources: Vec<Resource>,
    /// The plugin that offers the tool.
    plugin: String,
}

/// Documents with an address, or with addresses that fit a pattern.
#[derive(ToSchema)]
pub(super) struct Resource {
    /// The address, or a URI template (RFC 6570) of addresses, with variables as `{name}` and `{+name}`.
    uri: String,
    name: String,
    /// A name for people.
    #[schema(required = false)]
    title: String,
    #[schema(required = false)]
    description: String,
    #[schema(required = false)]
    media_type: String,
}

/// Promises of a tool about its effects. Effects that no promise excludes may happen.
#[derive(ToSchema)]
pub(super) struct Hints {
    /// The tool changes nothing outside of itself.
    read_only: bool,
    /// The tool destroys nothing.
    non_destructive: bool,
    /// Calling the tool again with the same arguments changes nothing more.
    idempotent: bool,
    /// The tool touches only a known, closed set of things.
    closed_world: bool,
}

/// `format=json`.
#[derive(ToSchema)]
pub(super) struct JsonTools {
    tools: Vec<Tool>,
}

/// One of the `tools` of OpenAI's chat completions.
#[derive(ToSchema)]
pub(super) struct OpenAiTool {
    r#type: FunctionType,
    function: OpenAiFunction,
}

/// Always `function`.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum FunctionType {
    Function,
}

/// A function of OpenAI's chat completions.
#[derive(ToSchema)]
pub(super) struct OpenAiFunction {
    name: String,
    description: String,
    #[schema(value_type = Object)]
    parameters: Value,
    /// With `strict=true`: whether the schema is one for strict mode.
    #[schema(required = false)]
    strict: bool,
}

/// One of the `tools` of OpenAI's responses.
#[derive(ToSchema)]
pub(super) struct OpenAiResponsesTool {
    r#type: FunctionType,
    name: String,
    description: String,
    #[schema(value_type = Object)]
    parameters: Value,
    /// Whether the schema is one for strict mode.
    strict: bool,
}

/// One of the `tools` of Anthropic's messages.
#[derive(ToSchema)]
pub(super) struct AnthropicTool {
    name: String,
    description: String,
    #[schema(value_type = Object)]
    input_schema: Value,
}

/// One of the `tools` of Gemini's requests.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(super) struct GeminiTool {
    function_declarations: Vec<GeminiFunction>,
}

/// A function of Gemini's requests.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(super) struct GeminiFunction {
    name: String,
    description: String,
    #[schema(value_type = Object)]
    parameters_json_schema: Value,
}

/// One of the `tools` in the `toolConfig` of Bedrock's Converse.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(super) struct BedrockTool {
    tool_spec: BedrockSpec,
}

/// A tool of Bedrock's Converse.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(super) struct BedrockSpec {
    name: String,
    description: String,
    input_schema: BedrockSchema,
}

/// The schema of a tool's arguments.
#[derive(ToSchema)]
pub(super) struct BedrockSchema {
    #[schema(value_type = Object)]
    json: Value,
}

/// The result of MCP's `tools/list`.
#[derive(ToSchema)]
pub(super) struct McpTools {
    tools: Vec<McpTool>,
}

/// A tool of MCP.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(super) struct McpTool {
    name: String,
    #[schema(required = false)]
    title: String,
    description: String,
    #[schema(value_type = Object)]
    input_schema: Value,
    #[schema(required = false, value_type = Object)]
    output_schema: Value,
    annotations: McpAnnotations,
}

/// Promises of a tool about its effects, as MCP has them.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(super) struct McpAnnotations {
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

/// The tools, in the format that was asked for: an object with `tools` (`json`, `mcp`), or an array (the others).
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum ToolList {
    Json(JsonTools),
    OpenAi(Vec<OpenAiTool>),
    OpenAiResponses(Vec<OpenAiResponsesTool>),
    Anthropic(Vec<AnthropicTool>),
    Gemini(Vec<GeminiTool>),
    Bedrock(Vec<BedrockTool>),
    Mcp(McpTools),
}

/// A dialect of tool definitions.
#[derive(ToSchema)]
#[schema(rename_all = "kebab-case")]
pub(super) enum ToolFormat {
    /// All properties of the tools.
    Json,
    #[schema(rename = "openai")]
    OpenAi,
    #[schema(rename = "openai-responses")]
    OpenAiResponses,
    Anthropic,
    Gemini,
    Bedrock,
    Mcp,
}

/// A plugin, and how it stands.
#[derive(ToSchema)]
pub(super) struct Plugin {
    name: String,
    state: PluginState,
    /// Whether it is part of the host, rather than of its configuration.
    embedded: bool,
    /// The names of its tools.
    tools: Vec<String>,
    /// The file of its component, if it came from one.
    #[schema(required = false)]
    component: String,
    /// Why it does not load, or why its newest version does not.
    #[schema(required = false)]
    error: String,
    /// How long it is still left alone, if it is quarantined.
    #[schema(required = false)]
    quarantined_ms: u64,
}

/// How a plugin stands: its tools are offered; it is left alone for a while, because it trapped too often; it is turned off;
/// it does not load.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum PluginState {
    Active,
    Quarantined,
    Disabled,
    Failed,
}

/// All plugins.
#[derive(ToSchema)]
pub(super) struct PluginList {
    plugins: Vec<Plugin>,
}

#[cfg(test)]
mod tests;
