//! A tool whose input schema is written by hand, with keywords of JSON Schema 2020-12.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use toolhost_sdk::{Call, Hints, Reply, Tool, ToolError};

use crate::HARMLESS;

/// Replies its arguments.
#[derive(Debug)]
pub(crate) struct Schema202012;

/// What the tool takes.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<Address>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Address {
    #[serde(skip_serializing_if = "Option::is_none")]
    street: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    city: Option<String>,
}

/// By hand, because a derived schema has neither `$schema` nor `$defs`, which the suite wants to see kept.
impl JsonSchema for Arguments {
    fn schema_name() -> Cow<'static, str> {
        "Arguments".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "type": "object",
                    "properties": {
                        "street": { "type": "string" },
                        "city": { "type": "string" },
                    },
                },
            },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
            },
            "additionalProperties": false,
        })
    }
}

impl Tool for Schema202012 {
    const NAME: &'static str = "json_schema_2020_12_tool";
    const DESCRIPTION: &'static str = "Tool with JSON Schema 2020-12 features";
    const HINTS: Hints = HARMLESS;
    type Arguments = Arguments;

    fn call(_call: &Call, arguments: Arguments) -> Result<Reply, ToolError> {
        let arguments = serde_json::to_string(&arguments)
            .map_err(|error| ToolError::Failed(error.to_string()))?;
        Ok(Reply::text(format!("The tool was called with {arguments}")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolhost_sdk::testing;

    use super::*;

    #[test]
    fn the_schema_is_the_one_of_the_suite() {
        let schema = toolhost_sdk::Schema::of_arguments::<Arguments>();
        let string = json!({ "type": "string" });
        assert_eq!(
            *schema.value(),
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "$defs": {
                    "address": { "type": "object", "properties": { "street": string, "city": string } },
                },
                "properties": { "name": string, "address": { "$ref": "#/$defs/address" } },
                "additionalProperties": false,
            })
        );
    }

    #[test]
    fn replies_its_arguments() {
        let call = |arguments| testing::call::<Schema202012>(arguments).unwrap();
        let arguments = r#"{"name":"Ada","address":{"city":"London"}}"#;
        let expected = Reply::text(format!("The tool was called with {arguments}"));
        assert_eq!(call(arguments), expected);
        assert_eq!(call("{}"), Reply::text("The tool was called with {}"));
    }
}
