//! Tests that the serialized types of the domain fit their description, and that the description leaves out no property.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::{metrics, openapi, v1};
use toolhost_call::call;
use toolhost_call::tool::{self, Content, Definition, ErrorKind, Format, Reply};
use toolhost_core::{PluginInfo, PluginState};

/// The description, as `/openapi.json` has it.
fn description() -> Value {
    openapi::described(v1::routes().merge(metrics::routes()))
}

/// Asserts that each value fits the schema of this name, and that together they have all of its properties and no other.
fn check(name: &str, values: &[Value]) {
    let description = description();
    let schema = json!({
        "$ref": format!("#/components/schemas/{name}"), "components": description["components"],
    });
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut found = BTreeSet::new();
    for value in values {
        if let Err(error) = validator.validate(value) {
            panic!("{name}: {error}: {value}");
        }
        found.extend(value.as_object().unwrap().keys().cloned());
    }
    let properties = description["components"]["schemas"][name]["properties"].as_object();
    let described: BTreeSet<_> = properties.unwrap().keys().cloned().collect();
    assert_eq!(found, described, "{name}");
}

fn validate(name: &str, value: &Value) -> bool {
    let schema = json!({
        "$ref": format!("#/components/schemas/{name}"), "components": description()["components"],
    });
    jsonschema::is_valid(&schema, value)
}

fn outcome(result: Result<Reply, tool::ToolError>) -> call::Outcome {
    call::Outcome {
        processes: vec!["p".into()],
        duration: Duration::from_millis(1),
        guest_time: Some(Duration::from_millis(1)),
        ..call::Outcome::new("1".parse().unwrap(), "t", result)
    }
}

