//! The stream of what runs: whole, at once, shared, and bounded as its reader is.

use super::*;

/// A stream of events `now`.
pub(super) struct Stream {
    response: Response,
    bytes: Vec<u8>,
}

impl Stream {
    pub(super) async fn open(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        let headers = response.headers();
        assert_eq!(headers["content-type"], "text/event-stream");
        assert_eq!(headers["cache-control"], "no-cache");
        assert_eq!(headers["x-accel-buffering"], "no");
        let bytes = Vec::new();
        Self { response, bytes }
    }

    async fn of(server: &Server, token: &str) -> Self {
        let request = server.client.get(format!("{}/v1/events", server.url));
        Self::open(request.bearer_auth(token)).await
    }

    /// Returns the data of the next event; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.bytes.windows(2).position(|pair| pair == b"\n\n") {
                let rest = self.bytes.split_off(end + 2);
                let block = std::mem::replace(&mut self.bytes, rest);
                let block = String::from_utf8(block).unwrap();
                if block.starts_with(':') {
                    continue;
                }
                let data = block.strip_prefix("event: now\ndata: ").unwrap();
                return Some(serde_json::from_str(data).unwrap());
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk());
            let bytes = chunk.await.expect("no event comes").ok()??;
            self.bytes.extend_from_slice(&bytes);
        }
    }

    /// Returns the first event that is like this.
    async fn until(&mut self, like: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.next().await.expect("the stream ended");
            if like(&event) {
                return event;
            }
        }
    }
}

/// Runs a command in a call that does not end by itself.
fn run(server: &Server, chat: &str, call: &str, command: &str) {
    let path = format!("/v1/chats/{chat}/calls/{call}");
    let request = server.request(Method::PUT, &path).json(&execute(command));
    tokio::spawn(async move { _ = request.send().await });
}

