//! `/openapi.json` says what the server does, and no more; and the page for it loads nothing from elsewhere.

mod schemathesis;

use super::events::stream::Stream;
use super::*;

/// The description of the API, and what checks answers against it.
struct Description(Value);

impl Description {
    async fn of(server: &Server) -> Self {
        let request = server.request(Method::GET, "/openapi.json");
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "application/json");
        Self(response.json().await.unwrap())
    }

    /// All operations: their path, method and description.
    fn operations(&self) -> Vec<(&str, Method, &Value)> {
        let paths = self.0["paths"].as_object().unwrap();
        let each = paths.iter().flat_map(|(path, item)| {
            let operations = item.as_object().unwrap().iter();
            operations.map(move |(method, operation)| {
                let method = method.to_uppercase().parse().unwrap();
                (path.as_str(), method, operation)
            })
        });
        each.collect()
    }

    /// Asserts that a value fits a schema of this document.
    fn check(&self, schema: &Value, value: &Value, of: &str) {
        let mut schema = schema.clone();
        schema["components"] = self.0["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        if let Err(error) = validator.validate(value) {
            panic!("{of}: {error}: {value}");
        }
    }

    /// Asks, and asserts that the answer is one that the description has. Returns its status and body.
    async fn ask(
        &self,
        server: &Server,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (u16, Value) {
        let template = path
            .split('?')
            .next()
            .unwrap()
            .replace("/chats/c", "/chats/{chat}")
            .replace("/calls/1", "/calls/{call}")
            .replace("/plugins/shell", "/plugins/{name}")
            .replace("/plugins/nope", "/plugins/{name}");
        let operation = &self.0["paths"][&template][method.as_str().to_lowercase()];
        assert!(
            operation.is_object(),
            "{method} {template} is not described"
        );
        let request = server.request(method.clone(), path);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let of = format!("{method} {path}: {status}");
        let described = &operation["responses"][status.to_string()];
        assert!(described.is_object(), "{of} is not described");
        let headers = described["headers"].as_object();
        for (name, header) in headers.into_iter().flatten() {
            let there = response.headers().contains_key(name);
            assert!(there || header["required"] != true, "{of} lacks {name}");
        }
        let kind = response.headers().get("content-type").cloned();
        let text = response.text().await.unwrap();
        let Some(content) = described["content"].as_object() else {
            assert_eq!(text, "", "{of}");
            return (status, Value::Null);
        };
        let kind = kind.unwrap().to_str().unwrap().to_owned();
        let kind = kind.split(';').next().unwrap();
        let schema = &content.get(kind).unwrap_or_else(|| panic!("{of}: {kind}"))["schema"];
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        self.check(schema, &value, &of);
        (status, value)
    }
}

#[tokio::test]
async fn the_description_is_sound() {
    let (_setup, server) = server().await;
    let description = Description::of(&server).await;
    assert_eq!(description.0["openapi"], "3.1.0");
    // Every reference leads somewhere.
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value.as_str() {
                        Some(reference) if name == "$ref" => found.push(reference),
                        _ => references(value, found),
                    }
                }
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    references(&description.0, &mut found);
    assert!(found.len() > 20);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(description.0.pointer(pointer).is_some(), "{reference}");
    }
    let tags = description.0["tags"].as_array().unwrap().iter();
    let tags: Vec<_> = tags.map(|tag| &tag["name"]).collect();
    let mut ids = std::collections::HashSet::new();
    for (path, method, operation) in description.operations() {
        let of = format!("{method} {path}");
        assert!(
            ids.insert(operation["operationId"].as_str().unwrap()),
            "{of}"
        );
        assert!(
            operation["summary"].is_string() && tags.contains(&&operation["tags"][0]),
            "{of}"
        );
        assert!(operation.get("x-problems").is_none(), "{of}");
        let mut names = std::collections::HashSet::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            assert!(
                names.insert(parameter["name"].as_str().unwrap()),
                "{of}: {parameter}"
            );
            assert!(parameter["description"].is_string(), "{of}: {parameter}");
        }
        let open = operation["security"] == json!([]);
        let is_open = [
            "GET /healthz",
            "GET /readyz",
            "GET /console/login",
            "POST /console/login",
            "POST /console/logout",
            "GET /v1/links/{link}/{name}",
        ];
        assert_eq!(open, is_open.contains(&&*of), "{of}");
        // A login can have a wrong token.
        let has_401 = !open || of == "POST /console/login";
        assert_eq!(operation["responses"].get("401").is_some(), has_401, "{of}");
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert!(response["description"].is_string(), "{of}: {status}");
            if status.parse::<u16>().unwrap() < 400 {
                continue;
            }
            let content = &response["content"]["application/problem+json"];
            let examples = content["examples"].as_object().unwrap();
            for (code, example) in examples {
                assert_eq!(example["value"]["code"], **code, "{of}");
                assert_eq!(example["value"]["status"].to_string(), **status, "{of}");
                description.check(&content["schema"], &example["value"], &of);
            }
        }
    }
}

