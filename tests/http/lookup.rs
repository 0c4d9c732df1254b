//! Looking up what ran: lists of calls, chats and processes, in pages.

mod tokens;

use super::*;
use crate::harness::PATIENCE;

/// Asks for something with the right token. Returns the status and the body.
async fn get(server: &Server, path: &str) -> (u16, Value) {
    let response = server.request(Method::GET, path).send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}

/// Returns the entries of all pages of a list, each with this key.
async fn all(server: &Server, path: &str, list: &str, key: &str) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let (status, page) = get(server, &format!("{path}{after}")).await;
        assert_eq!(status, 200, "{page}");
        let entries = page[list].as_array().unwrap().iter();
        found.extend(entries.map(|entry| entry[key].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else {
            return found;
        };
        let separator = if path.contains('?') { '&' } else { '?' };
        after = format!("{separator}after={next}");
    }
}

async fn ids(server: &Server, path: &str) -> Vec<String> {
    all(server, path, "calls", "id").await
}

/// Runs a command that waits until the server ends, and returns once it runs.
fn sleeper(server: &Server, chat: &str, call: &str) -> tokio::task::JoinHandle<()> {
    let path = format!("/v1/chats/{chat}/calls/{call}");
    let body = execute(&format!("echo runs > {call}; exec sleep 1000"));
    let request = server.request(Method::PUT, &path).json(&body);
    tokio::spawn(async move { _ = request.send().await })
}

#[tokio::test]
async fn calls_of_a_chat_are_listed_newest_first() {
    let setup = Setup::with(|builder| builder.keep_arguments(true)).await;
    let server = Server::start(setup.host.clone()).await;
    for call in 0..5 {
        let body = execute(&format!("echo output-{call}"));
        assert_eq!(server.put("a", &call.to_string(), body).await.0, 200);
    }
    server.put("a", "fails", execute("exit 3")).await;
    let read = json!({ "tool": "read_file", "arguments": { "path": "nothing" } });
    server.put("a", "reads", read).await;
    let cancelled = server.request(Method::DELETE, "/v1/chats/a/calls/fenced");
    assert_eq!(cancelled.send().await.unwrap().status(), 204);
    server.put("b", "other", execute("true")).await;
    let running = sleeper(&server, "a", "runs");
    setup.file("runs").await;

    let every = ["runs", "reads", "fails", "4", "3", "2", "1", "0"];
    for limit in ["", "?limit=1", "?limit=4", "?limit=500"] {
        let path = format!("/v1/chats/a/calls{limit}");
        assert_eq!(ids(&server, &path).await, every, "{limit}");
    }
    let (_, page) = get(&server, "/v1/chats/a/calls?limit=3").await;
    let runs = &page["calls"][0];
    assert_eq!(
        (&runs["state"], &runs["tool"]),
        (&json!("running"), &json!("execute"))
    );
    assert!(runs.get("success").is_none() && runs.get("ended_at_unix_ms").is_none());
    let (_, page) = get(&server, "/v1/chats/a/calls?success=true&limit=1").await;
    let ended = &page["calls"][0];
    let arguments = json!({ "command": "echo output-4" }).to_string();
    assert_eq!(ended["arguments_bytes"], arguments.len());
    assert!(ended["reply_bytes"].as_u64().unwrap() > 50);
    assert!(ended["ended_at_unix_ms"].as_u64() >= ended["began_at_unix_ms"].as_u64());
    assert_eq!(ended["token"], "token");
    let (_, reply) = get(&server, "/v1/chats/a/calls/4").await;
    assert!(reply["guest_ms"].is_u64(), "{reply}");
    for time in ["queued_ms", "guest_ms"] {
        assert_eq!(ended[time], reply[time], "{time}");
        assert!(runs.get(time).is_none(), "{runs}");
    }
    let began = ended["began_at_unix_ms"].as_u64().unwrap();
    for (filter, expected) in [
        ("state=running", &["runs"][..]),
        // A call that was cancelled before it arrived did not run.
        ("state=cancelled", &[]),
        ("state=finished&tool=read_file", &["reads"]),
        ("state=failed", &[]),
        ("success=false", &["reads", "fails"]),
        ("success=true&text=output-3", &["3"]),
        // Of a reply, and of arguments.
        ("text=exit%203", &["fails"]),
        ("text=%22exit_code%22%3A3", &["fails"]),
        ("text=OUTPUT-3", &[]),
        ("tool=nothing", &[]),
        ("until=0", &[]),
        ("since=9007199254740991", &[]),
        ("state=running&success=true", &[]),
    ] {
        let path = format!("/v1/chats/a/calls?{filter}");
        assert_eq!(ids(&server, &path).await, expected, "{filter}");
    }
    let since = ids(&server, &format!("/v1/chats/a/calls?since={began}&limit=2")).await;
    let until = ids(&server, &format!("/v1/chats/a/calls?until={began}")).await;
    assert!(since.contains(&"4".to_owned()) && !until.contains(&"4".to_owned()));
    assert_eq!(since.len() + until.len(), every.len());
    assert_eq!(ids(&server, "/v1/calls?prefix=b").await, ["other"]);
    assert_eq!(ids(&server, "/v1/calls?call=other").await, ["other"]);
    assert_eq!(
        ids(&server, "/v1/calls?limit=3").await.len(),
        every.len() + 1
    );
    assert_eq!(ids(&server, "/v1/chats/nobody/calls").await, [""; 0]);

    let (status, kept) = get(&server, "/v1/chats/a/calls/3/arguments").await;
    assert_eq!((status, kept), (200, json!({ "command": "echo output-3" })));
    assert_eq!(
        get(&server, "/v1/chats/a/calls/runs/arguments").await.0,
        200
    );
    assert_eq!(
        get(&server, "/v1/chats/a/calls/fenced/arguments").await.0,
        204
    );
    let (status, problem) = get(&server, "/v1/chats/a/calls/nothing/arguments").await;
    assert_eq!((status, &problem["code"]), (404, &json!("unknown_call")));
    server.stop().await;
    running.await.unwrap();
}

