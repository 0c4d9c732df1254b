//! JSON Schemas (2020-12) from Rust types, in the plain form that model providers accept.

use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value};

/// The JSON Schema of a Rust type.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema(Value);

impl Schema {
    /// Derives the schema of a tool's arguments. It allows no other properties than those it names.
    #[must_use]
    pub fn of_arguments<T: JsonSchema>() -> Self {
        let mut schema = generate::<T>(Contract::Deserialize);
        if let Value::Object(object) = &mut schema {
            // A tool has a description of its own. Models call tools without arguments with an empty object.
            object.remove("description");
            object.entry("type").or_insert_with(|| "object".into());
            object
                .entry("properties")
                .or_insert_with(|| Map::new().into());
            object.insert("additionalProperties".into(), false.into());
        }
        Self(schema)
    }

    /// Returns the names of a tool's arguments.
    pub(crate) fn names<T: JsonSchema>() -> Vec<String> {
        let schema = Self::of_arguments::<T>().0;
        let properties = schema.get("properties").and_then(Value::as_object);
        properties.map_or_else(Vec::new, |names| names.keys().cloned().collect())
    }

    /// Derives the schema of the JSON part that a tool replies.
    #[must_use]
    pub fn of_reply<T: JsonSchema>() -> Self {
        Self(generate::<T>(Contract::Serialize))
    }

    /// Returns the schema as JSON.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.0
    }
}

fn generate<T: JsonSchema>(contract: Contract) -> Value {
    let is_of_arguments = matches!(contract, Contract::Deserialize);
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.contract = contract;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if is_of_arguments {
        bound(&mut schema);
    }
    tidy(&mut schema);
    schema
}

/// Writes down the bounds of numbers that a Rust type has and its schema does not.
fn bound(schema: &mut Value) {
    let format = schema.get("format").and_then(Value::as_str);
    let bounds: [(&str, i64); 2] = match format {
        Some("int32") => [("minimum", i32::MIN.into()), ("maximum", i32::MAX.into())],
        Some("uint32") => [("minimum", 0), ("maximum", u32::MAX.into())],
        _ => {
            match schema {
                Value::Object(parts) => parts.values_mut().for_each(bound),
                Value::Array(parts) => parts.iter_mut().for_each(bound),
                _ => {}
            }
            return;
        }
    };
    if let Value::Object(object) = schema {
        for (name, value) in bounds {
            object.entry(name).or_insert_with(|| value.into());
        }
    }
}

/// Removes keywords that say nothing to a model, and those that some providers refuse.
fn tidy(schema: &mut Value) {
    let Value::Object(object) = schema else {
        return;
    };
    object.remove("title");
    // Names such as `uint32` are no formats of JSON Schema.
    let rust_number = |format: &str| {
        ["int", "uint", "double", "float"]
            .iter()
            .any(|name| format.starts_with(name))
    };
    if object
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(rust_number)
    {
        object.remove("format");
    }
    if let Some(Value::String(description)) = object.get_mut("description") {
        *description = unwrap_lines(description);
    }
    let required = object.get("required").cloned().unwrap_or_default();
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        for (name, property) in properties {
            // An optional property may be left out, so the schema need not say that null is the same.
            if !required
                .as_array()
                .is_some_and(|names| names.iter().any(|required| required == name))
            {
                without_null(property);
            }
            tidy(property);
        }
    }
    for key in ["items", "additionalProperties"] {
        object.get_mut(key).map(tidy);
    }
    for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        if let Some(Value::Array(schemas)) = object.get_mut(key) {
            schemas.iter_mut().for_each(tidy);
        }
    }
}

/// Turns "this or null" into "this".
fn without_null(schema: &mut Value) {
    let Value::Object(object) = schema else {
        return;
    };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(variants)) = object.get_mut("anyOf") {
        variants.retain(|variant| variant.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = variants.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
}

/// Joins the lines of a paragraph: a doc comment is wrapped for the source, not for the model.
fn unwrap_lines(text: &str) -> String {
    text.split("\n\n")
        .map(|paragraph| paragraph.replace('\n', " "))
        .collect::<Vec<_>>()
        .join("\n\n")
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    /// This is about the struct, and not for the model.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Arguments {
        /// Where to look. It is
        /// required.
        #[serde(default, alias = "dir")]
        #[schemars(!default)]
        path: String,
        /// How deep.
        depth: Option<u32>,
        how: Option<How>,
    }

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum How {
        BreadthFirst,
        DepthFirst,
    }

    #[test]
    fn describes_arguments_plainly() {
        assert_eq!(
            *Schema::of_arguments::<Arguments>().value(),
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Where to look. It is required."},
                    "depth": {"type": "integer", "minimum": 0, "maximum": u32::MAX, "description": "How deep."},
                    "how": {"type": "string", "enum": ["breadth_first", "depth_first"]},
                },
                "required": ["path"],
                "additionalProperties": false,
            })
        );
    }

    #[test]
    fn describes_no_arguments_as_an_empty_object() {
        #[derive(Deserialize, JsonSchema)]
        struct Nothing {}

        let expected = json!({"type": "object", "properties": {}, "additionalProperties": false});
        assert_eq!(*Schema::of_arguments::<Nothing>().value(), expected);
    }

    #[test]
    fn describes_replies_with_what_is_always_there() {
        #[derive(Serialize, JsonSchema)]
        struct Found {
            count: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            how: Option<How>,
        }

        let schema = Schema::of_reply::<Found>();
        assert_eq!(schema.value()["required"], json!(["count"]));
        assert_eq!(schema.value()["properties"]["how"]["type"], json!("string"));
    }
}
