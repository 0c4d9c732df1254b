//! Calls, repeats, chats and the end of a server.

use super::*;

#[tokio::test]
async fn a_call_as_the_design_shows_it() {
    let (_setup, server) = server().await;
    let (status, body) = server
        .put("support-42", "call_7Qx", execute("echo hello"))
        .await;
    assert_eq!(status, 200);
    for (field, value) in [
        ("id", json!("call_7Qx")),
        ("tool", json!("execute")),
        ("state", json!("finished")),
        ("is_error", json!(false)),
        ("queued_ms", json!(0)),
    ] {
        assert_eq!(body[field], value, "{field}");
    }
    assert_eq!(body["content"][0]["type"], "json");
    assert_eq!(body["content"][0]["json"], body["structured"]);
    assert_eq!(body["structured"]["output"], "hello\n");
    assert_eq!(body["processes"].as_array().unwrap().len(), 1);
    assert!(body["duration_ms"].is_u64());
}

#[tokio::test]
async fn a_repeat_gets_the_same_bytes_and_runs_nothing() {
    let (setup, server) = server().await;
    let body = execute("echo x >> counter; cat counter").to_string();
    let send = async |body: String| {
        let request = server
            .request(Method::PUT, "/v1/chats/a/calls/1")
            .body(body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.bytes().await.unwrap())
    };
    let first = send(body.clone()).await;
    assert_eq!(first.0, 200);
    assert_eq!(send(body).await, first);
    let spaced =
        r#" { "arguments" : {"command":"echo x >> counter; cat counter"} , "tool":"execute" } "#;
    assert_eq!(send(spaced.to_owned()).await, first);
    assert_eq!(setup.file("counter").await, "x\n");
    let (status, problem) = server.put("a", "1", execute("echo other")).await;
    assert_eq!((status, &problem["code"]), (409, &json!("input_mismatch")));
    // The same id in another chat is another call.
    assert_eq!(
        server.put("b", "1", execute("echo x >> counter")).await.0,
        200
    );
    assert_eq!(setup.file("counter").await, "x\nx\n");
}

#[tokio::test]
async fn parallel_repeats_share_one_execution_and_a_lost_connection_detaches() {
    let (setup, server) = server().await;
    nix::unistd::mkfifo(&setup.root().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let body = execute("echo x >> counter; cat go");
    // A client that sends the call and leaves.
    let text = body.to_string();
    let mut lost = TcpStream::connect(server.url.trim_start_matches("http://"))
        .await
        .unwrap();
    let head = format!(
        "PUT /v1/chats/a/calls/1 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {}\r\n\r\n",
        text.len()
    );
    lost.write_all(format!("{head}{text}").as_bytes())
        .await
        .unwrap();
    setup.file("counter").await;
    drop(lost);
    let callers = (0..50).map(|_| server.put("a", "1", body.clone()));
    let all = futures_util::future::join_all(callers);
    let go = setup.root().join("go");
    // The writer of a FIFO waits for its reader, the command.
    let opened = tokio::task::spawn_blocking(move || std::fs::write(go, "done\n").unwrap());
    let (all, opened) = tokio::join!(all, opened);
    opened.unwrap();
    for (status, answer) in &all {
        assert_eq!(
            (*status, &answer["structured"]["output"]),
            (200, &json!("done\n"))
        );
        assert_eq!(answer, &all[0].1);
    }
    assert_eq!(setup.file("counter").await, "x\n");
}

#[tokio::test]
async fn errors_of_a_tool_are_replies() {
    let (_setup, server) = server().await;
    let (status, body) = server
        .put("a", "1", json!({ "tool": "execute", "arguments": {} }))
        .await;
    assert_eq!(
        (status, &body["is_error"], &body["state"]),
        (200, &json!(true), &json!("finished"))
    );
    assert_eq!(
        body["content"],
        json!([{ "type": "text", "text": "command is required" }])
    );
    assert_eq!(body["error"]["kind"], "invalid_arguments");
    let (status, body) = server
        .put("a", "2", json!({ "tool": "process_list" }))
        .await;
    assert_eq!((status, &body["is_error"]), (200, &json!(false)));
}

#[tokio::test]
async fn tools_in_every_format() {
    let (setup, server) = server().await;
    for format in toolhost::Format::ALL {
        let response = server
            .request(Method::GET, &format!("/v1/tools?format={format}"))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(
            response.json::<Value>().await.unwrap(),
            format.render(&setup.host.tools()),
            "{format}"
        );
    }
    for bad in ["format=nope", "fromat=json"] {
        let response = server
            .request(Method::GET, &format!("/v1/tools?{bad}"))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 400, "{bad}");
    }
}

#[tokio::test]
async fn too_many_calls_are_told_to_come_back() {
    let limits = toolhost::plugin::Limits {
        concurrent_calls: 1,
        ..Default::default()
    };
    let setup = Setup::with(|builder| {
        let looping = toolhost::Options {
            limits,
            ..options("looping")
        };
        builder
            .without_shell()
            .plugin(guest("endless_loop"), looping)
    })
    .await;
    let server = Server::start(setup.host.clone()).await;
    let body = json!({ "tool": "t" });
    let first = server.put("a", "1", body.clone());
    let refused = async {
        // Until the first call has its place, the second may take it and loop for its two seconds.
        loop {
            let id = toolhost::CallId::random();
            let path = format!("/v1/chats/a/calls/{id}");
            let response = server
                .request(Method::PUT, &path)
                .json(&body)
                .send()
                .await
                .unwrap();
            if response.status() == 429 {
                return response;
            }
        }
    };
    let (first, refused) = tokio::join!(first, refused);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert!(first.0 == 429 || first.1["state"] == "failed", "{first:?}");
}

#[tokio::test]
async fn a_chat_can_be_ended() {
    let (setup, server) = server().await;
    server
        .put("a", "1", execute("echo $$ > pid; exec sleep 1000 &"))
        .await;
    let (_, started) = server
        .put("a", "2", execute("echo $$ > pid; exec sleep 1000 &"))
        .await;
    assert_eq!(started["structured"]["backgrounded"], true, "{started}");
    let pid: u32 = setup.file("pid").await.trim().parse().unwrap();
    let response = server
        .request(Method::DELETE, "/v1/chats/a")
        .send()
        .await
        .unwrap();
    let ended: Value = response.json().await.unwrap();
    assert_eq!(ended["ended"].as_array().unwrap().len(), 2);
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn shutdown_gets_replies_out_and_ends_what_was_started() {
    let (setup, server) = server().await;
    let request = server.request(Method::PUT, "/v1/chats/a/calls/1");
    let body = json!({
        "tool": "execute", "arguments": { "command": "echo $$ > pid; exec sleep 1000", "timeout": "1h" }
    });
    let running = tokio::spawn(request.json(&body).send());
    let pid: u32 = setup.file("pid").await.trim().parse().unwrap();
    let url = server.url.clone();
    server.stop().await;
    let answer: Value = running.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(
        (&answer["state"], &answer["structured"]["cancelled"]),
        (&json!("cancelled"), &json!(true))
    );
    assert!(!is_alive(pid));
    assert!(
        TcpStream::connect(url.trim_start_matches("http://"))
            .await
            .is_err()
    );
}