/// Generators of clients take an object of which no property is described for one that has none.
#[tokio::test]
async fn objects_that_may_have_anything_say_so() {
    let (_setup, server) = server().await;
    let description = Description::of(&server).await;
    let schemas = &description.0["components"]["schemas"];
    for (schema, property) in [
        ("Tool", "input_schema"),
        ("AnthropicTool", "input_schema"),
        ("OpenAiFunction", "parameters"),
        ("OpenAiResponsesTool", "parameters"),
        ("GeminiFunction", "parametersJsonSchema"),
        ("BedrockSchema", "json"),
        ("McpTool", "inputSchema"),
        ("McpTool", "outputSchema"),
    ] {
        let object = &schemas[schema]["properties"][property];
        let of = format!("{schema}.{property}: {object}");
        assert_eq!(object["type"], "object", "{of}");
        assert_eq!(object["additionalProperties"], true, "{of}");
    }
}

#[tokio::test]
async fn every_route_is_described_and_nothing_else_is() {
    let (_setup, server) = server().await;
    let description = Description::of(&server).await;
    let all = [
        Method::GET,
        Method::PUT,
        Method::POST,
        Method::DELETE,
        Method::PATCH,
    ];
    let operations = description.operations();
    assert!(operations.len() >= 13, "{}", operations.len());
    for (path, _, _) in &operations {
        // No chat, call or plugin has this name, but events of any chat can be listened to.
        let concrete = path.replace(['{', '}'], "");
        for method in &all {
            let described = operations
                .iter()
                .any(|(other, described, _)| other == path && described == method);
            let response = server
                .request(method.clone(), &concrete)
                .send()
                .await
                .unwrap();
            let status = response.status().as_u16();
            assert_eq!(described, status != 405, "{method} {path}: {status}");
            if status == 404 {
                let problem: Value = response.json().await.unwrap();
                assert_ne!(problem["code"], "not_found", "{method} {path}");
            }
        }
    }
    // Routes are added with their description, so that the router has no other.
    let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("server/src");
    let mut files = vec![sources.join("v1"), sources.join("lib.rs")];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(
                std::fs::read_dir(path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains(".route(\"/v1"), "{}", path.display());
        }
    }
}

/// Returns whether the description of an operation has the problem of this code.
pub(super) fn names_problem(operation: &Value, code: &str) -> bool {
    let responses = operation["responses"].as_object().unwrap();
    let examples = |response: &Value| {
        response["content"]["application/problem+json"]["examples"]
            .get(code)
            .is_some()
    };
    responses.values().any(examples)
}

/// The states in which a server cannot tell what there is, or where it is, by the codes of their answers.
const STATES: [&str; 5] = [
    "unreadable",
    "unrecorded",
    "other_host",
    "workspace_unavailable",
    "loading",
];

