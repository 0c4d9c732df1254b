//! Makes the description of the agent API.

use std::fmt::Write;
use std::path::Path;

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use toolhost_workspace::operation::{
    Answered, Asked, Each, Identity, Numbered, Typed, VERSION, each,
};
use toolhost_workspace::process;

use super::{DESCRIPTION, reference};
use crate::names::{CONNECT, PATH, STREAM};

/// Collects the paths and the schemas of operations.
struct Describing {
    generator: SchemaGenerator,
    paths: Map<String, Value>,
}

impl Each for Describing {
    fn take<O: Typed>(&mut self) {
        let asked = self.generator.subschema_for::<Asked<O>>();
        let reply = self.generator.subschema_for::<Answered<O::Answer>>();
        self.add(O::NAME, &asked, &reply);
    }
}

impl Describing {
    fn add(&mut self, name: &str, asked: &Schema, reply: &Schema) {
        let path = json!({ "post": {
            "operationId": name,
            "tags": ["operations"],
            "parameters": [{
                "name": "Toolhost-Operations", "in": "header", "required": true,
                "schema": { "const": VERSION.to_string() },
            }],
            "requestBody": { "required": true, "content": { "application/json": { "schema": asked } } },
            "responses": {
                "200": {
                    "description": "The result of the operation.",
                    "content": { "application/json": { "schema": reply } },
                },
                "default": { "$ref": "#/components/responses/Error" },
            },
        } });
        self.paths.insert(format!("{PATH}/{name}"), path);
    }
}

/// Describes a connection to a port.
fn connect(error: &Schema) -> Value {
    let stream = json!({ "schema": { "type": "string", "format": "binary" } });
    let parameter = |name: &str, schema: Value| json!({ "name": name, "in": "path", "required": true, "schema": schema });
    json!({ "post": {
        "operationId": "connect",
        "tags": ["operations"],
        "parameters": [
            parameter("chat", json!({ "type": "string" })),
            parameter("port", json!({ "type": "integer", "minimum": 0, "maximum": u16::MAX })),
            {
                "name": "Toolhost-Operations", "in": "header", "required": true,
                "schema": { "const": VERSION.to_string() },
            },
        ],
        "requestBody": { "content": { STREAM: stream.clone() } },
        "responses": {
            "200": {
                "description": "The bytes that the server sends, or why there is no connection.",
                "content": { STREAM: stream, "application/json": { "schema": error } },
            },
            "default": { "$ref": "#/components/responses/Error" },
        },
    } })
}

fn describe() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut describing = Describing {
        generator: settings.into_generator(),
        paths: reference::paths(),
    };
    each(&mut describing);
    let Describing {
        mut generator,
        mut paths,
    } = describing;
    let (identity, numbered) = (
        generator.subschema_for::<Identity>(),
        generator.subschema_for::<Numbered>(),
    );
    for (path, kind, schema, says) in [
        (
            PATH,
            "application/json",
            identity,
            "The agent introduces itself.",
        ),
        (
            &*format!("{PATH}/events"),
            "application/x-ndjson",
            numbered,
            "The events of all processes, one in each line.",
        ),
    ] {
        let get = json!({ "get": {
            "tags": ["operations"],
            "responses": {
                "200": { "description": says, "content": { kind: { "schema": schema } } },
                "default": { "$ref": "#/components/responses/Error" },
            },
        } });
        paths.insert(path.to_owned(), get);
    }
    let error = generator.subschema_for::<Result<(), process::Error>>();
    paths.insert(format!("{CONNECT}/{{chat}}/{{port}}"), connect(&error));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Toolhost agent API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The processes and files of one workspace: in the form of coder/coder's agent, and every operation as it is, for hosts.",
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "responses": { "Error": reference::error() },
            "schemas": generator.take_definitions(true),
        },
    })
}

/// Writes a value with a line for each member of its objects, as deep as `levels`.
fn write(value: &Value, levels: usize, text: &mut String) {
    let Some(members) = value.as_object().filter(|_| levels > 0) else {
        return text.push_str(&value.to_string());
    };
    text.push('{');
    for (index, (name, member)) in members.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(text, "{comma}\n{}: ", Value::from(name.as_str())).unwrap();
        write(member, levels - 1, text);
    }
    text.push_str("\n}");
}

#[test]
fn the_description_is_that_of_the_types() {
    let mut now = String::new();
    write(&describe(), 3, &mut now);
    now.push('\n');
    if std::env::var_os("UPDATE_DESCRIPTION").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/openapi/description.json");
        std::fs::write(file, now).unwrap();
    } else {
        assert!(
            now == DESCRIPTION,
            "the types of the agent API have changed: run this test with UPDATE_DESCRIPTION=1"
        );
    }
}
