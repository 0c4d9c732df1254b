//! The routes that the reference has as well.

use serde_json::{Map, Value, json};

/// A route: method, path, what it does, its parameters with their types, and the schema of its JSON body.
type Route = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    Value,
);

/// Returns the response that every error has.
pub(super) fn error() -> Value {
    json!({
        "description": "Nothing was done, or what the status says.",
        "content": { "application/json": { "schema": {
            "type": "object",
            "required": ["message"],
            "properties": {
                "message": { "type": "string" },
                "detail": { "type": "string" },
                "validations": { "type": "array", "items": {
                    "type": "object",
                    "properties": { "field": { "type": "string" }, "detail": { "type": "string" } },
                } },
            },
        } } },
    })
}

/// Returns the routes.
pub(super) fn paths() -> Map<String, Value> {
    let mut paths = Map::new();
    for (method, path, summary, parameters, body) in routes() {
        let in_path = path.contains("{id}").then(|| {
            json!({ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } })
        });
        let in_query = parameters
            .iter()
            .map(|(name, kind)| json!({ "name": name, "in": "query", "schema": { "type": kind } }));
        let headers = ["Coder-Chat-Id", "Coder-Tool-Call-Id"]
            .map(|name| json!({ "name": name, "in": "header", "schema": { "type": "string" } }));
        let all: Vec<Value> = in_path.into_iter().chain(in_query).chain(headers).collect();
        let mut described = json!({
            "summary": summary,
            "tags": ["coder/coder"],
            "parameters": all,
            "responses": {
                "200": { "description": "It was done." },
                "default": { "$ref": "#/components/responses/Error" },
            },
        });
        if let (Value::Object(described), false) = (&mut described, body.is_null()) {
            let content = match body.as_str() {
                Some(kind) => json!({ kind: {} }),
                None => json!({ "application/json": { "schema": body } }),
            };
            described.insert("requestBody".into(), json!({ "content": content }));
        }
        paths.insert(path.to_owned(), json!({ method: described }));
    }
    paths
}

fn object(required: &[&str], properties: &Value) -> Value {
    json!({ "type": "object", "required": required, "properties": properties })
}

fn routes() -> [Route; 12] {
    let (text, number, truth) = (
        json!({ "type": "string" }),
        json!({ "type": "integer" }),
        json!({ "type": "boolean" }),
    );
    let texts = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let start = object(
        &["command"],
        &json!({
            "command": text, "workdir": text, "env": texts, "background": truth, "timeout_ms": number,
            "sandbox": { "type": "object", "properties": { "mode": text, "network": {} } },
        }),
    );
    let signal = object(&["signal"], &json!({ "signal": text, "grace_ms": number }));
    let edit = object(
        &["search", "replace"],
        &json!({ "search": text, "replace": text, "replace_all": truth }),
    );
    let file = object(
        &["path", "edits"],
        &json!({ "path": text, "edits": { "type": "array", "items": edit } }),
    );
    let edits = object(
        &["files"],
        &json!({ "files": { "type": "array", "items": file }, "include_diff": truth }),
    );
    let directory = object(
        &[],
        &json!({ "path": { "type": "array", "items": text }, "relativity": { "enum": ["root", "home"] } }),
    );
    let none = || Value::Null;
    [
        (
            "post",
            "/api/v0/processes/start",
            "Starts a command",
            &[],
            start,
        ),
        (
            "get",
            "/api/v0/processes/list",
            "Lists processes",
            &[("limit", "integer"), ("running", "boolean")],
            none(),
        ),
        (
            "get",
            "/api/v0/processes/{id}/output",
            "State and output of a process, at once or after a wait",
            &[
                ("wait", "boolean"),
                ("stop_at_start_timeout", "boolean"),
                ("timeout_ms", "integer"),
                ("until", "string"),
                ("since", "integer"),
                ("max_bytes", "integer"),
            ],
            none(),
        ),
        (
            "post",
            "/api/v0/processes/{id}/signal",
            "Sends a signal to everything that a process started",
            &[],
            signal,
        ),
        (
            "get",
            "/api/v0/processes/{id}/events",
            "Server-sent events of a process",
            &[("since", "integer")],
            none(),
        ),
        (
            "post",
            "/api/v0/tool-calls/{id}/cancel",
            "Cancels a tool call",
            &[],
            none(),
        ),
        (
            "post",
            "/api/v0/list-directory",
            "Lists a directory",
            &[("path", "string")],
            directory,
        ),
        (
            "get",
            "/api/v0/resolve-path",
            "Resolves the links of a path",
            &[("path", "string")],
            none(),
        ),
        (
            "get",
            "/api/v0/read-file",
            "Reads bytes of a file",
            &[
                ("path", "string"),
                ("offset", "integer"),
                ("limit", "integer"),
            ],
            none(),
        ),
        (
            "get",
            "/api/v0/read-file-lines",
            "Reads numbered lines of a file",
            &[
                ("path", "string"),
                ("offset", "integer"),
                ("limit", "integer"),
                ("max_file_size", "integer"),
                ("max_line_bytes", "integer"),
                ("max_response_lines", "integer"),
                ("max_response_bytes", "integer"),
            ],
            none(),
        ),
        (
            "post",
            "/api/v0/write-file",
            "Replaces a file",
            &[("path", "string")],
            json!("application/octet-stream"),
        ),
        (
            "post",
            "/api/v0/edit-files",
            "Edits files, all or none",
            &[],
            edits,
        ),
    ]
}