/// `docs/http.md` has the table of routes and states, as the routes are described.
#[tokio::test]
async fn the_table_of_states_is_that_of_the_routes() {
    let (_setup, server) = server().await;
    let description = Description::of(&server).await;
    let mut table = format!(
        "| request | `{}` |\n|---|{}\n",
        STATES.join("` | `"),
        "---|".repeat(STATES.len())
    );
    for (path, method, operation) in description.operations() {
        let names = |state: &str| names_problem(operation, state);
        if STATES.iter().any(|state| names(state)) {
            let cells = STATES
                .map(|state| if names(state) { " yes |" } else { " |" })
                .concat();
            table.push_str(&format!("| `{method} {path}` |{cells}\n"));
        }
    }
    let text = std::fs::read_to_string("../docs/http.md").unwrap();
    assert!(
        text.contains(&table),
        "docs/http.md lacks this table:\n{table}"
    );
}

#[tokio::test]
async fn answers_are_as_described() {
    let (_setup, server) = server().await;
    let description = Description::of(&server).await;
    let ask = async |method: Method, path: &str, body: Option<Value>, expected: u16| {
        let (status, value) = description.ask(&server, method, path, body).await;
        assert_eq!(status, expected, "{path}: {value}");
        value
    };
    let call = "/v1/chats/c/calls/1";
    let execute = |command: &str| Some(execute(command));
    ask(Method::GET, call, None, 404).await;
    ask(Method::PUT, call, Some(json!({ "tool": "nope" })), 200).await;
    ask(Method::PUT, call, execute("echo x"), 200).await;
    ask(Method::PUT, call, execute("echo y"), 409).await;
    ask(Method::GET, call, None, 200).await;
    ask(Method::DELETE, call, None, 200).await;
    ask(Method::PUT, call, execute("echo x"), 409).await;
    ask(Method::PUT, call, Some(json!({})), 400).await;
    let calls = "/v1/chats/c/calls";
    let failed = ask(Method::POST, calls, Some(json!({ "tool": "execute" })), 200).await;
    assert_eq!(failed["error"]["kind"], "invalid_arguments");
    ask(Method::POST, calls, execute("sleep 1000 &"), 200).await;
    let ended = ask(Method::DELETE, "/v1/chats/c", None, 200).await;
    assert_eq!(ended["ended"][0]["command"], "sleep 1000");
    for &format in toolhost_core::Format::ALL {
        ask(
            Method::GET,
            &format!("/v1/tools?format={format}"),
            None,
            200,
        )
        .await;
    }
    ask(Method::GET, "/v1/tools?format=nope", None, 400).await;
    let strict = "/v1/tools?strict=true&format=openai";
    let tools = ask(Method::GET, strict, None, 200).await;
    for tool in tools.as_array().unwrap() {
        assert_eq!(tool["function"]["strict"], true, "{tool}");
    }
    ask(
        Method::GET,
        "/v1/tools?strict=true&format=gemini",
        None,
        200,
    )
    .await;
    ask(
        Method::GET,
        "/v1/tools?strict=perhaps&format=openai",
        None,
        400,
    )
    .await;
    for (path, expected) in [
        ("/v1/calls", 200),
        ("/v1/calls?limit=1", 200),
        ("/v1/calls?after=x", 400),
        ("/v1/chats", 200),
        ("/v1/chats?after=x", 400),
        ("/v1/chats/c/calls", 200),
        ("/v1/chats/c/calls?state=x", 400),
        ("/v1/chats/c/calls/1/arguments", 204),
        ("/v1/chats/c/files", 200),
        ("/v1/chats/c/files?limit=0", 400),
        ("/v1/processes", 200),
        ("/v1/processes?limit=0", 400),
    ] {
        ask(Method::GET, path, None, expected).await;
    }
    ask(Method::GET, "/v1/plugins", None, 200).await;
    for change in ["disable", "enable", "reload"] {
        ask(
            Method::POST,
            &format!("/v1/plugins/shell/{change}"),
            None,
            200,
        )
        .await;
        ask(
            Method::POST,
            &format!("/v1/plugins/nope/{change}"),
            None,
            404,
        )
        .await;
    }
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json"] {
        ask(Method::GET, path, None, 200).await;
    }
}

