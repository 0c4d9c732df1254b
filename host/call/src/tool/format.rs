//! Tool definitions in the dialects of model providers.

mod strict;

use serde_json::{Value, json};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::{Definition, Hints};

/// A dialect of tool definitions.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case", parse_err_ty = UnknownFormat, parse_err_fn = unknown_format)]
pub enum Format {
    /// Everything that Toolhost knows.
    #[default]
    Json,
    /// The `tools` of OpenAI's chat completions.
    #[strum(serialize = "openai")]
    OpenAi,
    /// The `tools` of OpenAI's responses.
    #[strum(serialize = "openai-responses")]
    OpenAiResponses,
    /// The `tools` of Anthropic's messages.
    Anthropic,
    /// The `tools` of Gemini's requests.
    Gemini,
    /// The `tools` in the `toolConfig` of Bedrock's Converse.
    Bedrock,
    /// The result of MCP's `tools/list`.
    Mcp,
}

/// A name that is no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no format {0:?}; the formats are json, openai, openai-responses, anthropic, gemini, bedrock and mcp"
)]
pub struct UnknownFormat(String);

impl Format {
    /// Every format, in the order in which they are documented.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the definitions in this format. Those for providers are arrays, to be passed on as they are.
    pub fn render(self, tools: &[Definition]) -> Value {
        let each =
            |render: fn(&Definition) -> Value| Value::Array(tools.iter().map(render).collect());
        match self {
            Self::Json => json!({ "tools": tools }),
            Self::OpenAi => each(|tool| openai(tool, &tool.input_schema, None)),
            Self::OpenAiResponses => each(|tool| openai_responses(tool, &tool.input_schema, false)),
            Self::Anthropic => each(
                |tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input_schema }),
            ),
            // A tool without functions is refused.
            Self::Gemini if tools.is_empty() => json!([]),
            Self::Gemini => json!([{ "functionDeclarations": each(
                |tool| json!({ "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.input_schema }),
            ) }]),
            Self::Bedrock => each(|tool| {
                let schema = json!({ "json": tool.input_schema });
                json!({ "toolSpec": { "name": tool.name, "description": tool.description, "inputSchema": schema } })
            }),
            Self::Mcp => json!({ "tools": each(mcp) }),
        }
    }

    /// Returns whether the provider has a strict mode, in which models write only arguments that fit.
    pub fn has_strict_mode(self) -> bool {
        matches!(self, Self::OpenAi | Self::OpenAiResponses)
    }

    /// Returns the definitions in this format for the strict mode of the provider, if it has one. A tool whose arguments that
    /// mode cannot describe is rendered without it.
    pub fn render_strict(self, tools: &[Definition]) -> Value {
        let render = match self {
            Self::OpenAi => |tool: &Definition| match strict::strict(&tool.input_schema) {
                Some(schema) => openai(tool, &schema, Some(true)),
                None => openai(tool, &tool.input_schema, Some(false)),
            },
            Self::OpenAiResponses => |tool: &Definition| match strict::strict(&tool.input_schema) {
                Some(schema) => openai_responses(tool, &schema, true),
                None => openai_responses(tool, &tool.input_schema, false),
            },
            other => return other.render(tools),
        };
        tools.iter().map(render).collect()
    }
}

fn openai(tool: &Definition, schema: &Value, strict: Option<bool>) -> Value {
    let mut function =
        json!({ "name": tool.name, "description": tool.description, "parameters": schema });
    if let (Some(strict), Some(fields)) = (strict, function.as_object_mut()) {
        fields.insert("strict".to_owned(), strict.into());
    }
    json!({ "type": "function", "function": function })
}

fn openai_responses(tool: &Definition, schema: &Value, strict: bool) -> Value {
    json!({
        "type": "function", "name": tool.name, "description": tool.description, "parameters": schema, "strict": strict
    })
}

