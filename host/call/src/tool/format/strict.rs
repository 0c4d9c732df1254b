//! Schemas for OpenAI's strict mode, in which a model can write nothing that the schema refuses.
//!
//! The mode takes a part of JSON Schema only. Every property is required, so an optional one allows null instead; tools made
//! with the SDK take null as absent. Keywords that the mode does not know are dropped. So the schema allows more than the
//! tool does, and the tool's error names the problem.

use serde_json::{Map, Value, json};

/// The keywords that stay as they are.
const KEPT: [&str; 13] = [
    "$ref",
    "type",
    "description",
    "enum",
    "const",
    "pattern",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
];

/// The values of `format` that the mode knows.
const FORMATS: [&str; 9] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

/// Returns the schema for strict mode. `None`: the mode cannot express this schema, such as that of an object whose property
/// names are not known.
pub(super) fn strict(schema: &Value) -> Option<Value> {
    let schema = schema.as_object()?;
    let mut strict = Map::new();
    for (name, value) in schema {
        match name.as_str() {
            name if KEPT.contains(&name) => _ = strict.insert(name.to_owned(), value.clone()),
            "format" if FORMATS.iter().any(|known| value == known) => {
                strict.insert("format".to_owned(), value.clone());
            }
            "$defs" => {
                let definitions = value.as_object()?.iter();
                let definitions =
                    definitions.map(|(name, one)| Some((name.clone(), self::strict(one)?)));
                strict.insert(
                    "$defs".to_owned(),
                    definitions.collect::<Option<Map<_, _>>>()?.into(),
                );
            }
            "anyOf" | "oneOf" => {
                let variants = value.as_array()?.iter().map(self::strict);
                let variants: Vec<_> = variants.collect::<Option<_>>()?;
                // Both at once would have to be combined.
                if strict.insert("anyOf".to_owned(), variants.into()).is_some() {
                    return None;
                }
            }
            "items" => _ = strict.insert("items".to_owned(), self::strict(value)?),
            "allOf" | "patternProperties" | "prefixItems" | "not" | "if" => return None,
            _ => {}
        }
    }
    if allows(schema, "object") {
        strict.extend(properties(schema)?);
    } else if allows(schema, "array") && !schema.contains_key("items") {
        return None;
    }
    let says_what_it_takes = ["type", "enum", "const", "anyOf", "$ref"];
    says_what_it_takes
        .iter()
        .any(|name| strict.contains_key(*name))
        .then_some(strict.into())
}

/// Returns whether a type is one that a schema names.
pub(super) fn allows(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(|name| name == kind),
        Some(name) => name == kind,
        None => false,
    }
}

/// Returns the properties of an object, each of them required, and no others.
fn properties(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    // An object with names that the schema does not list.
    let is_closed = match schema.get("additionalProperties") {
        None => schema.contains_key("properties"),
        Some(others) => *others == false,
    };
    if !is_closed {
        return None;
    }
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &String| required.is_some_and(|names| names.iter().any(|one| one == name));
    let known = schema.get("properties").and_then(Value::as_object);
    let known = known.into_iter().flatten().map(|(name, property)| {
        let property = strict(property)?;
        Some((
            name.clone(),
            if is_required(name) {
                property
            } else {
                nullable(property)
            },
        ))
    });
    let known: Map<_, _> = known.collect::<Option<_>>()?;
    let names: Vec<_> = known.keys().cloned().collect();
    let fields = json!({ "properties": known, "required": names, "additionalProperties": false });
    fields.as_object().cloned()
}

/// Allows null besides the values of a schema.
fn nullable(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else {
        return schema;
    };
    if let Some(variants) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        let null = json!({ "type": "null" });
        if !variants.contains(&null) {
            variants.push(null);
        }
        return schema.into();
    }
    if schema.contains_key("$ref") {
        let description = schema.shift_remove("description");
        let mut either = json!({ "anyOf": [schema, { "type": "null" }] });
        if let (Some(text), Some(fields)) = (description, either.as_object_mut()) {
            fields.insert("description".to_owned(), text);
        }
        return either;
    }
    if let Some(only) = schema.shift_remove("const") {
        schema.insert("enum".to_owned(), json!([only]));
    }
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut)
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(names)) if !names.iter().any(|name| name == "null") => {
            names.push("null".into())
        }
        Some(name @ Value::String(_)) if name != "null" => *name = json!([name.take(), "null"]),
        _ => {}
    }
    schema.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(
        clippy::needless_pass_by_value,
        reason = "its arguments are made for it"
    )]
    fn object(properties: Value, required: Value) -> Value {
        json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false
        })
    }

    #[test]
    fn every_property_is_required_and_an_optional_one_may_be_null() {
        let schema = json!({
            "type": "object", "title": "A", "additionalProperties": false, "required": ["path"],
            "properties": {
                "path": { "type": "string", "minLength": 1, "description": "Where." },
                "line": { "type": "integer", "minimum": 1, "default": 3, "format": "int64" },
                "order": { "type": "string", "enum": ["up", "down"] },
                "kind": { "const": "x" },
                "either": { "oneOf": [{ "type": "string", "format": "date" }, { "type": "boolean" }] },
                "edits": { "type": "array", "minItems": 1, "items": {
                    "type": "object", "properties": { "all": { "type": "boolean" } },
                } },
                "tree": { "$ref": "#/$defs/tree", "description": "A tree." },
            },
            "$defs": { "tree": { "type": "object", "properties": {
                "next": { "$ref": "#/$defs/tree" },
            } } },
        });
        let none = json!({ "type": "null" });
        let tree = json!({ "$ref": "#/$defs/tree" });
        let mut expected = object(
            json!({
                "path": { "type": "string", "description": "Where." },
                "line": { "type": ["integer", "null"], "minimum": 1 },
                "order": { "type": ["string", "null"], "enum": ["up", "down", null] },
                "kind": { "enum": ["x", null] },
                "either": { "anyOf": [{ "type": "string", "format": "date" }, { "type": "boolean" }, none] },
                "edits": { "type": ["array", "null"], "minItems": 1, "items": object(
                    json!({ "all": { "type": ["boolean", "null"] } }), json!(["all"]),
                ) },
                "tree": { "anyOf": [tree, none], "description": "A tree." },
            }),
            json!(["path", "line", "order", "kind", "either", "edits", "tree"]),
        );
        expected["$defs"] = json!({ "tree": object(json!({ "next": { "anyOf": [tree, none] } }), json!(["next"])) });
        assert_eq!(strict(&schema).unwrap(), expected);
    }

    #[test]
    fn what_strict_mode_cannot_say_is_none() {
        let closed = |property: Value| object(json!({ "a": property }), json!([]));
        for property in [
            json!({ "type": "object" }),
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            json!({ "type": "object", "properties": {}, "additionalProperties": true }),
            json!({ "type": "array" }),
            json!({ "allOf": [{ "type": "string" }] }),
            json!({ "description": "Anything." }),
            json!(true),
            json!({ "anyOf": [{ "type": "string" }, true] }),
        ] {
            assert_eq!(strict(&closed(property.clone())), None, "{property}");
        }
        let none = object(json!({}), json!([]));
        assert_eq!(
            strict(&json!({ "type": "object", "properties": {} })).unwrap(),
            none
        );
    }
}
