//! Tools that the setting `tools` describes, as a plugin for tests of many tools. Each replies with its name and its arguments.
#![allow(
    unsafe_code,
    reason = "the exports of a component are unsafe functions; `export_tools!` writes the same for tools that are known when it is built"
)]
#![cfg_attr(
    not(target_family = "wasm"),
    allow(dead_code, reason = "only a component exports")
)]

use serde::Deserialize;
use serde_json::{Value, json};
use toolhost_sdk::__private::wit;
use toolhost_sdk::{Reply, settings};

/// A tool as the setting describes it.
#[derive(Debug, Deserialize)]
struct Described {
    name: String,
    description: String,
    input_schema: Value,
}

/// Returns the tools of the setting.
fn described() -> Result<Vec<Described>, String> {
    let tools = settings::get("tools").ok_or("the setting `tools` is missing")?;
    serde_json::from_str(&tools)
        .map_err(|error| format!("the setting `tools` is no list of tools: {error}"))
}

struct Plugin;

impl wit::Guest for Plugin {
    fn list_tools() -> Result<Vec<wit::Tool>, String> {
        let tools = described()?.into_iter().map(|tool| wit::Tool {
            name: tool.name,
            title: None,
            description: tool.description,
            input_schema: tool.input_schema.to_string(),
            output_schema: None,
            hints: wit::Hints::empty(),
            max_duration_ms: None,
            examples: Vec::new(),
            extra: Vec::new(),
        });
        Ok(tools.collect())
    }

    fn call_tool(call: wit::Call) -> Result<wit::Reply, wit::ToolError> {
        let arguments: Value = serde_json::from_str(&call.arguments)
            .map_err(|error| wit::ToolError::InvalidArguments(error.to_string()))?;
        let reply = Reply::json(&json!({ "tool": call.tool, "arguments": arguments }));
        reply.map(Into::into).map_err(Into::into)
    }
}

#[cfg(target_family = "wasm")]
toolhost_sdk::__private::bindings::export!(Plugin with_types_in toolhost_sdk::__private::bindings);