#[tokio::test]
async fn events_are_as_described() {
    let (_setup, server) = server().await;
    let description = Description::of(&server).await;
    let operation = &description.0["paths"]["/v1/chats/{chat}/events"]["get"];
    let item = &operation["responses"]["200"]["content"]["text/event-stream"]["schema"];
    let kinds = description.0["components"]["schemas"]["Event"]["oneOf"].clone();
    let mut stream = Stream::resume(&server, "c", "", "nope").await;
    let path = "/v1/chats/c/calls/1";
    let command = execute(r"echo x; printf '\377'; kill -9 $$");
    server
        .request(Method::PUT, path)
        .json(&command)
        .send()
        .await
        .unwrap();
    let mut events = stream
        .until(|event| event.is("call", "state", "finished"))
        .await;
    let end = server.request(Method::DELETE, "/v1/chats/c");
    end.send().await.unwrap();
    events.extend(stream.rest().await);
    let mut names = std::collections::BTreeSet::new();
    for event in &events {
        let sent = json!({ "event": event.name, "id": event.id, "data": event.data.to_string() });
        description.check(item, &sent, &event.name);
        // That the data fit, a validator of JSON does not look at.
        let of_name = |kind: &&Value| kind["properties"]["event"]["enum"] == json!([event.name]);
        let kind = kinds.as_array().unwrap().iter().find(of_name).unwrap();
        let data = &kind["properties"]["data"]["contentSchema"];
        let mut unknown = event.data.clone();
        description.check(data, &event.data, &event.name);
        unknown.as_object_mut().unwrap().clear();
        let mut schema = data.clone();
        schema["components"] = description.0["components"].clone();
        assert!(!jsonschema::is_valid(&schema, &unknown), "{}", event.name);
        names.insert(event.name.as_str());
    }
    let expected = [
        "call",
        "chat_ended",
        "output",
        "process",
        "process_started",
        "reset",
    ];
    assert_eq!(names, expected.into());
}

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere() {
    let (_setup, server) = server().await;
    let get = async |path: &str| {
        let url = format!("{}{path}", server.url);
        // Browsers send no token for a page.
        server.client.get(url).send().await.unwrap()
    };
    let page = get("/docs").await;
    assert!(page.url().path().ends_with("/docs/"), "{}", page.url());
    let policy = page.headers()["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self';"),
        "{policy}"
    );
    assert!(
        !policy.contains("http") && !policy.contains('*'),
        "{policy}"
    );
    let page = page.text().await.unwrap();
    let mut files = 0;
    for attribute in page.split(['"']).filter(|text| text.contains('.')) {
        assert!(
            !attribute.contains('/') || attribute.contains(' '),
            "{attribute}"
        );
        if !attribute.ends_with(".js")
            && !attribute.ends_with(".css")
            && !attribute.ends_with(".png")
        {
            continue;
        }
        let file = get(&format!("/docs/{attribute}")).await;
        assert_eq!(file.status(), 200, "{attribute}");
        assert_eq!(file.headers()["x-content-type-options"], "nosniff");
        files += 1;
    }
    assert_eq!(files, 5);
    // The command for curl that the page shows is the request before the token is in it.
    let script = get("/docs/page.js").await.text().await.unwrap();
    assert!(script.contains("showMutatedRequest: false"), "{script}");
    for absent in [
        "swagger-initializer.js",
        "index.html",
        "oauth2-redirect.html",
        "..%2fv1",
    ] {
        assert_eq!(
            get(&format!("/docs/{absent}")).await.status(),
            404,
            "{absent}"
        );
    }
    assert_eq!(get("/openapi.json").await.status(), 401);
    let foreign = server.client.get(format!("{}/docs/", server.url));
    let foreign = foreign.header("host", "evil.example").send().await.unwrap();
    assert_eq!(foreign.status(), 403);
}
