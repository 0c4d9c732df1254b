//! Makes arguments plain: a value that models write in several ways becomes the one that the schema asks for.
//!
//! Nothing is guessed. A value changes only where it cannot mean anything else, because the schema refuses it as it is:
//!
//! | a model writes | where the schema has | it becomes |
//! |---|---|---|
//! | `1.0`, `2e3` | anything | `1`, `2000` |
//! | `null` | a property that cannot be null | the property is left out |
//! | `""` | an optional property that is no text, or no empty one (`minLength`, `enum`) | the property is left out |
//! | `"30"` | a number, and no text | `30` |
//! | `"true"`, `"False"` | a boolean, and no text | `true`, `false` |
//! | `"[…]"`, `"{…}"` | an array or an object, and no text | the JSON in the text |
//! | `{…}`, as a text too | an array of objects, and no object | the array with it |

use serde_json::{Map, Number, Value};

/// The schema of values of which nothing is known.
static ANYTHING: Value = Value::Bool(true);

/// A schema, within the one that has the definitions.
#[derive(Clone, Copy)]
struct Node<'a> {
    schema: &'a Value,
    root: &'a Value,
}

/// Makes arguments plain that this schema describes.
pub(super) fn plain(arguments: Value, schema: &Value) -> Value {
    let root = Node {
        schema,
        root: schema,
    };
    root.plain(arguments)
}

impl<'a> Node<'a> {
    /// Returns a part of the schema, behind its references.
    fn of(self, mut schema: &'a Value) -> Self {
        // Only a definition that is itself could go on for ever.
        for _ in 0..8 {
            let reference = schema.get("$ref").and_then(Value::as_str);
            let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
            match pointer.and_then(|pointer| self.root.pointer(pointer)) {
                Some(target) => schema = target,
                None => break,
            }
        }
        Self { schema, ..self }
    }

    fn keyword(self, name: &str) -> Option<Self> {
        self.schema.get(name).map(|schema| self.of(schema))
    }

    /// Returns the schemas in a list of schemas.
    fn each(self, name: &str) -> impl Iterator<Item = Self> {
        let schemas = self.schema.get(name).and_then(Value::as_array);
        schemas.into_iter().flatten().map(move |one| self.of(one))
    }

    /// Returns whether values of this type fit.
    fn allows(self, kind: &str) -> bool {
        let alternatives = || self.each("anyOf").chain(self.each("oneOf"));
        let named = match self.schema.get("type") {
            Some(Value::String(one)) => one == kind,
            Some(Value::Array(names)) => names.iter().any(|name| name == kind),
            _ => match self.values() {
                Some(mut values) => values.any(|value| kind_of(value) == kind),
                None => true,
            },
        };
        named
            && self.each("allOf").all(|one| one.allows(kind))
            && (alternatives().next().is_none() || alternatives().any(|one| one.allows(kind)))
    }

    fn allows_number(self) -> bool {
        self.allows("integer") || self.allows("number")
    }

    /// Returns whether a text without characters fits.
    fn allows_empty(self) -> bool {
        let alternatives = || self.each("anyOf").chain(self.each("oneOf"));
        let longer = self.schema.get("minLength").and_then(Value::as_u64) > Some(0);
        let named = self
            .values()
            .is_none_or(|mut values| values.any(|value| value == ""));
        let any = alternatives().next().is_none() || alternatives().any(Self::allows_empty);
        self.allows("string")
            && !longer
            && named
            && any
            && self.each("allOf").all(Self::allows_empty)
    }

    /// Returns whether arrays of objects fit, and no object alone.
    fn is_list_of_objects(self) -> bool {
        let items = self.keyword("items");
        self.allows("array")
            && !self.allows("object")
            && items.is_some_and(|items| items.allows("object") && !items.allows("array"))
    }

