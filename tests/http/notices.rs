//! Notices: a chat is told of what happens to its processes, in its events, in a list, and at a webhook.

mod webhooks;

use super::*;
use events::stream::Stream;

/// Starts a command in the background of the chat `a`, as this call, and returns the id of its process and the reply.
async fn start(server: &Server, call: &str, command: &str, notify: Value) -> (String, Value) {
    let mut body = execute(command);
    body["arguments"]["run_in_background"] = true.into();
    body["arguments"]["notify"] = notify;
    let (status, reply) = server.put("a", call, body).await;
    assert_eq!(status, 200, "{reply}");
    let process = reply["processes"][0].as_str().unwrap().to_owned();
    (process, reply)
}

async fn send(server: &Server, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
    let request = server.request(method, &format!("/v1/chats/a{path}"));
    let request = match body {
        Some(body) => request.json(&body),
        None => request,
    };
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}

async fn notices(server: &Server) -> Vec<Value> {
    let (status, listed) = send(server, Method::GET, "/notices", None).await;
    assert_eq!(status, 200, "{listed}");
    listed["notices"].as_array().unwrap().clone()
}

fn fifo(setup: &Setup, name: &str) -> std::path::PathBuf {
    let path = setup.root().join(name);
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    path
}

async fn tell(fifo: std::path::PathBuf, text: &'static str) {
    let write = move || std::fs::write(fifo, text).unwrap();
    tokio::task::spawn_blocking(write).await.unwrap();
}

#[tokio::test]
async fn a_chat_is_told_of_output_and_of_the_end() {
    let (setup, server) = server().await;
    let (one, two) = (fifo(&setup, "one"), fifo(&setup, "two"));
    let mut stream = Stream::open(&server, "a", "?output=false").await;
    let on = json!({ "on": "output", "pattern": "listening on \\d+" });
    let command = "cat one; cat two; exit 3";
    let (process, reply) = start(&server, "1", command, on).await;
    let structured = reply["structured"].clone();
    let first = structured["notice"]
        .as_str()
        .unwrap_or_else(|| panic!("{reply}"));
    let path = format!("/processes/{process}/notices");
    let asked = send(&server, Method::POST, &path, Some(json!({ "on": "exit" }))).await;
    assert_eq!(asked.0, 201, "{asked:?}");
    let second = asked.1["id"].as_str().unwrap();
    let waiting = notices(&server).await;
    assert_eq!(waiting.len(), 2);
    assert!(waiting.iter().all(|notice| notice.get("told").is_none()));
    assert_eq!(waiting[0]["id"], first);
    tell(one, "starting\nlistening on 8080\nmore\n").await;
    let heard = stream.until(|event| event.name == "notice").await;
    let notice = &heard.last().unwrap().data;
    assert_eq!(
        (&notice["id"], &notice["process"]),
        (&json!(first), &json!(process))
    );
    assert_eq!(
        (&notice["call"], &notice["command"]),
        (&json!("1"), &json!(command))
    );
    let told = &notice["told"];
    assert_eq!(
        (&told["event"], &told["status"]),
        (&json!("matched"), &json!("running"))
    );
    assert_eq!(told["match_end"], "starting\nlistening on 8080".len());
    tell(two, "over\n").await;
    let heard = stream.until(|event| event.name == "notice").await;
    let notice = &heard.last().unwrap().data;
    assert_eq!(notice["id"], second);
    let told = &notice["told"];
    assert_eq!(
        (&told["event"], &told["exit_code"]),
        (&json!("exited"), &json!(3))
    );
    assert_eq!(
        told["total_bytes"],
        "starting\nlistening on 8080\nmore\nover\n".len()
    );
    let listed = notices(&server).await;
    assert_eq!(listed[1], *notice);
    assert!(listed.iter().all(|notice| notice.get("delivery").is_none()));
}

#[tokio::test]
async fn output_that_never_matches_is_told_with_the_end_and_an_end_before_at_once() {
    let (_setup, server) = server().await;
    let mut stream = Stream::open(&server, "a", "?output=false").await;
    let on = json!({ "on": "output", "pattern": "never" });
    let (process, _) = start(&server, "1", "exit 0", on).await;
    let heard = stream.until(|event| event.name == "notice").await;
    assert_eq!(heard.last().unwrap().data["told"]["event"], "exited");
    let path = format!("/processes/{process}/notices");
    let asked = send(&server, Method::POST, &path, Some(json!({ "on": "exit" }))).await;
    let heard = stream.until(|event| event.name == "notice").await;
    assert_eq!(heard.last().unwrap().data["id"], asked.1["id"]);
}

