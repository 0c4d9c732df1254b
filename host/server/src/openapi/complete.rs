//! Completes the description with the parts that all operations share: the token, and the problems of each operation.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use toolhost_http::problem::{KINDS, Kind};

/// The name of the security scheme.
pub(super) const TOKEN: &str = "token";

/// The key under which an operation names its own problems.
const PROBLEMS: &str = "x-problems";

/// The problems of every operation, of those that need a token, and of those with a body.
const ALWAYS: [&str; 4] = [
    "broken_request",
    "foreign_host",
    "foreign_origin",
    "large_headers",
];
const WITH_TOKEN: [&str; 3] = ["no_token", "wrong_token", "busy"];
const WITH_BODY: [&str; 3] = ["slow_body", "too_large", "unsupported_media_type"];

/// The schema that describes lists of tools in all formats. An empty list fits several of them.
const LIST: &str = "/components/schemas/ToolList";

/// The schema that describes events, each with the JSON of its data.
const EVENT: &str = "/components/schemas/Event";

/// Completes a description.
pub(super) fn complete(description: OpenApi) -> Value {
    let mut document = serde_json::to_value(description).unwrap_or_default();
    let events = document.pointer_mut(EVENT);
    let events = events.and_then(|schema| schema.get_mut("oneOf")?.as_array_mut());
    events.into_iter().flatten().for_each(describe_event);
    if let Some(Value::Object(list)) = document.pointer_mut(LIST)
        && let Some(formats) = list.remove("oneOf")
    {
        list.insert("anyOf".into(), formats);
    }
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let paths = paths.map(|paths| {
        *paths = std::mem::take(paths).into_iter().map(of_template).collect();
        paths
    });
    let items = paths.into_iter().flat_map(Map::values_mut);
    for operation in items
        .filter_map(Value::as_object_mut)
        .flat_map(Map::values_mut)
    {
        if let Value::Object(operation) = operation {
            describe(operation);
        }
    }
    open(&mut document);
    document
}

/// Describes an address whose last part has slashes, which the router writes as `{*name}`, as OpenAPI writes it.
fn of_template((path, item): (String, Value)) -> (String, Value) {
    (path.replace("{*", "{"), item)
}

/// Allows any property in objects whose properties are not described: client generators take an object without properties for
/// an empty one.
fn open(part: &mut Value) {
    match part {
        Value::Array(parts) => parts.iter_mut().for_each(open),
        Value::Object(fields) => {
            let is_bare = fields.get("type").is_some_and(|kind| kind == "object")
                && !fields.contains_key("properties")
                && !fields.contains_key("additionalProperties");
            if is_bare {
                fields.insert("additionalProperties".into(), true.into());
            }
            let parts = fields.iter_mut();
            parts
                .filter(|(name, _)| !matches!(name.as_str(), "example" | "examples"))
                .for_each(|(_, part)| open(part));
        }
        _ => {}
    }
}

/// Describes an event as a client of server-sent events gets it: its data are text, and it has an id.
fn describe_event(schema: &mut Value) {
    let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    let data = fields.remove("data");
    let data = json!({
        "type": "string", "contentMediaType": "application/json", "contentSchema": data,
    });
    let id = json!({ "type": "string", "description": "What `Last-Event-ID` is to be to go on after this event." });
    fields.insert("data".into(), data);
    fields.insert("id".into(), id);
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.push("id".into());
    }
}

fn describe(operation: &mut Map<String, Value>) {
    let own = operation.remove(PROBLEMS).unwrap_or_default();
    let own = own
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let mut codes: Vec<_> = ALWAYS.into_iter().chain(own).collect();
    let open = match operation.get("security") {
        Some(Value::Array(ways)) => ways
            .iter()
            .any(|way| way.as_object().is_none_or(Map::is_empty)),
        _ => false,
    };
    if open {
        // An empty list means no security at all. A list with an empty entry says that less plainly.
        operation.insert("security".into(), json!([]));
    } else {
        codes.extend(WITH_TOKEN);
        operation.insert("security".into(), json!([{ TOKEN: [] }]));
    }
    if operation.contains_key("requestBody") {
        codes.extend(WITH_BODY);
    }
    let mut by_status: BTreeMap<u16, Vec<&Kind>> = BTreeMap::new();
    for kind in KINDS.iter().filter(|kind| codes.contains(&kind.code)) {
        by_status.entry(kind.status).or_default().push(kind);
    }
    if let Some(Value::Array(parameters)) = operation.get_mut("parameters") {
        describe_once(parameters);
    }
    let responses = operation.entry("responses").or_insert_with(|| json!({}));
    if let Value::Object(responses) = responses {
        for (status, kinds) in by_status {
            responses.insert(status.to_string(), response(status, &kinds));
        }
    }
}

/// Removes parameters that are described twice. `utoipa` also finds the address parts that a handler takes, but only with their
/// names.
fn describe_once(parameters: &mut Vec<Value>) {
    let is_described = |parameter: &Value| parameter.get("description").is_some();
    let described: Vec<_> = parameters
        .iter()
        .filter(|parameter| is_described(parameter))
        .filter_map(|parameter| parameter.get("name").cloned())
        .collect();
    parameters.retain(|parameter| {
        let name = parameter.get("name");
        is_described(parameter) || name.is_none_or(|name| !described.contains(name))
    });
}

/// Describes a response with one of these problems.
fn response(status: u16, kinds: &[&Kind]) -> Value {
    let titles: Vec<_> = kinds
        .iter()
        .map(|kind| format!("`{}`: {}.", kind.code, kind.title))
        .collect();
    let examples: Map<_, _> = kinds
        .iter()
        .map(|kind| (kind.code.to_owned(), json!({ "value": kind.example() })))
        .collect();
    let schema = json!({ "$ref": "#/components/schemas/Problem" });
    let mut response = json!({
        "description": titles.join(" "),
        "content": { "application/problem+json": { "schema": schema, "examples": examples } },
    });
    let header = match status {
        401 => json!({ "www-authenticate": {
            "description": "How a token is sent.", "schema": { "type": "string" }, "required": true,
        } }),
        429 | 503 => json!({ "retry-after": {
            "description": "After how many seconds to ask again.",
            "schema": { "type": "integer", "minimum": 1 }, "required": true,
        } }),
        _ => return response,
    };
    if let Value::Object(fields) = &mut response {
        fields.insert("headers".into(), header);
    }
    response
}