fn mcp(tool: &Definition) -> Value {
    let Hints {
        read_only,
        non_destructive,
        idempotent,
        closed_world,
    } = tool.hints;
    let mut value = json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": {
            "readOnlyHint": read_only,
            "destructiveHint": !non_destructive,
            "idempotentHint": idempotent,
            "openWorldHint": !closed_world,
        },
    });
    if let Value::Object(fields) = &mut value {
        fields.extend(
            tool.title
                .as_ref()
                .map(|title| ("title".into(), Value::from(title.as_str()))),
        );
        fields.extend(
            tool.output_schema
                .as_ref()
                .map(|schema| ("outputSchema".into(), schema.clone())),
        );
    }
    value
}

fn unknown_format(text: &str) -> UnknownFormat {
    UnknownFormat(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> Definition {
        Definition {
            name: "weather".into(),
            title: Some("Weather".into()),
            description: "Tells the weather.".into(),
            input_schema: json!({ "type": "object" }),
            output_schema: Some(json!({ "type": "object" })),
            hints: Hints {
                read_only: true,
                non_destructive: true,
                ..Hints::default()
            },
            max_duration_ms: None,
            resources: Vec::new(),
            plugin: "sky".into(),
        }
    }

    #[test]
    fn every_format_reads_back_from_its_name() {
        for &format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert!("OpenAI".parse::<Format>().is_err());
    }

    #[test]
    fn each_provider_gets_its_shape() {
        let render = |format: Format| format.render(&[definition()]);
        let schema = json!({ "type": "object" });
        let function =
            json!({ "name": "weather", "description": "Tells the weather.", "parameters": schema });
        assert_eq!(
            render(Format::OpenAi),
            json!([{ "type": "function", "function": function }])
        );
        assert_eq!(render(Format::OpenAiResponses)[0]["parameters"], schema);
        assert_eq!(render(Format::OpenAiResponses)[0]["name"], "weather");
        let anthropic = json!({ "name": "weather", "description": "Tells the weather.", "input_schema": schema });
        assert_eq!(render(Format::Anthropic), json!([anthropic]));
        let annotations = json!({
            "readOnlyHint": true, "destructiveHint": false, "idempotentHint": false, "openWorldHint": true
        });
        let declaration = json!({ "name": "weather", "description": "Tells the weather.", "parametersJsonSchema": schema });
        assert_eq!(
            render(Format::Gemini),
            json!([{ "functionDeclarations": [declaration] }])
        );
        assert_eq!(Format::Gemini.render(&[]), json!([]));
        let spec = json!({ "name": "weather", "description": "Tells the weather.", "inputSchema": { "json": schema } });
        assert_eq!(render(Format::Bedrock), json!([{ "toolSpec": spec }]));
        assert_eq!(
            render(Format::Mcp),
            json!({ "tools": [{
                "name": "weather", "title": "Weather", "description": "Tells the weather.",
                "inputSchema": schema, "outputSchema": schema, "annotations": annotations,
            }] })
        );
        assert_eq!(render(Format::Json)["tools"][0]["plugin"], "sky");
    }

    #[test]
    fn strict_mode_is_for_the_tools_that_it_can_describe() {
        let closed = Definition {
            input_schema: json!({
                "type": "object", "properties": { "place": { "type": "string" } }, "additionalProperties": false
            }),
            ..definition()
        };
        let strict_schema = json!({
            "type": "object", "properties": { "place": { "type": ["string", "null"] } },
            "required": ["place"], "additionalProperties": false,
        });
        for &format in Format::ALL {
            let rendered = format.render_strict(&[closed.clone(), definition()]);
            if !format.has_strict_mode() {
                assert_eq!(rendered, format.render(&[closed.clone(), definition()]));
                continue;
            }
            let tools = match format {
                Format::OpenAi => json!([rendered[0]["function"], rendered[1]["function"]]),
                _ => rendered,
            };
            assert_eq!(
                (&tools[0]["strict"], &tools[0]["parameters"]),
                (&json!(true), &strict_schema)
            );
            assert_eq!(
                (&tools[1]["strict"], &tools[1]["parameters"]),
                (&json!(false), &definition().input_schema)
            );
        }
    }
}
