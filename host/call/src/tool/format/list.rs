//! Lists of tools, each in the shape of its format.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{Definition, Format, portable, strict};

/// The tools, in the format that was asked for: an object with `tools` (`json`, `mcp`), or an array (the others).
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ToolList<'a> {
    /// See [`Format::Json`].
    Json(JsonTools<'a>),
    /// See [`Format::OpenAi`].
    OpenAi(Vec<OpenAiTool<'a>>),
    /// See [`Format::OpenAiResponses`].
    OpenAiResponses(Vec<OpenAiResponsesTool<'a>>),
    /// See [`Format::Anthropic`].
    Anthropic(Vec<AnthropicTool<'a>>),
    /// See [`Format::Gemini`].
    Gemini(Vec<GeminiTool<'a>>),
    /// See [`Format::Bedrock`].
    Bedrock(Vec<BedrockTool<'a>>),
    /// See [`Format::Mcp`].
    Mcp(McpTools<'a>),
}

/// `format=json`.
#[derive(Debug, Serialize, ToSchema)]
pub struct JsonTools<'a> {
    #[schema(value_type = Vec<Definition>)]
    tools: &'a [Definition],
}

/// One of the `tools` of OpenAI's chat completions.
#[derive(Debug, Serialize, ToSchema)]
pub struct OpenAiTool<'a> {
    r#type: FunctionType,
    function: OpenAiFunction<'a>,
}

/// Always `function`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum FunctionType {
    Function,
}

/// A function of OpenAI's chat completions.
#[derive(Debug, Serialize, ToSchema)]
struct OpenAiFunction<'a> {
    name: &'a str,
    description: &'a str,
    #[schema(value_type = Object)]
    parameters: Value,
    /// With `strict=true`: whether the schema is one for strict mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    strict: Option<bool>,
}

/// One of the `tools` of OpenAI's responses.
#[derive(Debug, Serialize, ToSchema)]
pub struct OpenAiResponsesTool<'a> {
    r#type: FunctionType,
    name: &'a str,
    description: &'a str,
    #[schema(value_type = Object)]
    parameters: Value,
    /// Whether the schema is one for strict mode.
    strict: bool,
}

/// One of the `tools` of Anthropic's messages.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnthropicTool<'a> {
    name: &'a str,
    description: &'a str,
    #[schema(value_type = Object)]
    input_schema: Value,
}

/// One of the `tools` of Gemini's requests.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GeminiTool<'a> {
    function_declarations: Vec<GeminiFunction<'a>>,
}

/// A function of Gemini's requests.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct GeminiFunction<'a> {
    name: &'a str,
    description: &'a str,
    #[schema(value_type = Object)]
    parameters_json_schema: Value,
}

/// One of the `tools` in the `toolConfig` of Bedrock's Converse.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BedrockTool<'a> {
    tool_spec: BedrockSpec<'a>,
}

/// A tool of Bedrock's Converse.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct BedrockSpec<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: BedrockSchema,
}

/// The schema of a tool's arguments.
#[derive(Debug, Serialize, ToSchema)]
struct BedrockSchema {
    #[schema(value_type = Object)]
    json: Value,
}

/// The result of MCP's `tools/list`.
#[derive(Debug, Serialize, ToSchema)]
pub struct McpTools<'a> {
    tools: Vec<McpTool<'a>>,
}

/// A tool of MCP.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct McpTool<'a> {
    name: &'a str,
    description: &'a str,
    #[schema(value_type = Object)]
    input_schema: Value,
    annotations: McpAnnotations,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false)]
    output_schema: Option<Value>,
}

/// Promises of a tool about its effects, as MCP has them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct McpAnnotations {
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

impl<'a> ToolList<'a> {
    /// Lists tools in this format, with `strict` for the strict mode of its provider.
    pub(super) fn new(format: Format, tools: &'a [Definition], strict: bool) -> Self {
        let all = tools.iter().filter(|tool| format.misfit(tool).is_none());
        match format {
            Format::Json => Self::Json(JsonTools { tools }),
            Format::OpenAi => Self::OpenAi(all.map(|tool| openai(tool, strict)).collect()),
            Format::OpenAiResponses => {
                let each = all.map(|tool| openai_responses(tool, strict));
                Self::OpenAiResponses(each.collect())
            }
            Format::Anthropic => Self::Anthropic(all.map(anthropic).collect()),
            Format::Gemini => {
                let functions: Vec<_> = all.map(gemini).collect();
                // Gemini refuses a tool without functions.
                let some = (!functions.is_empty()).then_some(GeminiTool {
                    function_declarations: functions,
                });
                Self::Gemini(some.into_iter().collect())
            }
            Format::Bedrock => Self::Bedrock(all.map(bedrock).collect()),
            Format::Mcp => Self::Mcp(McpTools {
                tools: all.map(mcp).collect(),
            }),
        }
    }
}

fn openai(tool: &Definition, strict: bool) -> OpenAiTool<'_> {
    let (parameters, is_strict) = parameters(tool, strict);
    OpenAiTool {
        r#type: FunctionType::Function,
        function: OpenAiFunction {
            name: &tool.name,
            description: &tool.description,
            parameters,
            strict: strict.then_some(is_strict),
        },
    }
}

fn openai_responses(tool: &Definition, strict: bool) -> OpenAiResponsesTool<'_> {
    let (parameters, strict) = parameters(tool, strict);
    OpenAiResponsesTool {
        r#type: FunctionType::Function,
        name: &tool.name,
        description: &tool.description,
        parameters,
        strict,
    }
}

/// Returns the schema of a tool's arguments, and whether it is one for strict mode. Some schemas have no strict form.
fn parameters(tool: &Definition, strict: bool) -> (Value, bool) {
    let schema = portable::arguments(&tool.input_schema);
    match strict.then(|| strict::strict(&schema)).flatten() {
        Some(schema) => (schema, true),
        None => (schema, false),
    }
}

fn anthropic(tool: &Definition) -> AnthropicTool<'_> {
    AnthropicTool {
        name: &tool.name,
        description: &tool.description,
        input_schema: portable::arguments(&tool.input_schema),
    }
}

fn gemini(tool: &Definition) -> GeminiFunction<'_> {
    GeminiFunction {
        name: &tool.name,
        description: &tool.description,
        parameters_json_schema: portable::arguments(&tool.input_schema),
    }
}

fn bedrock(tool: &Definition) -> BedrockTool<'_> {
    BedrockTool {
        tool_spec: BedrockSpec {
            name: &tool.name,
            description: &tool.description,
            input_schema: BedrockSchema {
                json: portable::arguments(&tool.input_schema),
            },
        },
    }
}

fn mcp(tool: &Definition) -> McpTool<'_> {
    McpTool {
        name: &tool.name,
        description: &tool.description,
        // The clients of MCP know the provider, and the suite of MCP wants alternatives passed on.
        input_schema: portable::plain(&tool.input_schema),
        annotations: McpAnnotations {
            read_only_hint: tool.hints.read_only,
            destructive_hint: !tool.hints.non_destructive,
            idempotent_hint: tool.hints.idempotent,
            open_world_hint: !tool.hints.closed_world,
        },
        title: tool.title.as_deref(),
        output_schema: tool.output_schema.as_ref().and_then(portable::reply),
    }
}
