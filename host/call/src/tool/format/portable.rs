//! The part of JSON Schema that every provider takes, and the rewriting of schemas into it.
//!
//! A provider that does not take the schema of one tool refuses the whole request, and the official SDK of MCP for TypeScript the whole
//! list, and with it all tools. So the schema of each tool is rewritten where the meaning allows that. A rewritten schema may allow more
//! than the tool does: the tool's own error then names the problem. A tool whose schema has no such form is left out of the format.
//!
//! | rule | source |
//! |---|---|
//! | the outermost schema has `type: "object"`, and no `oneOf`, `anyOf`, `allOf`, `enum`, `const` or `not` | OpenAI: "schema must have type 'object' and not have …"; Anthropic: "`input_schema` does not support oneOf, allOf, or anyOf at the top level" |
//! | a list has `items` | OpenAI: "array schema missing items"; Gemini: "items: missing field" |
//! | the schema of a property is an object, not `true` or `false` | `AssertObjectSchema` in `@modelcontextprotocol/sdk`, `dict[str, dict]` in `mcp` for Python |
//! | the outermost names of arguments match `^[a-zA-Z0-9_.-]{1,64}$` | Anthropic, and Anthropic's models on Bedrock: "Property keys should match pattern" |
//! | a schema does not contain itself in a required property | Gemini, on `responseJsonSchema`: cyclic references only within properties that are not required |
//! | the outermost schema of a reply has `type: "object"` | `ToolSchema` in `@modelcontextprotocol/sdk` |

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::strict::allows;
use super::{Definition, Format};

/// The keywords whose values are schemas by name.
const OF_NAMES: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];

/// The keywords whose values are lists of schemas.
const OF_LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// The keywords whose value is a schema.
const OF_ONE: [&str; 7] = [
    "items",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
];

/// The keywords that choose between schemas. The outermost schema has none of them.
const CHOICES: [&str; 11] = [
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "enum",
    "const",
    "$ref",
    "dependentSchemas",
];

/// How deep the alternatives of an outermost schema may be nested.
const DEPTH: usize = 8;

/// The longest name of an argument, in bytes.
const LONGEST_NAME: usize = 64;

/// Returns the schema of a tool's arguments in its portable form.
pub(super) fn arguments(schema: &Value) -> Value {
    let schema = plain(schema);
    let Some(members) = schema.as_object() else {
        return json!({ "type": "object" });
    };
    let chosen = CHOICES.iter().any(|choice| members.contains_key(*choice));
    match chosen {
        true => flat(members, &schema, DEPTH).into(),
        false => schema,
    }
}

/// Returns the schema of a tool's structured reply for MCP; `None` if a reply may be something else than an object.
pub(super) fn reply(schema: &Value) -> Option<Value> {
    let mut schema = plain(schema);
    if !describes_object(&schema, &schema, DEPTH) {
        return None;
    }
    let members = schema.as_object_mut()?;
    members.insert("type".to_owned(), "object".into());
    Some(schema)
}

/// Returns why a tool cannot be offered in a format, if it cannot.
pub(super) fn misfit(format: Format, tool: &Definition) -> Option<String> {
    match format {
        Format::Anthropic | Format::Bedrock => {
            let schema = arguments(&tool.input_schema);
            let names = schema.get("properties")?.as_object()?.keys();
            let odd = names.into_iter().find(|name| !is_portable(name))?;
            Some(format!(
                "the name of its argument {odd:?} is refused there: it must match [a-zA-Z0-9_.-]{{1,{LONGEST_NAME}}}"
            ))
        }
        Format::Gemini => {
            let schema = arguments(&tool.input_schema);
            let must_nest = contains_itself(&schema, &schema, &mut Vec::new());
            must_nest.then(|| {
                "a required argument of its schema contains itself, which is refused there: make it optional"
                    .to_owned()
            })
        }
        Format::Json | Format::OpenAi | Format::OpenAiResponses | Format::Mcp => None,
    }
}

fn is_portable(name: &str) -> bool {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_usual)
}

/// Returns a schema in which every schema is an object, and every list has `items`, as the SDKs of MCP take it.
pub(super) fn plain(schema: &Value) -> Value {
    let members = match schema {
        Value::Bool(true) => return json!({}),
        Value::Bool(false) => return json!({ "not": {} }),
        Value::Object(members) => members,
        other => return other.clone(),
    };
    let mut plainer: Map<_, _> = members
        .iter()
        .map(|(name, value)| (name.clone(), plain_member(name, value)))
        .collect();
    if allows(members, "array") && !plainer.contains_key("items") {
        plainer.insert("items".to_owned(), json!({}));
    }
    plainer.into()
}

