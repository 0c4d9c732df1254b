//! Tools as declarations in TypeScript, for models that write scripts.

use serde_json::{Map, Value};

use super::Definition;

/// How deep a type is written out. What is deeper is `unknown`.
const DEPTH: usize = 6;

/// The most characters of a comment.
const COMMENT: usize = 160;

impl Definition {
    /// Returns the declaration of the tool as a function: `name(args: {…}): Promise<…>`, with comments of what it and its arguments are.
    pub fn typescript(&self) -> String {
        let arguments = type_of(&self.input_schema, &self.input_schema, DEPTH, true);
        let has_required = (self.input_schema.get("required"))
            .and_then(Value::as_array)
            .is_some_and(|required| !required.is_empty());
        let optional = if has_required { "" } else { "?" };
        let reply = match &self.output_schema {
            Some(schema) => type_of(schema, schema, DEPTH, false),
            None => "unknown".to_owned(),
        };
        let comment = comment(&self.description).unwrap_or_default();
        let name = match is_name(&self.name) {
            true => self.name.clone(),
            false => quoted(&self.name),
        };
        format!("{comment}{name}(args{optional}: {arguments}): Promise<{reply}>;")
    }
}

/// Returns the first sentence of a description as a comment.
fn comment(text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = text.find(". ").map_or(text.len(), |end| end + 1);
    let mut sentence: String = text.get(..end)?.chars().take(COMMENT).collect();
    if sentence.len() < end {
        sentence.push('…');
    }
    // Nothing ends the comment before its end.
    let sentence = sentence.replace("*/", "* /");
    (!sentence.is_empty()).then(|| format!("/** {sentence} */ "))
}

/// Returns the type that a schema describes; `root` is what its references point into.
fn type_of(schema: &Value, root: &Value, depth: usize, comments: bool) -> String {
    const UNKNOWN: &str = "unknown";
    let Some(table) = schema.as_object().filter(|_| depth > 0) else {
        return UNKNOWN.to_owned();
    };
    let inner = |schema: &Value| type_of(schema, root, depth - 1, comments);
    if let Some(reference) = table.get("$ref").and_then(Value::as_str) {
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer));
        return target.map_or_else(|| UNKNOWN.to_owned(), inner);
    }
    if let Some(value) = table.get("const") {
        return value.to_string();
    }
    if let Some(values) = table.get("enum").and_then(Value::as_array) {
        return union(values.iter().map(Value::to_string));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(schemas) = table.get(key).and_then(Value::as_array) {
            return union(schemas.iter().map(inner));
        }
    }
    if let Some([schema]) = table
        .get("allOf")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        return inner(schema);
    }
    match table.get("type") {
        Some(Value::String(name)) => named(name, table, &inner, comments),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str);
            union(names.map(|name| named(name, table, &inner, comments)))
        }
        _ if table.contains_key("properties") => object(table, &inner, comments),
        _ => UNKNOWN.to_owned(),
    }
}

fn named(
    name: &str,
    table: &Map<String, Value>,
    inner: &dyn Fn(&Value) -> String,
    comments: bool,
) -> String {
    match name {
        "string" | "boolean" | "null" => name.to_owned(),
        "integer" | "number" => "number".to_owned(),
        "array" => {
            let items = table
                .get("items")
                .map_or_else(|| "unknown".to_owned(), inner);
            match items.contains(" | ") && !items.starts_with('{') {
                true => format!("({items})[]"),
                false => format!("{items}[]"),
            }
        }
        "object" => object(table, inner, comments),
        _ => "unknown".to_owned(),
    }
}

fn object(table: &Map<String, Value>, inner: &dyn Fn(&Value) -> String, comments: bool) -> String {
    let required = table.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        required.is_some_and(|required| required.iter().any(|required| required == name))
    };
    let Some(properties) = table.get("properties").and_then(Value::as_object) else {
        let values = table
            .get("additionalProperties")
            .filter(|values| values.is_object());
        let values = values.map_or_else(|| "unknown".to_owned(), inner);
        return format!("Record<string, {values}>");
    };
    let fields = properties.iter().map(|(name, schema)| {
        let description = schema.get("description").and_then(Value::as_str);
        let comment = description
            .filter(|_| comments)
            .and_then(comment)
            .unwrap_or_default();
        let mark = if is_required(name) { "" } else { "?" };
        let name = if is_name(name) {
            name.clone()
        } else {
            quoted(name)
        };
        format!("{comment}{name}{mark}: {}", inner(schema))
    });
    let fields: Vec<_> = fields.collect();
    match fields.is_empty() {
        true => "{}".to_owned(),
        false => format!("{{ {} }}", fields.join("; ")),
    }
}

fn union(types: impl Iterator<Item = String>) -> String {
    let mut all = Vec::new();
    for one in types {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    match all.is_empty() {
        true => "never".to_owned(),
        false => all.join(" | "),
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(is_part) && !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Hints;
    use serde_json::json;

    fn definition(input_schema: Value, output_schema: Option<Value>) -> Definition {
        Definition {
            name: "weather".to_owned(),
            title: None,
            description: "Tells the weather. It is */ often wrong.".to_owned(),
            input_schema,
            output_schema,
            hints: Hints::default(),
            max_duration_ms: None,
            resources: Vec::new(),
            plugin: "weather".to_owned(),
        }
    }

    #[test]
    fn a_tool_is_declared_as_a_function() {
        let input = json!({
            "type": "object",
            "properties": {
                "city": { "type": "string", "description": "The name */ of the city.\nOf any country." },
                "days": { "type": ["integer", "null"] },
                "unit": { "enum": ["c", "f"] },
                "per-hour": { "type": "boolean" },
            },
            "required": ["city"],
        });
        let output = json!({
            "type": "object",
            "properties": {
                "days": { "type": "array", "items": { "$ref": "#/$defs/Day" } },
                "sources": { "type": "object", "additionalProperties": { "type": "number" } },
            },
            "required": ["days"],
            "$defs": { "Day": { "anyOf": [{ "type": "number" }, { "const": "unknown" }] } },
        });
        assert_eq!(
            definition(input, Some(output)).typescript(),
            "/** Tells the weather. */ weather(args: { /** The name * / of the city. */ city: string; days?: number | null; \
             unit?: \"c\" | \"f\"; \"per-hour\"?: boolean }): \
             Promise<{ days: (number | \"unknown\")[]; sources?: Record<string, number> }>;"
        );
        let nothing = definition(json!({ "type": "object", "properties": {} }), None);
        assert_eq!(
            nothing.typescript(),
            "/** Tells the weather. */ weather(args?: {}): Promise<unknown>;"
        );
    }

    #[test]
    fn endless_types_end() {
        let input = json!({
            "type": "object",
            "properties": { "child": { "$ref": "#" } },
            "allOf": [{}, {}],
        });
        let text = definition(input, Some(json!({ "$ref": "#" }))).typescript();
        assert!(text.contains("unknown") && text.len() < 400, "{text}");
    }

    #[test]
    fn long_sentences_are_cut() {
        let text = comment(&"ä".repeat(1000));
        assert_eq!(
            text.map(|text| text.chars().count()),
            Some(COMMENT + "/** … */ ".len() - 2)
        );
    }
}
