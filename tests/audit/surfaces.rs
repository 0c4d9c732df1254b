//! Every surface records who did what.

use super::*;

/// A server of a host with a trail, for the tool API and the agent API, with a token that has a name.
async fn named(trail: &Trail) -> (Setup, Server) {
    let audit = trail.open(&Config::default());
    let setup = Setup::with(|builder| builder.audit(audit)).await;
    let ada = Principal::unbounded("ada");
    let tokens = Tokens::new([(Token::new(TOKEN).unwrap(), ada)]);
    let surfaces = ServerParts::from(setup.host.clone()).with_agent();
    let server = Server::with_tokens(surfaces, tokens).await;
    (setup, server)
}

#[tokio::test]
async fn every_surface_says_who_did_what() {
    let trail = Trail::new();
    let (setup, server) = named(&trail).await;
    let post = |path: &str, body: Value| {
        let request = server.request(reqwest::Method::POST, path);
        async move {
            let response = request.json(&body).send().await.unwrap();
            assert_eq!(response.status(), 200);
            response.json::<Value>().await.unwrap()
        }
    };
    let background = json!({
        "tool": "execute", "arguments": { "command": "exec sleep 1000", "run_in_background": true, "keep_input_open": true },
    });
    let (_, reply) = server.put("a", "1", background.clone()).await;
    let first = reply["processes"][0].as_str().unwrap();
    let signal = format!("/v1/chats/a/processes/{first}/signal");
    post(&signal, json!({ "signal": "kill" })).await;
    harness::until("the first process has ended", || {
        (setup.host.local().unwrap().processes().live() == 0).then_some(())
    })
    .await;
    let (_, reply) = server.put("a", "2", background).await;
    let second = reply["processes"][0].clone();
    let input = format!("/v1/chats/a/processes/{}/input", second.as_str().unwrap());
    post(&input, json!({ "text": "a password\n" })).await;
    let ended = server.request(reqwest::Method::DELETE, "/v1/chats/a");
    assert_eq!(ended.send().await.unwrap().status(), 200);
    for change in ["disable", "enable", "reload"] {
        post(&format!("/v1/plugins/shell/{change}"), json!(null)).await;
    }
    // The agent API.
    let command = json!({ "command": "exec sleep 1000" });
    let started = post("/api/v0/processes/start", command).await;
    let third = started["id"].as_str().unwrap();
    let signal = format!("/api/v0/processes/{third}/signal");
    post(&signal, json!({ "signal": "kill" })).await;
    let path = setup.root().join("file");
    let write = format!("/api/v0/write-file?path={}", path.display());
    let request = server.request(reqwest::Method::POST, &write);
    let written = request.header("Coder-Tool-Call-Id", "w-1").body("text");
    assert_eq!(written.send().await.unwrap().status(), 200);
    let edits = json!([{ "search": "text", "replace": "TEXT" }]);
    let edit = json!({ "files": [{ "path": path, "edits": edits }] });
    post("/api/v0/edit-files", edit).await;
    server.stop().await;

    let events = trail.events();
    for event in &events {
        let name = event["event"].as_str().unwrap();
        let own = ["start", "stop", "plugin"].contains(&name);
        assert_eq!(event["principal"] == "ada", !own, "{event}");
    }
    documented(&events);
    let fields = |name: &str, fields: &[&str]| -> Vec<Value> {
        let pick = |event: &&Value| fields.iter().map(|field| event[*field].clone()).collect();
        of(&events, name).iter().map(pick).collect()
    };
    assert_eq!(
        fields("process_input", &["chat", "plugin", "process", "bytes"]),
        [json!(["a", null, second, 11])],
        "and not what was typed"
    );
    assert_eq!(
        fields("process_signal", &["chat", "plugin", "process", "signal"]),
        [
            json!(["a", null, first, "kill"]),
            json!([null, "agent-api", third, "kill"])
        ]
    );
    assert_eq!(
        fields("chat_ended", &["chat", "calls", "processes", "tools"]),
        [json!(["a", [], [second], null])]
    );
    for change in ["plugin_disabled", "plugin_enabled", "plugin_reloaded"] {
        assert_eq!(fields(change, &["plugin"]), [json!(["shell"])], "{change}");
    }
    let starts = fields("process_start", &["plugin", "process"]);
    assert_eq!(starts[2], json!(["agent-api", third]));
    let hex = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
    assert_eq!(
        fields("file_write", &["call", "path", "content", "certain"]),
        [
            json!(["w-1", path, hex(b"text"), true]),
            json!([null, path, hex(b"TEXT"), true])
        ]
    );
}