fn plain_member(name: &str, value: &Value) -> Value {
    match value {
        Value::Object(schemas) if OF_NAMES.contains(&name) => schemas
            .iter()
            .map(|(name, schema)| (name.clone(), plain(schema)))
            .collect(),
        Value::Array(schemas) if OF_LISTS.contains(&name) || name == "items" => {
            schemas.iter().map(plain).collect()
        }
        value if OF_ONE.contains(&name) => plain(value),
        // Here `true` and `false` are usual.
        Value::Object(_) if name == "additionalProperties" || name == "unevaluatedProperties" => {
            plain(value)
        }
        value => value.clone(),
    }
}

/// Returns the schema of an object without alternatives: it has the properties of all of them, and requires those that all require.
fn flat(schema: &Map<String, Value>, root: &Value, depth: usize) -> Map<String, Value> {
    let mut flattened = schema.clone();
    let mut object = Object::default();
    for choice in CHOICES {
        flattened.shift_remove(choice);
    }
    let variants = |name: &str| -> Vec<Map<String, Value>> {
        let listed = match (name, schema.get(name)) {
            ("$ref", Some(one)) => vec![json!({ "$ref": one })],
            (_, Some(Value::Array(all))) => all.clone(),
            _ => Vec::new(),
        };
        let resolved = listed
            .iter()
            .filter_map(|one| resolve(one, root)?.as_object());
        match depth.checked_sub(1) {
            Some(depth) => resolved.map(|one| flat(one, root, depth)).collect(),
            None => Vec::new(),
        }
    };
    object.add_all(std::iter::once(&flattened));
    for name in ["$ref", "allOf"] {
        for variant in variants(name) {
            object.add_all(std::iter::once(&variant));
        }
    }
    for name in ["anyOf", "oneOf"] {
        object.add_all(variants(name).iter());
    }
    flattened.insert("type".to_owned(), "object".into());
    if !object.properties.is_empty() {
        flattened.insert("properties".to_owned(), object.properties.into());
    }
    if !object.required.is_empty() {
        flattened.insert("required".to_owned(), object.required.into_iter().collect());
    }
    flattened
}

/// The properties of an object, gathered from several schemas.
#[derive(Default)]
struct Object {
    properties: Map<String, Value>,
    required: BTreeSet<String>,
}

impl Object {
    /// Adds the properties of alternatives, of which one holds, and the names that all of them require.
    fn add_all<'a>(&mut self, alternatives: impl Iterator<Item = &'a Map<String, Value>>) {
        let mut required: Option<BTreeSet<String>> = None;
        for one in alternatives {
            let properties = one.get("properties").and_then(Value::as_object);
            for (name, schema) in properties.into_iter().flatten() {
                let known = self.properties.shift_remove(name);
                let schema = match known {
                    Some(known) => either(known, schema.clone()),
                    None => schema.clone(),
                };
                self.properties.insert(name.clone(), schema);
            }
            let names = one.get("required").and_then(Value::as_array);
            let names = names.into_iter().flatten().filter_map(Value::as_str);
            let names: BTreeSet<_> = names.map(str::to_owned).collect();
            required = Some(match required {
                Some(required) => &required & &names,
                None => names,
            });
        }
        self.required.extend(required.unwrap_or_default());
    }
}

/// Returns a schema that allows what either of two allows.
fn either(one: Value, other: Value) -> Value {
    let values = |schema: &Value| match (schema.get("const"), schema.get("enum")) {
        (Some(only), None) => Some(vec![only.clone()]),
        (None, Some(Value::Array(all))) => Some(all.clone()),
        _ => None,
    };
    if one == other {
        return one;
    }
    // The property that tells alternatives apart.
    if let (Some(mut all), Some(more)) = (values(&one), values(&other)) {
        all.extend(
            more.into_iter()
                .filter(|value| !values(&one).is_some_and(|all| all.contains(value))),
        );
        let mut merged = one.as_object().cloned().unwrap_or_default();
        merged.shift_remove("const");
        merged.insert("enum".to_owned(), all.into());
        return merged.into();
    }
    let mut all = match one {
        Value::Object(mut only) if only.len() == 1 && only.contains_key("anyOf") => {
            only.shift_remove("anyOf").unwrap_or_default()
        }
        one => json!([one]),
    };
    if let Some(all) = all.as_array_mut().filter(|all| !all.contains(&other)) {
        all.push(other);
    }
    json!({ "anyOf": all })
}