    /// Returns the values that fit, if the schema lists them.
    fn values(self) -> Option<impl Iterator<Item = &'a Value>> {
        let listed = self.schema.get("enum").and_then(Value::as_array);
        let only = self.schema.get("const");
        (listed.is_some() || only.is_some()).then(|| listed.into_iter().flatten().chain(only))
    }

    fn is_required(self, name: &str) -> bool {
        let required = self.schema.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|required| required == name))
    }

    /// Makes a value plain.
    fn plain(self, value: Value) -> Value {
        let value = match value {
            Value::String(text) if !self.allows("string") => self.read(text),
            value => value,
        };
        let value = match value {
            Value::Object(_) if self.is_list_of_objects() => Value::Array(vec![value]),
            value => value,
        };
        let value = match value {
            Value::Number(number) => Value::Number(whole(number)),
            Value::Array(values) => {
                let item = self.keyword("items").unwrap_or(self.of(&ANYTHING));
                values.into_iter().map(|value| item.plain(value)).collect()
            }
            Value::Object(fields) => Value::Object(self.fields(fields)),
            value => value,
        };
        let part = self
            .each("anyOf")
            .chain(self.each("oneOf"))
            .find(|one| one.is_meant_by(&value));
        self.each("allOf")
            .chain(part)
            .fold(value, |value, part| part.plain(value))
    }

    /// Returns the value that a text stands for where no text is allowed; the text itself, if there is none.
    fn read(self, text: String) -> Value {
        let trimmed = text.trim();
        if self.allows("boolean") {
            match trimmed.to_ascii_lowercase().as_str() {
                "true" => return true.into(),
                "false" => return false.into(),
                _ => {}
            }
        }
        let read = serde_json::from_str(trimmed).ok();
        let fits = |value: &Value| match value {
            Value::Number(_) => self.allows_number(),
            Value::Array(_) => self.allows("array"),
            Value::Object(_) => self.allows("object") || self.is_list_of_objects(),
            _ => false,
        };
        read.filter(fits).unwrap_or(Value::String(text))
    }

    fn fields(self, fields: Map<String, Value>) -> Map<String, Value> {
        let properties = self.keyword("properties");
        let others = self.keyword("additionalProperties");
        let others = others.unwrap_or(self.of(&ANYTHING));
        let plain = |(name, value): (String, Value)| {
            let Some(property) = properties.and_then(|all| all.keyword(&name)) else {
                return Some((name, others.plain(value)));
            };
            let says_nothing = match &value {
                Value::Null => !property.allows("null"),
                Value::String(text) if text.is_empty() => {
                    !self.is_required(&name) && !property.allows_empty()
                }
                _ => false,
            };
            (!says_nothing).then(|| (name, property.plain(value)))
        };
        fields.into_iter().filter_map(plain).collect()
    }

    /// Returns whether this is the one of several schemas that a value is written for: its type fits, and so does each property
    /// that has a fixed value.
    fn is_meant_by(self, value: &Value) -> bool {
        let kind = kind_of(value);
        let is_allowed = self.allows(kind) || (kind == "integer" && self.allows_number());
        if !is_allowed {
            return false;
        }
        let properties = self.schema.get("properties").and_then(Value::as_object);
        properties.into_iter().flatten().all(|(name, property)| {
            let values = self.of(property).values();
            values.is_none_or(|mut values| {
                value
                    .get(name)
                    .is_none_or(|value| values.any(|one| one == value))
            })
        })
    }
}

/// Returns a whole number as an integer, if 64 bits hold it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the double is whole and in range"
)]
fn whole(number: Number) -> Number {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    match number.as_f64() {
        Some(value) if number.is_f64() && value.fract() == 0.0 => {
            if (-TWO_TO_63..TWO_TO_63).contains(&value) {
                (value as i64).into()
            } else if (TWO_TO_63..2.0 * TWO_TO_63).contains(&value) {
                (value as u64).into()
            } else {
                number
            }
        }
        _ => number,
    }
}

