//! The description of the API, and the operations that it describes.

use toolhost_workspace::operation::VERSION;

use super::*;

/// Asks for an operation.
async fn operate(agent: &Agent, name: &str, body: &Value) -> (u16, Value) {
    let path = format!("/api/v0/workspace/{name}");
    let request = agent.server.request(Method::POST, &path);
    let request = request
        .header("toolhost-operations", VERSION)
        .json(&json!({ "operation": body }));
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

/// Returns the schema of a part of the description, on its own.
fn schema(description: &Value, pointer: &str) -> Value {
    let mut schema = description.pointer(pointer).expect(pointer).clone();
    schema["components"] = description["components"].clone();
    schema
}

#[tokio::test]
async fn requests_and_answers_are_as_they_are_described() {
    let agent = Agent::new().await;
    let request = agent.server.request(Method::GET, "/api/v0/openapi.json");
    let description: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(description["openapi"], "3.1.0");
    let described = description["paths"].as_object().unwrap();
    assert!(described.len() > 30, "{}", described.len());

    let key = json!({
        "owner": "any.chat@of:ours", "command": { "command": "cat; exit 3", "stdin": { "bytes": "aGkK" }, "key": "k 0" },
    });
    let write = json!({ "path": "file", "data": "dGV4dA==", "when": "Absent" });
    let (_, started) = operate(&agent, "start", &key).await;
    let id = &started["answer"]["Ok"]["id"];
    let wait = json!({
        "owner": "any.chat@of:ours", "id": id, "options": { "timeout": { "secs": 300, "nanos": 0 } },
    });
    for (name, body) in [
        ("start", key),
        ("wait", wait),
        ("snapshot", json!({ "owner": "any.chat@of:ours", "id": id })),
        ("info", json!({ "owner": null, "id": "none" })),
        (
            "list-all",
            json!({ "query": { "running_only": false, "prefix": "", "after": null, "max": 10 } }),
        ),
        ("status", json!({})),
        ("write-files", json!({ "writes": [write], "removals": [] })),
        (
            "read-file",
            json!({ "path": "file", "offset": 0, "max": 10 }),
        ),
        ("metadata", json!({ "path": "none" })),
        (
            "search-text",
            json!({
                "scope": { "path": ".", "globs": ["*"], "types": [], "hidden": true, "ignored": false, "max_depth": null },
                "text": {
                    "pattern": "h", "literal": false, "letter_case": "Exact", "words": false, "multiline": false,
                    "encoding": null, "before": 1, "after": 0, "width": 9, "files_only": false,
                },
                "page": { "skip": 0, "max": 9 },
            }),
        ),
        (
            "find-files",
            json!({
                "scope": { "path": ".", "globs": [], "types": [], "hidden": false, "ignored": false, "max_depth": 2 },
                "filter": {
                    "kind": "File", "min_size": null, "max_size": 9, "since": null, "until": null, "newest_first": false,
                },
                "page": { "skip": 0, "max": 9 },
            }),
        ),
    ] {
        let path = format!("/paths/~1api~1v0~1workspace~1{name}/post");
        let (status, answer) = operate(&agent, name, &body).await;
        assert_eq!(status, 200, "{name}: {answer}");
        for (pointer, value) in [
            (
                "requestBody/content/application~1json/schema",
                &json!({ "operation": body }),
            ),
            ("responses/200/content/application~1json/schema", &answer),
        ] {
            let schema = schema(&description, &format!("{path}/{pointer}"));
            let errors: Vec<String> = jsonschema::validator_for(&schema)
                .unwrap()
                .iter_errors(value)
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{name}: {pointer}: {errors:?}: {value}");
        }
    }
    let (_, snapshot) = operate(
        &agent,
        "snapshot",
        &json!({ "owner": "any.chat@of:ours", "id": id }),
    )
    .await;
    assert_eq!(snapshot["answer"]["Ok"]["head"], "aGkK", "{snapshot}");
    assert_eq!(
        snapshot["answer"]["Ok"]["state"]["Exited"]["code"], 3,
        "{snapshot}"
    );
}

#[tokio::test]
async fn an_operation_needs_its_version_and_its_run() {
    let agent = Agent::new().await;
    let ask = async |headers: &[(&str, &str)], body: &str| {
        let mut request = agent
            .server
            .request(Method::POST, "/api/v0/workspace/status")
            .body(body.to_owned());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.text().await.unwrap())
    };
    let (number, said) = (VERSION.to_string(), format!("version {VERSION}"));
    let version = ("toolhost-operations", &*number);
    let status = r#"{"operation": {}}"#;
    assert_eq!(ask(&[version], status).await.0, 200);
    for (headers, body, status, said) in [
        (&[][..], status, 426, "names none"),
        (&[("toolhost-operations", "1")], status, 426, &said),
        (
            &[version, ("toolhost-instance", "other")],
            status,
            412,
            "started since",
        ),
        (&[version], "{", 400, "cannot be read"),
        (
            &[version],
            r#"{"operation": {}, "more": 1}"#,
            400,
            "unknown field",
        ),
        (
            &[version],
            r#"{"operation": {"more": 1}}"#,
            400,
            "unknown field",
        ),
    ] {
        let (answered, text) = ask(headers, body).await;
        assert!(
            answered == status && text.contains(said),
            "{answered} {text}"
        );
    }
    let identity = agent.server.request(Method::GET, "/api/v0/workspace");
    let identity: Value = identity.send().await.unwrap().json().await.unwrap();
    assert_eq!(identity["operations"], VERSION);
    assert_eq!(identity["root"], json!(agent.root()));
}

/// A signal that is sent again under its id is sent once.
#[tokio::test]
async fn an_operation_that_would_act_twice_acts_once() {
    let agent = Agent::new().await;
    let command = "trap 'echo got >> signals' USR1; echo r > ready; while :; do sleep 0.02; done";
    let start = json!({ "owner": "a", "command": { "command": command } });
    let (_, started) = operate(&agent, "start", &start).await;
    let id = started["answer"]["Ok"]["id"].clone();
    crate::harness::file(&agent.root().join("ready")).await;
    let signal = json!({ "owner": "a", "id": id, "signal": "User1", "grace": null });
    let send = async |call: &str| {
        let request = agent
            .server
            .request(Method::POST, "/api/v0/workspace/signal");
        let request = request
            .header("toolhost-operations", VERSION)
            .header("coder-tool-call-id", call);
        assert_eq!(
            request
                .json(&json!({ "operation": signal }))
                .send()
                .await
                .unwrap()
                .status(),
            200
        );
    };
    let signals = agent.root().join("signals");
    for _ in 0..3 {
        send("one").await;
    }
    crate::harness::file(&signals).await;
    send("two").await;
    crate::harness::until("the second signal arrived", || {
        let text = std::fs::read_to_string(&signals).unwrap();
        (text == "got\ngot\n").then_some(())
    })
    .await;
}