#[tokio::test]
async fn chats_are_listed_with_the_busy_ones_first() {
    let (setup, server) = server().await;
    for chat in ["a", "b", "c", "d.e:f@g-h"] {
        server.put(chat, "1", execute("true")).await;
    }
    let running = [("c", "one"), ("c", "two"), ("x", "three")];
    let running = running.map(|(chat, call)| sleeper(&server, chat, call));
    for call in ["one", "two", "three"] {
        setup.file(call).await;
    }
    let every = ["c", "x", "a", "b", "d.e:f@g-h"];
    for limit in ["", "?limit=1", "?limit=2", "?limit=3"] {
        let path = format!("/v1/chats{limit}");
        assert_eq!(all(&server, &path, "chats", "chat").await, every, "{limit}");
    }
    let (_, page) = get(&server, "/v1/chats").await;
    assert_eq!(page["chats"][0]["running"], 2);
    assert_eq!(
        (&page["chats"][2]["running"], &page["chats"][2]["token"]),
        (&json!(0), &json!("token"))
    );
    assert!(page["chats"][2]["last_call_at_unix_ms"].as_u64().unwrap() > 1_700_000_000_000);
    assert_eq!(
        all(&server, "/v1/chats?prefix=d.", "chats", "chat").await,
        ["d.e:f@g-h"]
    );
    // The end of a chat is in the list until a call begins.
    let ended = async || {
        let (_, page) = get(&server, "/v1/chats?prefix=a").await;
        page["chats"][0]["ended_at_unix_ms"].is_u64()
    };
    assert!(!ended().await);
    let end = server.request(Method::DELETE, "/v1/chats/a").send();
    assert_eq!(end.await.unwrap().status(), 200);
    assert!(ended().await);
    server.put("a", "2", execute("true")).await;
    assert!(!ended().await);
    server.stop().await;
    for one in running {
        one.await.unwrap();
    }
}

#[tokio::test]
async fn processes_of_all_chats_are_listed() {
    let (setup, server) = server().await;
    let mut started = Vec::new();
    for (chat, command) in [
        ("a", "sleep 1000"),
        ("b", "true"),
        ("b", "sleep 1000"),
        ("c", "true"),
    ] {
        let arguments = json!({ "command": command, "run_in_background": command != "true" });
        let body = json!({ "tool": "execute", "arguments": arguments });
        let call = format!("call-{}", started.len());
        let (_, reply) = server.put(chat, &call, body).await;
        started.push(reply["processes"][0].as_str().unwrap().to_owned());
    }
    let expected = [2, 0, 3, 1].map(|index| started[index].clone());
    for limit in ["", "?limit=1", "?limit=3"] {
        let path = format!("/v1/processes{limit}");
        assert_eq!(
            all(&server, &path, "processes", "id").await,
            expected,
            "{limit}"
        );
    }
    let path = "/v1/processes?running=true";
    assert_eq!(all(&server, path, "processes", "id").await, &expected[..2]);
    let path = "/v1/processes?prefix=b&limit=1";
    let of_b = [started[2].clone(), started[1].clone()];
    assert_eq!(all(&server, path, "processes", "id").await, of_b);
    let (_, page) = get(&server, "/v1/processes?limit=1").await;
    let first = &page["processes"][0];
    assert_eq!(
        (&first["chat"], &first["call"]),
        (&json!("b"), &json!("call-2"))
    );
    drop(setup);
    server.stop().await;
}