/// Follows the references of a schema within its document. `None` if one leads nowhere, or in a circle.
fn resolve<'a>(mut schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    for _ in 0..DEPTH {
        match schema.get("$ref") {
            Some(reference) => schema = root.pointer(reference.as_str()?.strip_prefix('#')?)?,
            None => return Some(schema),
        }
    }
    None
}

/// Returns whether every value that a schema allows is an object, as far as its outermost keywords say so.
fn describes_object(schema: &Value, root: &Value, depth: usize) -> bool {
    let (Some(schema), Some(depth)) = (resolve(schema, root), depth.checked_sub(1)) else {
        return false;
    };
    if let Some(kind) = schema.get("type") {
        return kind == "object";
    }
    ["anyOf", "oneOf", "allOf"].iter().any(|name| {
        let all = schema.get(*name).and_then(Value::as_array);
        all.is_some_and(|all| {
            let mut objects = all.iter().map(|one| describes_object(one, root, depth));
            match *name {
                "allOf" => objects.any(|is_object| is_object),
                _ => !all.is_empty() && objects.all(|is_object| is_object),
            }
        })
    })
}

/// Returns whether a schema refers to itself by something that a value must have.
fn contains_itself<'a>(schema: &'a Value, root: &'a Value, above: &mut Vec<&'a str>) -> bool {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        if above.contains(&reference) {
            return true;
        }
        let target = reference
            .strip_prefix('#')
            .and_then(|path| root.pointer(path));
        above.push(reference);
        let found = target.is_some_and(|target| contains_itself(target, root, above));
        above.pop();
        return found;
    }
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    let required: Vec<_> = properties
        .into_iter()
        .flatten()
        .filter(|(name, _)| is_required(name))
        .map(|(_, schema)| schema)
        .collect();
    let lists = OF_LISTS
        .iter()
        .filter_map(|name| schema.get(*name)?.as_array());
    let ones = ["items", "additionalProperties"]
        .iter()
        .filter_map(|name| schema.get(*name));
    required
        .into_iter()
        .chain(lists.flatten())
        .chain(ones)
        .any(|part| contains_itself(part, root, above))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tool(input_schema: Value) -> Definition {
        Definition {
            name: "t".into(),
            title: None,
            description: String::new(),
            input_schema,
            output_schema: None,
            hints: super::super::super::Hints::default(),
            max_duration_ms: None,
            resources: Vec::new(),
            plugin: "p".into(),
        }
    }

    #[test]
    fn what_every_provider_takes_stays_as_it_is() {
        let schema = json!({
            "type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {
                "a": { "type": "array", "items": { "$ref": "#/$defs/one" } },
                "b": { "anyOf": [{ "type": "string" }, { "type": "null" }], "default": true },
            },
            "$defs": { "one": { "enum": [true, false] } },
        });
        assert_eq!(arguments(&schema), schema);
        for format in Format::ALL {
            assert_eq!(misfit(*format, &tool(schema.clone())), None);
        }
    }

    #[test]
    fn alternatives_become_one_object() {
        let schema = json!({
            "type": "object", "description": "Acts.", "required": ["id"],
            "properties": { "id": { "type": "string" } },
            "oneOf": [
                { "properties": { "action": { "const": "move" }, "to": { "type": "string" } }, "required": ["action", "to"] },
                { "$ref": "#/$defs/stop" },
            ],
            "not": { "required": ["nothing"] },
            "$defs": { "stop": {
                "type": "object", "properties": { "action": { "const": "stop" }, "to": { "type": "integer" } }, "required": ["action"],
            } },
        });
        let flat = arguments(&schema);
        assert_eq!(
            flat,
            json!({
                "type": "object", "description": "Acts.", "required": ["action", "id"],
                "properties": {
                    "id": { "type": "string" },
                    "action": { "enum": ["move", "stop"] },
                    "to": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
                },
                "$defs": schema["$defs"],
            })
        );
        let whole = json!({ "allOf": [{ "$ref": "#/$defs/a" }, { "required": ["b"] }], "$defs": {
        "a": { "type": "object", "properties": { "b": true }, "required": ["a"] },
    } });
        assert_eq!(arguments(&whole)["required"], json!(["a", "b"]));
        assert_eq!(arguments(&whole)["properties"], json!({ "b": {} }));
    }

    #[test]
    fn schemas_are_objects_and_lists_have_items() {
        let schema = json!({ "type": "object", "properties": {
        "any": true, "none": false,
        "list": { "type": ["array", "null"] },
        "pair": { "type": "array", "prefixItems": [true, { "type": "array" }] },
        "of": { "items": true, "additionalProperties": true, "const": true },
    } });
        let plainer = json!({ "type": "object", "properties": {
        "any": {}, "none": { "not": {} },
        "list": { "type": ["array", "null"], "items": {} },
        "pair": { "type": "array", "prefixItems": [{}, { "type": "array", "items": {} }], "items": {} },
        "of": { "items": {}, "additionalProperties": true, "const": true },
    } });
        assert_eq!(arguments(&schema), plainer);
    }

    #[test]
    fn tools_that_cannot_be_offered_are_told_where() {
        let misfits = |schema: Value| {
            let tool = tool(schema);
            let all = Format::ALL
                .iter()
                .filter(|format| misfit(**format, &tool).is_some());
            all.map(|format| format.name()).collect::<Vec<_>>()
        };
        let named =
            |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
        for name in ["$filter", "a b", "filter[id]", "größe", "", &"x".repeat(65)] {
            assert_eq!(misfits(named(name)), ["anthropic", "bedrock"], "{name}");
        }
        for name in ["a", "a.b-c_D9", &"x".repeat(64)] {
            assert_eq!(misfits(named(name)), [""; 0], "{name}");
        }
        // Only the outermost names are looked at.
        let nested = json!({ "type": "object", "properties": { "a": named("$x") } });
        assert_eq!(misfits(nested), [""; 0]);
        let tree = |required: Value| {
            json!({
                "type": "object", "properties": { "root": { "$ref": "#/$defs/tree" } }, "required": ["root"],
                "$defs": { "tree": {
                    "type": "object", "required": required,
                    "properties": { "next": { "type": "array", "items": { "$ref": "#/$defs/tree" } } },
                } },
            })
        };
        assert_eq!(misfits(tree(json!(["next"]))), ["gemini"]);
        assert_eq!(misfits(tree(json!([]))), [""; 0]);
    }

    #[test]
    fn replies_are_objects_or_have_no_schema() {
        let object = json!({ "type": "object", "properties": { "a": {} } });
        assert_eq!(reply(&object), Some(object.clone()));
        let union = json!({ "anyOf": [object, { "$ref": "#/$defs/b" }], "$defs": { "b": { "type": "object" } } });
        assert_eq!(reply(&union).unwrap()["type"], "object");
        assert_eq!(reply(&union).unwrap()["anyOf"], union["anyOf"]);
        for other in [
            json!({ "type": "array" }),
            json!({ "type": ["object", "null"] }),
            json!({ "anyOf": [object, { "type": "string" }] }),
            json!({}),
            json!({ "$ref": "#" }),
        ] {
            assert_eq!(reply(&other), None, "{other}");
        }
    }

    fn any_schema() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::Bool),
            Just(json!({ "type": "string" })),
            Just(json!({ "type": "array" })),
            Just(json!({ "$ref": "#/$defs/a" })),
            Just(json!({ "$ref": "#" })),
            Just(json!({ "const": "x" })),
        ];
        leaf.prop_recursive(4, 24, 3, |inner| {
            let list = prop::collection::vec(inner.clone(), 0..3);
            let named = prop::collection::btree_map("[ab]", inner.clone(), 0..3);
            prop_oneof![
                (prop::sample::select(&["anyOf", "oneOf", "allOf"][..]), list)
                    .prop_map(|(name, all)| json!({ name: all })),
                (named, any::<bool>()).prop_map(|(all, required)| {
                    let required: Vec<_> = all.keys().filter(|_| required).cloned().collect();
                    json!({ "type": "object", "properties": all, "required": required })
                }),
                inner.prop_map(|one| json!({ "items": one, "not": false })),
            ]
        })
    }

    proptest! {
        /// Whatever a schema is, its form is one that OpenAI, Anthropic and the SDKs of MCP take, and rewriting that changes nothing.
        #[test]
        fn every_schema_has_a_portable_form(schema in any_schema(), defined in any_schema()) {
            let mut schema = json!({ "type": "object", "allOf": [schema], "$defs": { "a": defined } });
            let form = arguments(&schema);
            prop_assert_eq!(&form["type"], "object");
            for choice in CHOICES {
                prop_assert_eq!(form.get(choice), None, "{}", choice);
            }
            for property in form["properties"].as_object().into_iter().flat_map(Map::values) {
                prop_assert!(property.is_object());
            }
            prop_assert_eq!(arguments(&form), form);
            schema["type"] = "object".into();
            for format in Format::ALL {
                _ = misfit(*format, &tool(schema.clone()));
            }
        }
    }
}