fn content() -> Vec<Content> {
    let document = |media_type: Option<&str>, data| Content::Document {
        uri: "file:///a".into(),
        media_type: media_type.map(str::to_owned),
        data,
    };
    let json = RawValue::from_string(r#"{"a":1}"#.into()).unwrap();
    vec![
        Content::Text { text: "a".into() },
        Content::Json { json },
        Content::Image {
            media_type: "image/png".into(),
            data: vec![1, 2, 3],
        },
        Content::Audio {
            media_type: "image/png".into(),
            data: vec![1, 2, 3],
        },
        document(None, None),
        document(Some("text/plain"), Some(vec![0])),
    ]
}

#[test]
fn outcomes_are_as_described() {
    let replied = outcome(Ok(Reply {
        content: content(),
        is_error: false,
    }));
    let mut values = vec![serde_json::to_value(&replied).unwrap()];
    let kinds = [
        ErrorKind::UnknownTool,
        ErrorKind::InvalidArguments,
        ErrorKind::Denied,
        ErrorKind::Unavailable,
        ErrorKind::Failed,
        ErrorKind::Limit,
        ErrorKind::Broken,
        ErrorKind::Cancelled,
        ErrorKind::UnknownOutcome,
    ];
    for kind in kinds {
        let failed = outcome(Err(tool::ToolError::new(kind, "x")));
        values.push(serde_json::to_value(&failed).unwrap());
    }
    let cancelled = call::Outcome {
        cancelled: true,
        ..outcome(Err(tool::ToolError::new(ErrorKind::Cancelled, "x")))
    };
    values.push(serde_json::to_value(&cancelled).unwrap());
    check("Outcome", &values);
    let errors: Vec<_> = values
        .iter()
        .filter_map(|value| value.get("error").cloned())
        .collect();
    check("ToolError", &errors);
    let states: BTreeSet<_> = values
        .iter()
        .map(|value| value["state"].to_string())
        .collect();
    assert_eq!(states.len(), 4, "each way to end: {states:?}");
}

#[test]
fn parts_are_told_apart() {
    for part in content() {
        let mut part = serde_json::to_value(part).unwrap();
        assert!(validate("Part", &part), "{part}");
        part["type"] = json!("other");
        assert!(!validate("Part", &part), "{part}");
    }
    assert!(!validate(
        "Part",
        &json!({ "type": "image", "media_type": "image/png" })
    ));
}

fn definitions() -> [Definition; 2] {
    let least = Definition {
        name: "t".into(),
        title: None,
        description: String::new(),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        hints: tool::Hints::default(),
        max_duration_ms: None,
        resources: Vec::new(),
        plugin: "p".into(),
    };
    let most = Definition {
        title: Some("T".into()),
        output_schema: Some(json!({ "type": "object" })),
        max_duration_ms: Some(1),
        resources: vec![tool::Resource {
            uri: tool::UriPattern::parse("docs:{page}").unwrap(),
            name: "page".into(),
            title: Some("A page".into()),
            description: Some("A page of the manual".into()),
            media_type: Some("text/markdown".into()),
        }],
        ..least.clone()
    };
    [least, most]
}

#[test]
fn tools_are_as_described() {
    let render = |format: Format| format.render(&definitions());
    let list = |value: Value| value.as_array().unwrap().clone();
    for &format in Format::ALL {
        assert!(validate("ToolList", &render(format)), "{format}");
        assert!(validate("ToolList", &format.render(&[])), "{format}");
    }
    assert!(!validate("ToolList", &json!([{ "name": "t" }])));
    let tools = list(render(Format::Json)["tools"].clone());
    check("Tool", &tools);
    check("Hints", &[tools[0]["hints"].clone()]);
    check("Resource", &list(tools[1]["resources"].clone()));
    check("OpenAiTool", &list(render(Format::OpenAi)));
    for format in [Format::OpenAi, Format::OpenAiResponses] {
        let strict = format.render_strict(&definitions());
        assert!(validate("ToolList", &strict), "{format}");
    }
    let strict = Format::OpenAi.render_strict(&definitions());
    check("OpenAiFunction", &[strict[0]["function"].clone()]);
    let gemini = list(render(Format::Gemini));
    check("GeminiTool", &gemini);
    check(
        "GeminiFunction",
        &list(gemini[0]["functionDeclarations"].clone()),
    );
    let bedrock = list(render(Format::Bedrock));
    check("BedrockTool", &bedrock);
    let spec = bedrock[0]["toolSpec"].clone();
    check("BedrockSchema", &[spec["inputSchema"].clone()]);
    check("BedrockSpec", &[spec]);
    check(
        "OpenAiResponsesTool",
        &list(render(Format::OpenAiResponses)),
    );
    check("AnthropicTool", &list(render(Format::Anthropic)));
    let tools = list(render(Format::Mcp)["tools"].clone());
    check("McpTool", &tools);
    check("McpAnnotations", &[tools[0]["annotations"].clone()]);
}

#[test]
fn formats_are_as_described() {
    let description = description();
    let parameters = description["paths"]["/v1/tools"]["get"]["parameters"].clone();
    let format = parameters.as_array().unwrap().iter();
    let format = format
        .clone()
        .find(|parameter| parameter["name"] == "format");
    let schema = format.unwrap()["schema"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for &format in Format::ALL {
        assert!(
            validator.is_valid(&json!(format.to_string())),
            "{format}: {schema}"
        );
    }
    assert!(!validator.is_valid(&json!("nope")), "{schema}");
}

#[test]
fn plugins_are_as_described() {
    let states = [
        PluginState::Active,
        PluginState::Quarantined,
        PluginState::Disabled,
        PluginState::Loading,
        PluginState::Failed,
    ];
    let plugins = states.map(|state| {
        let quarantined = state == PluginState::Quarantined;
        let plugin = PluginInfo {
            name: "p".into(),
            state,
            embedded: false,
            tools: vec!["t".into()],
            component: quarantined.then(|| "/p.wasm".into()),
            sha256: quarantined.then(|| "00".into()),
            version: quarantined.then(|| "1.0.0".into()),
            imports: vec!["i".into()],
            grants: vec!["reads".into()],
            limits: [("memory".to_owned(), 1)].into(),
            calls: 1,
            traps: 1,
            latency: quarantined.then_some(toolhost_core::Latency {
                median_ms: 1.5,
                p99_ms: 2.0,
            }),
            error: (state == PluginState::Failed).then(|| "x".into()),
            quarantined_ms: quarantined.then_some(1),
        };
        serde_json::to_value(plugin).unwrap()
    });
    check("Plugin", &plugins);
}