#[tokio::test]
async fn wrong_parameters_are_told() {
    let (_setup, server) = server().await;
    let long = "x".repeat(257);
    for (path, parameters) in [
        (
            "/v1/chats/a/calls",
            &[
                "limit=0",
                "limit=501",
                "limit=-1",
                "limit=x",
                "limit=",
                "after=",
                "after=xyz",
                "after=-1",
                "after=+1",
                "after=FF",
                "after=00000000000000001",
                "state=queued",
                "state=",
                "success=1",
                "since=-1",
                "since=9007199254740992",
                "until=soon",
                "text=",
                "other=1",
                "prefix=a",
                "limit=1&limit=2",
            ][..],
        ),
        (
            "/v1/calls",
            &[
                "call=",
                "call=.",
                "call=%2F",
                "prefix=%20",
                "prefix=%C3%A4",
                "after=g",
            ],
        ),
        (
            "/v1/chats",
            &[
                "after=a",
                "after=b-",
                "after=b-..",
                "after=c-a",
                "after=b-%00",
                "prefix=%25",
                "running=true",
            ],
        ),
        (
            "/v1/processes",
            &[
                "after=0",
                "after=9999-1-a",
                "after=0-x-a",
                "after=0-11111111111111111-a",
                "running=2",
                "limit=1000",
            ],
        ),
    ] {
        for parameter in parameters
            .iter()
            .copied()
            .chain([format!("text={long}").as_str()])
        {
            let (status, problem) = get(&server, &format!("{path}?{parameter}")).await;
            let told = (status, &problem["code"]);
            assert_eq!(told, (400, &json!("broken_request")), "{path}?{parameter}");
        }
    }
    // Places that no page named, and that could be of one.
    for path in [
        "/v1/calls?after=0",
        "/v1/calls?after=ffffffffffffffff",
        "/v1/calls?after=4000000000000000",
        "/v1/chats?after=i-zzz",
        "/v1/chats?after=b-zzz",
        "/v1/processes?after=2-ffffffffffffffff-x",
    ] {
        assert_eq!(get(&server, path).await.0, 200, "{path}");
    }
    server.stop().await;
}

/// An id that has to be encoded in an address is found, and leads to its call.
#[tokio::test]
async fn odd_ids_are_found() {
    let (_setup, server) = server().await;
    let (chat, call) = ("-a:b@c.d_e", r#"%41?b#c&d="e'<f>"#);
    let encoded = "%2541%3Fb%23c%26d%3D%22e%27%3Cf%3E";
    assert_eq!(server.put(chat, encoded, execute("echo odd")).await.0, 200);
    let path = format!("/v1/calls?prefix={chat}&call={encoded}");
    let (_, page) = get(&server, &path).await;
    assert_eq!(
        (&page["calls"][0]["id"], &page["calls"][0]["chat"]),
        (&json!(call), &json!(chat))
    );
    let (status, _) = get(
        &server,
        &format!("/v1/chats/{chat}/calls/{encoded}/arguments"),
    )
    .await;
    assert_eq!(status, 204, "the operator did not ask for arguments");
    server.stop().await;
}

#[tokio::test]
async fn what_is_kept_is_listed_by_the_next_host() {
    let state = tempfile::tempdir().unwrap();
    let kept = state.path().join("state");
    let nothing = toolhost_call::call::Limits {
        keep: std::time::Duration::ZERO,
        keep_per_chat: 0,
        ..Default::default()
    };
    let setup = Setup::with(|builder| builder.keep(&kept).unwrap()).await;
    let server = Server::start(setup.host.clone()).await;
    server.put("a", "1", execute("echo first")).await;
    server.put("a", "2", execute("echo second")).await;
    server.stop().await;
    drop(setup);
    let setup = Setup::with(|builder| builder.keep(&kept).unwrap()).await;
    let server = Server::start(setup.host.clone()).await;
    server.put("a", "3", execute("echo third")).await;
    assert_eq!(
        ids(&server, "/v1/chats/a/calls?limit=1").await,
        ["3", "2", "1"]
    );
    assert_eq!(ids(&server, "/v1/calls?text=second").await, ["2"]);
    server.stop().await;
    drop(setup);
    // This host forgets replies at once. The call is known by its id only.
    let setup = Setup::with(|builder| builder.keep(&kept).unwrap().ledger_limits(nothing)).await;
    let server = Server::start(setup.host.clone()).await;
    let begun = std::time::Instant::now();
    while ids(&server, "/v1/chats/a/calls").await != [""; 0] {
        assert!(begun.elapsed() < PATIENCE);
    }
    assert_eq!(get(&server, "/v1/chats/a/calls/2").await.0, 410);
    assert_eq!(all(&server, "/v1/chats", "chats", "chat").await, ["a"]);
    server.stop().await;
}