#[tokio::test]
async fn a_cancelled_call_is_recorded_as_cancelled_and_by_whom() {
    let trail = Trail::new();
    let (setup, server) = named(&trail).await;
    let host = setup.host.clone();
    let request = request(
        "a",
        "execute",
        &json!({ "command": "echo > begun; exec sleep 1000" }),
    );
    let id = request.id.clone();
    let calling = tokio::spawn(async move { call(&host, request).await });
    setup.file("begun").await;
    let path = format!("/v1/chats/a/calls/{id}");
    let cancelled = server.request(reqwest::Method::DELETE, &path).send().await;
    assert_eq!(cancelled.unwrap().status(), 200);
    calling.await.unwrap().unwrap();
    server.stop().await;
    let events = trail.events();
    let cancelled = of(&events, "call_cancelled");
    assert_eq!(cancelled.len(), 1, "{events:#?}");
    assert_eq!(
        (&cancelled[0]["principal"], &cancelled[0]["call"]),
        (&json!("ada"), &json!(id.as_str()))
    );
    assert_eq!(of(&events, "call")[0]["outcome"], "cancelled");
}

/// A client that hangs up tears no start from its line, whenever it does.
#[tokio::test]
async fn starts_of_clients_that_hang_up_are_recorded() {
    use std::io::Write;
    let trail = Trail::new();
    let (setup, server) = named(&trail).await;
    let address = server.url.strip_prefix("http://").unwrap();
    for number in 0..60 {
        let body = json!({ "command": format!("echo > ran-{number}") }).to_string();
        let request = format!(
            "POST /api/v0/processes/start HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut client = std::net::TcpStream::connect(address).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        // Other requests pass the time for which this client stays.
        for _ in 0..number % 6 {
            let health = server.request(reqwest::Method::GET, "/healthz").send();
            assert_eq!(health.await.unwrap().status(), 200);
        }
        drop(client);
    }
    let ran = || {
        let files = std::fs::read_dir(setup.root()).unwrap();
        files.count()
    };
    harness::until("each command that ran has its line", || {
        let starts = of(&trail.events(), "process_start").len();
        (starts > 0 && starts == ran()).then_some(())
    })
    .await;
    server.stop().await;
}

/// A cancellation of a call that has not arrived, or has ended, keeps it from running: it is recorded as well.
#[tokio::test]
async fn each_cancellation_is_recorded_by_the_id_that_counts() {
    let trail = Trail::new();
    let (_setup, server) = named(&trail).await;
    let delete = async |call: &str| {
        let path = format!("/v1/chats/a/calls/{call}");
        let request = server.request(reqwest::Method::DELETE, &path);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(delete("never").await, 204);
    let body = json!({ "tool": "process_list", "arguments": {} });
    server.put("a", "over", body).await;
    assert_eq!(delete("over").await, 200);
    // A UUID is one tool call in all of its spellings.
    let post = |path: &str| server.request(reqwest::Method::POST, path);
    let start = post("/api/v0/processes/start").json(&json!({ "command": "true" }));
    let start = start.header(
        "Coder-Tool-Call-Id",
        "{E2D0E32B-5B5D-4E5D-8D0D-000000000001}",
    );
    assert_eq!(start.send().await.unwrap().status(), 200);
    let uuid = "e2d0e32b-5b5d-4e5d-8d0d-000000000001";
    for call in [uuid, "later"] {
        let cancel = post(&format!("/api/v0/tool-calls/{call}/cancel"));
        assert_eq!(cancel.send().await.unwrap().status(), 200);
    }
    server.stop().await;
    let events = trail.events();
    let cancelled = of(&events, "call_cancelled");
    let cancelled: Vec<_> = cancelled.iter().map(|event| &event["call"]).collect();
    assert_eq!(cancelled, ["never", "over", uuid, "later"]);
    let starts = of(&events, "process_start");
    assert_eq!(starts[0]["call"], uuid);
    documented(&events);
}