fn ids(event: &Value, list: &str) -> Vec<String> {
    let entries = event[list].as_array().unwrap().iter();
    let name = |entry: &Value| {
        let chat = entry["chat"].as_str().unwrap();
        let id = entry[if list == "calls" { "id" } else { "call" }].as_str();
        format!("{chat}/{}", id.unwrap())
    };
    let mut ids: Vec<_> = entries.map(name).collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn an_event_has_everything_that_runs_and_what_it_uses() {
    let (_setup, server) = server().await;
    let mut stream = Stream::of(&server, TOKEN).await;
    let first = stream.next().await.unwrap();
    assert_eq!(
        (&first["calls"], &first["processes"]),
        (&json!([]), &json!([]))
    );
    let command = "printf 'first\\n\\033[1mlast\\033[0m line\\n'; while :; do :; done";
    run(&server, "a", "busy", command);
    let event = stream
        .until(|event| {
            let usage = &event["processes"][0]["usage"];
            usage["cpu_ms"].as_u64().is_some_and(|cpu| cpu > 0)
        })
        .await;
    let call = &event["calls"][0];
    let expected = json!({
        "chat": "a", "id": "busy", "tool": "execute", "state": "running", "running_ms": call["running_ms"],
        "token": "all", "workspace": "default",
    });
    assert_eq!(
        (call, event["calls"].as_array().unwrap().len()),
        (&expected, 1)
    );
    let process = &event["processes"][0];
    for (field, value) in [
        ("chat", json!("a")),
        ("call", json!("busy")),
        ("workspace", json!("default")),
        ("status", json!("running")),
        ("command", json!(command)),
        ("last_line", json!("last line")),
    ] {
        assert_eq!(process[field], value, "{field}: {process}");
    }
    assert!(process["usage"]["memory_bytes"].as_u64().unwrap() > 0);
    assert!(process["usage"]["processes"].as_u64().unwrap() >= 1);
    let started = process["started_at_unix_ms"].as_u64().unwrap();
    assert_eq!(Some(started / 1000), process["started_at_unix"].as_u64());
    // The list of processes has the same.
    let (status, list) = answer(server.request(Method::GET, "/v1/processes?running=true")).await;
    assert_eq!(status, 200);
    let listed = &list["processes"][0];
    assert_eq!(listed["last_line"], "last line");
    assert!(listed["usage"]["cpu_ms"].as_u64() >= process["usage"]["cpu_ms"].as_u64());
    // A later reader gets all of it at once.
    let mut later = Stream::of(&server, TOKEN).await;
    assert_eq!(ids(&later.next().await.unwrap(), "calls"), ["a/busy"]);
    let cancelling = server.request(Method::DELETE, "/v1/chats/a/calls/busy");
    assert_eq!(answer(cancelling).await.0, 200);
    for stream in [&mut stream, &mut later] {
        stream
            .until(|event| event["calls"] == json!([]) && event["processes"] == json!([]))
            .await;
    }
    // An ended process uses nothing.
    let (_, list) = answer(server.request(Method::GET, "/v1/processes")).await;
    let ended = &list["processes"][0];
    assert_eq!(
        (&ended["usage"], &ended["last_line"]),
        (&Value::Null, &"last line".into())
    );
}

#[tokio::test]
async fn a_bounded_token_sees_its_own_alone_and_hears_of_nothing_else() {
    let (setup, server) = server().await;
    let mut all = Stream::of(&server, TOKEN).await;
    let mut some = Stream::of(&server, READER).await;
    let mut tools = Stream::of(&server, TOOLS).await;
    for stream in [&mut all, &mut some, &mut tools] {
        assert_eq!(stream.next().await.unwrap()["calls"], json!([]));
    }
    let sleeps = |name: &str| format!("echo runs > {name}; exec sleep 1000");
    run(&server, "z-1", "secret", &sleeps("one"));
    setup.file("one").await;
    all.until(|event| ids(event, "processes") == ["z-1/secret"])
        .await;
    run(&server, "a-1", "own", &sleeps("two"));
    setup.file("two").await;
    all.until(|event| ids(event, "processes") == ["a-1/own", "z-1/secret"])
        .await;
    // The first event after the empty one is about its own chat: the reader heard nothing of the other.
    let event = some.next().await.unwrap();
    let text = event.to_string();
    assert!(!text.contains("z-1") && !text.contains("secret"), "{text}");
    let event = match ids(&event, "processes").is_empty() {
        true => {
            some.until(|event| !ids(event, "processes").is_empty())
                .await
        }
        false => event,
    };
    assert_eq!(
        (ids(&event, "calls"), ids(&event, "processes")),
        (vec!["a-1/own".to_owned()], vec!["a-1/own".to_owned()])
    );
    assert_eq!(event["calls"][0].get("token"), None, "it is bounded");
    let call = server.request(Method::DELETE, "/v1/chats/z-1");
    assert_eq!(answer(call).await.0, 200);
    all.until(|event| ids(event, "calls") == ["a-1/own"]).await;
    // The token for one tool has heard of none of these calls: its next event is the end of the stream.
    drop((all, some));
    server.stop().await;
    assert_eq!(tools.next().await, None);
}

#[tokio::test]
async fn a_token_that_may_not_read_gets_no_stream() {
    let setup = Setup::new().await;
    let token = Token::new("token-of-an-admin").unwrap();
    let admin = Principal::new("admin", [Scope::Admin], None, None);
    let server = Server::with_tokens(setup.host.clone(), Tokens::new([(token, admin)])).await;
    let request = server.client.get(format!("{}/v1/events", server.url));
    let (status, problem) = answer(request.bearer_auth("token-of-an-admin")).await;
    assert_eq!((status, &problem["code"]), (403, &"missing_scope".into()));
}

#[tokio::test]
async fn two_hundred_readers_get_the_same_and_the_limit_holds() {
    let (setup, server) = server().await;
    let mut readers = Vec::new();
    for index in 0..200 {
        let token = if index % 2 == 0 {
            TOKEN
        } else {
            "another-token"
        };
        readers.push(Stream::of(&server, token).await);
    }
    assert_eq!(setup.host.events().stats().readers, 200);
    for reader in &mut readers {
        assert_eq!(reader.next().await.unwrap()["calls"], json!([]));
    }
    run(&server, "a", "1", "echo runs > runs; exec sleep 1000");
    setup.file("runs").await;
    for reader in &mut readers {
        reader
            .until(|event| ids(event, "processes") == ["a/1"])
            .await;
    }
    for _ in 0..28 {
        readers.push(Stream::of(&server, TOKEN).await);
    }
    let (status, problem) = answer(server.request(Method::GET, "/v1/events")).await;
    assert_eq!((status, &problem["code"]), (429, &"busy".into()));
    drop(readers);
    // The places are free again.
    loop {
        let response = server
            .request(Method::GET, "/v1/events")
            .send()
            .await
            .unwrap();
        if response.status() == 200 {
            break;
        }
        assert_eq!(response.status(), 429);
    }
}

#[tokio::test]
async fn the_stream_ends_with_the_server() {
    let (_setup, server) = server().await;
    let mut stream = Stream::of(&server, TOKEN).await;
    assert!(stream.next().await.is_some());
    server.stop().await;
    assert_eq!(stream.next().await, None);
}