/// Returns the type that a schema names a value by.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::Schema;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is of interest")]
    struct Arguments {
        path: String,
        line: Option<i64>,
        ratio: Option<f64>,
        deep: Option<bool>,
        note: Option<String>,
        #[schemars(length(min = 1))]
        name: Option<String>,
        order: Option<Order>,
        edits: Option<Vec<Edit>>,
        counts: Option<BTreeMap<String, u32>>,
        target: Option<Target>,
        anything: Option<Value>,
        tree: Option<Tree>,
    }

    /// One change.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is of interest")]
    struct Edit {
        line: u32,
        #[serde(default)]
        all: bool,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Order {
        Up,
        Down,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    #[expect(dead_code, reason = "only the schema is of interest")]
    enum Target {
        Line { at: u32 },
        Name { at: String },
    }

    /// A type that refers to itself.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is of interest")]
    struct Tree {
        size: Option<u32>,
        children: Vec<Tree>,
    }

    fn plain_of(arguments: Value) -> Value {
        plain(arguments, Schema::of_arguments::<Arguments>().value())
    }

    #[test]
    fn what_cannot_mean_anything_else_becomes_plain() {
        for (written, meant) in [
            (json!({ "line": 1.0 }), json!({ "line": 1 })),
            (json!({ "line": -2e3 }), json!({ "line": -2000 })),
            (json!({ "line": "30" }), json!({ "line": 30 })),
            (json!({ "line": " 3e1 " }), json!({ "line": 30 })),
            (json!({ "line": null }), json!({})),
            (json!({ "line": "" }), json!({})),
            (json!({ "ratio": "0.5" }), json!({ "ratio": 0.5 })),
            (json!({ "deep": "true" }), json!({ "deep": true })),
            (json!({ "deep": "False" }), json!({ "deep": false })),
            (json!({ "deep": "", "edits": "", "order": "" }), json!({})),
            (json!({ "name": "", "target": "" }), json!({})),
            (
                json!({ "path": null, "note": null, "tree": null }),
                json!({}),
            ),
            (
                json!({ "edits": [{ "line": "1", "all": null }, { "line": 2.0, "all": "true" }] }),
                json!({ "edits": [{ "line": 1 }, { "line": 2, "all": true }] }),
            ),
            (
                json!({ "edits": "[{\"line\": \"1\", \"all\": \"\"}]" }),
                json!({ "edits": [{ "line": 1 }] }),
            ),
            (
                json!({ "counts": "{\"a\": \"1\"}" }),
                json!({ "counts": { "a": 1 } }),
            ),
            (
                json!({ "target": { "kind": "line", "at": "7" } }),
                json!({ "target": { "kind": "line", "at": 7 } }),
            ),
            (
                json!({ "tree": { "size": "1", "children": [{ "size": "", "children": [] }] } }),
                json!({ "tree": { "size": 1, "children": [{ "children": [] }] } }),
            ),
            (
                json!({ "anything": { "a": [1.0, "1", "", null] } }),
                json!({ "anything": { "a": [1, "1", "", null] } }),
            ),
            // Other names of an argument are in no schema.
            (json!({ "file": 1.0 }), json!({ "file": 1 })),
        ] {
            assert_eq!(plain_of(written.clone()), meant, "{written}");
        }
    }

    #[test]
    fn what_can_mean_something_stays() {
        for written in [
            json!({ "path": "", "note": "" }),
            json!({ "path": "30", "note": "true", "name": "null" }),
            json!({ "path": 5, "note": true }),
            json!({ "line": "ten", "deep": "yes", "edits": "all" }),
            json!({ "line": "{}", "edits": "3", "counts": "[]" }),
            json!({ "line": true, "deep": 1 }),
            json!({ "line": 1.5, "ratio": 1.5 }),
            json!({ "line": 9_007_199_254_740_993_u64, "ratio": 1e300 }),
            json!({ "order": "sideways" }),
            json!({ "edits": [null, ""] }),
            json!({ "counts": { "a": null } }),
            json!({ "target": { "kind": "name", "at": "7" } }),
            json!({ "anything": null }),
            json!({ "unknown": null, "other": "" }),
        ] {
            assert_eq!(plain_of(written.clone()), written);
        }
    }

    #[test]
    fn each_spelling_of_a_number_is_one_number() {
        for (text, number) in [
            ("-0.0", "0"),
            ("1e16", "10000000000000000"),
            ("-9223372036854775808.0", "-9223372036854775808"),
            ("1e19", "10000000000000000000"),
            ("1e20", "1e+20"),
        ] {
            let value = serde_json::from_str(text).unwrap();
            assert_eq!(plain(value, &ANYTHING).to_string(), number, "{text}");
        }
    }

    /// Plain arguments stay as they are.
    #[test]
    fn plain_arguments_stay() {
        let schema = Schema::of_arguments::<Arguments>();
        let written = json!({ "line": "1.0", "edits": "[{\"line\": 1e0}]", "deep": "" });
        let once = plain(written, schema.value());
        assert_eq!(plain(once.clone(), schema.value()), once);
    }
}
