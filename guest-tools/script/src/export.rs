//! The exports of the component: `run_script`, and a tool for each script of the library.
#![allow(
    unsafe_code,
    reason = "the exports of a component are unsafe functions; `export_tools!` writes the same for tools that are known when it is built"
)]
#![cfg_attr(
    not(target_family = "wasm"),
    allow(dead_code, reason = "only a component exports")
)]

use serde_json::{Map, Value};
use toolhost_sdk::__private::{Entry, call_tool, list_tools, wit};
use toolhost_sdk::{Call, Schema, ToolError, log};

use crate::library;
use crate::report::Report;
use crate::{MAX_DURATION, RunScript, reply};

const TOOLS: &[Entry] = toolhost_sdk::tools![RunScript];

struct Plugin;

impl wit::Guest for Plugin {
    fn list_tools() -> Result<Vec<wit::Tool>, String> {
        let mut tools = list_tools(TOOLS)?;
        let output_schema = Schema::of_reply::<Report>().value().to_string();
        for (name, script) in library::scripts()? {
            let entry = match library::checked(&name, &script) {
                Ok(entry) => entry,
                Err(problem) => {
                    log::warn(&format!(
                        "the script {name} of the library is left out: {problem}"
                    ));
                    continue;
                }
            };
            let hints = match entry.is_read_only {
                true => wit::Hints::READ_ONLY,
                false => wit::Hints::empty(),
            };
            tools.push(wit::Tool {
                name,
                title: None,
                description: entry.description,
                input_schema: entry.schema.to_string(),
                output_schema: Some(output_schema.clone()),
                hints,
                max_duration_ms: u64::try_from(MAX_DURATION.as_millis()).ok(),
                examples: Vec::new(),
                extra: Vec::new(),
            });
        }
        Ok(tools)
    }

    fn call_tool(call: wit::Call) -> Result<wit::Reply, wit::ToolError> {
        if TOOLS.iter().any(|tool| tool.name() == call.tool) {
            return call_tool(TOOLS, call);
        }
        let mut library = library::scripts().map_err(wit::ToolError::Failed)?;
        let Some(script) = library.remove(&call.tool) else {
            return Err(wit::ToolError::UnknownTool(call.tool));
        };
        let code = script.code().map_err(wit::ToolError::Failed)?;
        let entry = library::entry(code).map_err(wit::ToolError::Failed)?;
        let arguments: Map<String, Value> = serde_json::from_str(&call.arguments)
            .map_err(|error| wit::ToolError::InvalidArguments(error.to_string()))?;
        entry
            .check(&arguments)
            .map_err(wit::ToolError::InvalidArguments)?;
        let reply = reply(&Call::new(call.id), code, &Value::Object(arguments));
        reply
            .map(Into::into)
            .map_err(|error: ToolError| error.into())
    }
}

#[cfg(target_family = "wasm")]
toolhost_sdk::__private::bindings::export!(Plugin with_types_in toolhost_sdk::__private::bindings);