#[tokio::test]
async fn what_is_forgotten_is_not_told() {
    let (setup, server) = server().await;
    let go = fifo(&setup, "go");
    let (process, reply) = start(&server, "1", "cat go", json!({ "on": "exit" })).await;
    let forgotten = reply["structured"]["notice"].as_str().unwrap().to_owned();
    let path = format!("/processes/{process}/notices");
    let asked = send(&server, Method::POST, &path, Some(json!({ "on": "exit" }))).await;
    let path = format!("/notices/{forgotten}");
    assert_eq!(send(&server, Method::DELETE, &path, None).await.0, 204);
    let again = send(&server, Method::DELETE, &path, None).await;
    assert_eq!((again.0, &again.1["code"]), (404, &json!("unknown_notice")));
    let mut stream = Stream::open(&server, "a", "?output=false").await;
    tell(go, "x").await;
    let heard = stream.until(|event| event.name == "notice").await;
    assert_eq!(heard.last().unwrap().data["id"], asked.1["id"]);
    let left = notices(&server).await;
    assert_eq!(left.len(), 1, "{left:?}");
}

#[tokio::test]
async fn what_cannot_be_asked_for_is_refused() {
    let (setup, server) = server().await;
    let _go = fifo(&setup, "go");
    let (process, _) = start(&server, "1", "cat go", Value::Null).await;
    let path = format!("/processes/{process}/notices");
    for (body, status, code) in [
        (
            json!({ "on": "output", "pattern": "(" }),
            400,
            "broken_request",
        ),
        (json!({ "on": "output" }), 400, "broken_request"),
        (json!({ "on": "start" }), 400, "broken_request"),
        (
            json!({ "on": "output", "pattern": "a", "sinse": 3 }),
            400,
            "broken_request",
        ),
        (json!([]), 400, "broken_request"),
    ] {
        let refused = send(&server, Method::POST, &path, Some(body.clone())).await;
        assert_eq!(
            (refused.0, &refused.1["code"]),
            (status, &json!(code)),
            "{body}"
        );
    }
    let unknown = "/processes/nobody/notices";
    let refused = send(
        &server,
        Method::POST,
        unknown,
        Some(json!({ "on": "exit" })),
    )
    .await;
    assert_eq!(
        (refused.0, &refused.1["code"]),
        (404, &json!("unknown_process"))
    );
    for _ in 0..64 {
        let asked = send(&server, Method::POST, &path, Some(json!({ "on": "exit" }))).await;
        assert_eq!(asked.0, 201, "{asked:?}");
    }
    let refused = send(&server, Method::POST, &path, Some(json!({ "on": "exit" }))).await;
    assert_eq!(
        (refused.0, &refused.1["code"]),
        (429, &json!("busy")),
        "{refused:?}"
    );
    // Another chat sees nothing of it.
    let others = server
        .request(Method::GET, "/v1/chats/b/notices")
        .send()
        .await;
    let others: Value = others.unwrap().json().await.unwrap();
    assert_eq!(others, json!({ "notices": [] }));
}

#[tokio::test]
async fn a_repeated_call_asks_once() {
    let (setup, server) = server().await;
    let _go = fifo(&setup, "go");
    let on = json!({ "on": "exit" });
    let (process, first) = start(&server, "1", "cat go", on.clone()).await;
    let (_, again) = start(&server, "1", "cat go", on.clone()).await;
    assert_eq!(first["structured"], again["structured"]);
    assert_eq!(notices(&server).await.len(), 1);
    // Another call asks for another one.
    let later = json!({
        "tool": "process_output",
        "arguments": { "process_id": process, "wait_timeout": "0s", "notify": on },
    });
    let (_, reply) = server.put("a", "2", later).await;
    assert_ne!(reply["structured"]["notice"], first["structured"]["notice"]);
    assert_eq!(notices(&server).await.len(), 2);
}
