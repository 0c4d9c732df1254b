//! The processes of a chat over HTTP.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;

/// Gets something below the processes of the chat `a`.
async fn get(server: &Server, path: &str) -> (u16, Value) {
    let path = format!("/v1/chats/a/processes{path}");
    let response = server.request(Method::GET, &path).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

/// Runs a command as a call of the chat `a`, and returns the id of its process.
async fn run(server: &Server, call: &str, command: &str) -> String {
    let (status, reply) = server.put("a", call, execute(command)).await;
    assert_eq!(status, 200, "{reply}");
    reply["processes"][0].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_chat_sees_its_processes_and_no_others() {
    let (setup, server) = server().await;
    let one = run(&server, "1", "echo one; exit 4").await;
    let two = run(&server, "2", "echo two").await;
    let (status, listed) = get(&server, "").await;
    assert_eq!((status, &listed["total"]), (200, &json!(2)));
    let ids: Vec<_> = listed["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|process| &process["id"])
        .collect();
    assert_eq!(ids, [two.as_str(), &one]);
    let (status, details) = get(&server, &format!("/{one}")).await;
    assert_eq!(status, 200);
    for (field, value) in [
        ("id", json!(one)),
        ("call", json!("1")),
        ("command", json!("echo one; exit 4")),
        ("workdir", json!(setup.root())),
        ("background", json!(false)),
        ("status", json!("exited")),
        ("exit_code", json!(4)),
        ("cause", json!("itself")),
        ("total_bytes", json!(4)),
        ("survivors", json!([])),
        ("saved", json!({ "status": "complete" })),
    ] {
        assert_eq!(details[field], value, "{field}");
    }
    assert!(details["started_at_unix"].is_u64() && details["exited_at_unix"].is_u64());
    let (_, limited) = get(&server, "?limit=1").await;
    assert_eq!(
        (
            limited["processes"].as_array().unwrap().len(),
            &limited["total"]
        ),
        (1, &json!(2))
    );
    let (_, running) = get(&server, "?running=true").await;
    assert_eq!(running, json!({ "processes": [], "total": 0 }));
    for path in [
        "/processes",
        &format!("/processes/{one}"),
        &format!("/processes/{one}/output"),
    ] {
        let path = format!("/v1/chats/b{path}");
        let response = server.request(Method::GET, &path).send().await.unwrap();
        let status = response.status().as_u16();
        let body: Value = response.json().await.unwrap();
        match body.get("processes") {
            Some(listed) => assert_eq!((status, listed), (200, &json!([]))),
            None => assert_eq!((status, &body["code"]), (404, &json!("unknown_process"))),
        }
    }
    assert_eq!(get(&server, "/nothing").await.0, 404);
    for (query, status) in [
        ("?limit=-1", 400),
        ("?limit=1000", 200),
        ("?limit=1001", 400),
    ] {
        assert_eq!(get(&server, query).await.0, status, "{query}");
    }
}

#[tokio::test]
async fn output_in_pages_as_text_or_raw() {
    let (_setup, server) = server().await;
    let id = run(&server, "1", "printf 'aä😀\\377b'").await;
    let page = async |query: &str| get(&server, &format!("/{id}/output{query}")).await.1;
    let whole = page("").await;
    let bytes = "aä😀".bytes().chain(*b"\xffb").collect::<Vec<_>>();
    let expected = json!({
        "process": id, "offset": 0, "length": 9, "base64": STANDARD.encode(&bytes), "total_bytes": 9, "end": true,
    });
    assert_eq!(whole, expected);
    // The least is a character; none is cut.
    let first = page("?max=4").await;
    assert_eq!(
        (&first["text"], &first["length"], &first["end"]),
        (&json!("aä"), &json!(3), &json!(false))
    );
    assert_eq!(page("?since=3&max=4").await["text"], "😀");
    assert_eq!(page("?since=8").await["text"], "b");
    let past = page("?since=100").await;
    assert_eq!(
        (&past["offset"], &past["text"], &past["end"]),
        (&json!(9), &json!(""), &json!(true))
    );
    let raw = server
        .request(
            Method::GET,
            &format!("/v1/chats/a/processes/{id}/output?since=1&max=5"),
        )
        .header("Accept", "text/html, application/octet-stream;q=0.9");
    let raw = raw.send().await.unwrap();
    let header = |name: &str| raw.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/octet-stream");
    assert_eq!(header("toolhost-output-offset"), "1");
    assert_eq!(header("toolhost-output-total"), "9");
    assert_eq!(header("toolhost-output-end"), "false");
    assert_eq!(raw.bytes().await.unwrap(), bytes[1..6]);
    for bad in [
        "?since=-1",
        "?since=9007199254740992",
        "?max=x",
        "?max=3",
        "?max=4194305",
        "?from=1",
    ] {
        assert_eq!(
            get(&server, &format!("/{id}/output{bad}")).await.0,
            400,
            "{bad}"
        );
    }
}

#[tokio::test]
async fn a_signal_reaches_a_process() {
    let (setup, server) = server().await;
    let command = json!({ "command": "echo $$ > pid; exec sleep 1000", "run_in_background": true });
    let body = json!({ "tool": "execute", "arguments": command });
    let (_, reply) = server.put("a", "1", body).await;
    let id = reply["processes"][0].as_str().unwrap();
    let pid = setup.file("pid").await.trim().parse().unwrap();
    let send = async |chat: &str, body: Value| {
        let path = format!("/v1/chats/{chat}/processes/{id}/signal");
        let response = server
            .request(Method::POST, &path)
            .json(&body)
            .send()
            .await
            .unwrap();
        (
            response.status().as_u16(),
            response.json::<Value>().await.unwrap(),
        )
    };
    for bad in [
        json!({ "signal": "SIGKILL" }),
        json!({}),
        json!({ "signal": "kill", "grace": 1 }),
        json!({ "signal": "terminate", "grace_ms": 3_600_001 }),
        json!({ "signal": "terminate", "grace_ms": -1 }),
        json!({ "signal": "terminate", "grace_ms": 1.5 }),
        json!({ "signal": "terminate", "grace_ms": 3_600_001.0 }),
        json!({ "signal": "terminate", "grace_ms": 1e300 }),
        json!({ "signal": "terminate", "grace_ms": "1" }),
    ] {
        assert_eq!(send("a", bad).await.0, 400);
    }
    assert_eq!(send("b", json!({ "signal": "kill" })).await.0, 404);
    let long = json!({ "signal": "x".repeat(5000) });
    assert_eq!(send("a", long).await.0, 413);
    assert!(is_alive(pid));
    let (status, reply) = send("a", json!({ "signal": "terminate", "grace_ms": 60_000.0 })).await;
    assert_eq!(
        (status, reply),
        (200, json!({ "id": id, "status": "running" }))
    );
    crate::harness::until_dead(pid).await;
    let ended = crate::harness::until("it has ended", || {
        let chat: toolhost_core::ChatId = "a".parse().unwrap();
        let process = setup
            .host
            .local()
            .unwrap()
            .processes()
            .get(&chat, id)
            .unwrap();
        (!process.state().is_live()).then_some(())
    });
    ended.await;
    let (status, reply) = send("a", json!({ "signal": "kill" })).await;
    assert_eq!(
        (status, &reply["status"], &reply["signal"]),
        (200, &json!("exited"), &json!("SIGTERM"))
    );
}

/// A call that starts a command in a terminal.
async fn in_terminal(server: &Server, command: &str) -> String {
    let arguments = json!({ "command": command, "terminal": true, "run_in_background": true });
    let body = json!({ "tool": "execute", "arguments": arguments });
    let (_, reply) = server.put("a", "terminal", body).await;
    reply["processes"][0].as_str().unwrap().to_owned()
}

/// Sends an input, and returns the status and the body of the answer.
async fn typed(server: &Server, chat: &str, id: &str, body: &Value) -> (u16, Value) {
    let path = format!("/v1/chats/{chat}/processes/{id}/input");
    let request = server.request(Method::POST, &path).json(body);
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn input_reaches_a_process_once() {
    let (setup, server) = server().await;
    let id = in_terminal(
        &server,
        "stty -echo; echo ready > ready; while read -r line; do echo \"<$line>\"; done; stty size",
    )
    .await;
    setup.file("ready").await;
    for (body, code) in [
        (json!({ "base64": "?" }), "broken_request"),
        (json!({ "keys": ["enter"] }), "broken_request"),
        (
            json!({ "size": { "rows": 0, "columns": 80 } }),
            "broken_request",
        ),
        (json!({ "size": { "rows": 24 } }), "broken_request"),
        (
            json!({ "text": "x", "id": "x".repeat(257) }),
            "broken_request",
        ),
    ] {
        let (status, answer) = typed(&server, "a", &id, &body).await;
        assert_eq!(
            (status, &answer["code"]),
            (400, &json!(code)),
            "{body}: {answer}"
        );
    }
    let (status, _) = typed(&server, "b", &id, &json!({ "text": "x" })).await;
    assert_eq!(status, 404);
    let size = json!({ "rows": 30.0, "columns": 100 });
    for _ in 0..3 {
        let body = json!({ "id": "1", "size": size, "text": "once\r" });
        let (status, answer) = typed(&server, "a", &id, &body).await;
        assert_eq!(
            (status, &answer["status"]),
            (200, &json!("running")),
            "{answer}"
        );
    }
    // Bytes that are no text, and the end after them.
    let body = json!({ "base64": STANDARD.encode(b"\xff\r"), "close": true });
    assert_eq!(typed(&server, "a", &id, &body).await.0, 200);
    let waiting = json!({ "process_id": id, "wait_timeout": "1h" });
    let body = json!({ "tool": "process_output", "arguments": waiting });
    let (_, reply) = server.put("a", "wait", body).await;
    assert!(reply.to_string().contains("exited"), "{reply}");
    let (_, output) = get(&server, &format!("/{id}/output")).await;
    let bytes = STANDARD.decode(output["base64"].as_str().unwrap()).unwrap();
    assert_eq!(bytes, b"<once>\r\n<\xff>\r\n30 100\r\n");
    let (_, details) = get(&server, &format!("/{id}")).await;
    assert_eq!(details["takes_input"], false);
    let screen = &details["screen"];
    assert_eq!(
        (&screen["rows"], &screen["full"]),
        (&json!(30), &json!(false))
    );
    assert!(
        screen["text"].as_str().unwrap().starts_with("<once>\n"),
        "{screen}"
    );
    let (status, answer) = typed(&server, "a", &id, &json!({ "text": "x" })).await;
    assert_eq!(
        (status, &answer["code"]),
        (409, &json!("no_input")),
        "{answer}"
    );
}
