//! Tool definitions in the dialects of model providers.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use super::{Definition, Hints};

/// A dialect of tool definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Everything that Toolhost knows.
    #[default]
    Json,
    /// The `tools` of OpenAI's chat completions.
    OpenAi,
    /// The `tools` of OpenAI's responses.
    OpenAiResponses,
    /// The `tools` of Anthropic's messages.
    Anthropic,
    /// The result of MCP's `tools/list`.
    Mcp,
}

/// A name that is no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no format {0:?}; the formats are json, openai, openai-responses, anthropic and mcp"
)]
pub struct UnknownFormat(String);

impl Format {
    /// Every format, in the order in which they are documented.
    pub const ALL: [Self; 5] = [
        Self::Json,
        Self::OpenAi,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Mcp,
    ];

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Mcp => "mcp",
        }
    }

    /// Returns the definitions in this format. The provider formats are arrays, to be passed on as they are.
    pub fn render(self, tools: &[Definition]) -> Value {
        let each =
            |render: fn(&Definition) -> Value| Value::Array(tools.iter().map(render).collect());
        match self {
            Self::Json => json!({ "tools": tools }),
            Self::OpenAi => each(|tool| {
                let (name, description, parameters) =
                    (&tool.name, &tool.description, &tool.input_schema);
                let function =
                    json!({ "name": name, "description": description, "parameters": parameters });
                json!({ "type": "function", "function": function })
            }),
            Self::OpenAiResponses => each(|tool| {
                let (name, description, parameters) =
                    (&tool.name, &tool.description, &tool.input_schema);
                // Strict mode wants every property to be required, which optional arguments are not.
                json!({ "type": "function", "name": name, "description": description, "parameters": parameters, "strict": false })
            }),
            Self::Anthropic => each(
                |tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input_schema }),
            ),
            Self::Mcp => json!({ "tools": each(mcp) }),
        }
    }
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

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| UnknownFormat(text.to_owned()))
    }
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
        for format in Format::ALL {
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
        assert_eq!(
            render(Format::Mcp),
            json!({ "tools": [{
                "name": "weather", "title": "Weather", "description": "Tells the weather.",
                "inputSchema": schema, "outputSchema": schema, "annotations": annotations,
            }] })
        );
        assert_eq!(render(Format::Json)["tools"][0]["plugin"], "sky");
    }
}
