//! Tool definitions in the dialects of model providers.

mod list;
mod portable;
mod strict;

use serde_json::Value;
use strum::VariantArray;
use utoipa::ToSchema;

use super::Definition;
pub use list::ToolList;

/// A dialect of tool definitions. As text, its name in kebab case.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    ToSchema,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[schema(as = ToolFormat, rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", parse_err_ty = UnknownFormat, parse_err_fn = UnknownFormat::new)]
pub enum Format {
    /// All properties of the tools.
    #[default]
    Json,
    /// The `tools` of OpenAI's chat completions.
    #[schema(rename = "openai")]
    #[strum(serialize = "openai")]
    OpenAi,
    /// The `tools` of OpenAI's responses.
    #[schema(rename = "openai-responses")]
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

impl UnknownFormat {
    fn new(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl Format {
    /// Every format, in the order in which they are documented.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the definitions in this format. Those for providers are arrays, to be passed on as they are. The schemas are in a form that
    /// the provider takes, and a tool without such a form is left out: see [`Format::misfit`].
    pub fn render(self, tools: &[Definition]) -> Value {
        serde_json::to_value(ToolList::new(self, tools, false)).unwrap_or_default()
    }

    /// Returns why a tool cannot be offered in this format, so that it is left out; `None` if it can.
    pub fn misfit(self, tool: &Definition) -> Option<String> {
        portable::misfit(self, tool)
    }

    /// Returns the formats in which a tool cannot be offered, together with the reason.
    pub fn misfits(tool: &Definition) -> Vec<(Vec<Self>, String)> {
        let mut misfits: Vec<(Vec<Self>, String)> = Vec::new();
        for &format in Self::ALL {
            let Some(reason) = format.misfit(tool) else {
                continue;
            };
            match misfits.iter_mut().find(|(_, known)| *known == reason) {
                Some((formats, _)) => formats.push(format),
                None => misfits.push((vec![format], reason)),
            }
        }
        misfits
    }

    /// Returns whether the provider has a strict mode, in which models write only arguments that fit.
    pub fn has_strict_mode(self) -> bool {
        matches!(self, Self::OpenAi | Self::OpenAiResponses)
    }

    /// Returns the definitions in this format for the strict mode of the provider, if it has one. A tool whose arguments that
    /// mode cannot describe is rendered without it.
    pub fn render_strict(self, tools: &[Definition]) -> Value {
        serde_json::to_value(ToolList::new(self, tools, true)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Hints;
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
