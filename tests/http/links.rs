//! Links to files: people get a file without a token, and nothing else.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use toolhost_call::audit::{Audit, Config};
use toolhost_call::metrics::Metrics;
use toolhost_core::{Host, Link, PublicAddress, Target};
use toolhost_http::access::{Principal, Scope, Tokens};
use toolhost_state::state_dir::StateDir;

use super::*;
use crate::harness;

/// The origin of the links in these tests. The tests send the rest of an address to the server that they started.
const ORIGIN: &str = "https://toolhost.example";

/// Gives a host an address for people.
pub(super) fn publish(host: &Host) {
    host.set_public_address(PublicAddress {
        origin: ORIGIN.to_owned(),
        ports: None,
    });
}

/// The answer to a request.
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    fn code(&self) -> (u16, String) {
        let problem: Value = serde_json::from_slice(&self.body).unwrap();
        (self.status, problem["code"].as_str().unwrap().to_owned())
    }
}

/// Returns the path of a link.
pub(super) fn path_of(url: &str) -> &str {
    let path = url.strip_prefix(ORIGIN).unwrap();
    assert!(path.starts_with("/v1/links/"), "{url}");
    path
}

/// Opens a link as a person does: without a token.
async fn open(server: &Server, method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = server
        .client
        .request(method, format!("{}{path}", server.url));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    Answer {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        body: response.bytes().await.unwrap().to_vec(),
    }
}

async fn get(server: &Server, path: &str) -> Answer {
    open(server, Method::GET, path, &[]).await
}

/// Returns a server with an address for people.
async fn public() -> (Setup, Server) {
    let (setup, server) = server().await;
    for host in std::iter::once(&setup.host).chain(&setup.others) {
        publish(host);
    }
    (setup, server)
}

/// Uploads a file of the chat `a`.
async fn upload(server: &Server, path: &str, content: &str) {
    let path = format!("/v1/chats/a/files/{path}");
    let request = server.request(Method::PUT, &path);
    let made = request.body(content.to_owned()).send().await.unwrap();
    assert_eq!(made.status(), 201);
}

/// Asks for a link to a file of a chat.
async fn ask(server: &Server, chat: &str, body: &Value) -> (u16, Value) {
    let request = server.request(Method::POST, &format!("/v1/chats/{chat}/links"));
    let response = request.json(body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_secs()
}

/// Returns the path of a link that this host has signed, for the file `name`.
fn signed(host: &Host, chat: &str, target: Target, expires_at_unix: u64) -> String {
    let text = host.sign(&Link {
        chat: chat.parse().unwrap(),
        target,
        expires_at_unix,
        by: "test".to_owned(),
    });
    format!("/v1/links/{text}/name")
}

#[tokio::test]
async fn a_model_shares_a_file_and_a_person_gets_it() {
    let (_setup, server) = public().await;
    upload(&server, "out/a%20b.txt", "0123456789").await;
    let call =
        json!({ "tool": "share_file", "arguments": { "path": "out/a b.txt", "expires_in": "2h" } });
    let before = now();
    let (status, outcome) = server.put("a", "1", call).await;
    assert_eq!(
        (status, &outcome["is_error"]),
        (200, &json!(false)),
        "{outcome}"
    );
    let shared = &outcome["structured"];
    assert_eq!(
        (&shared["name"], &shared["size"], &shared["media_type"]),
        (&json!("a b.txt"), &json!(10), &json!("text/plain"))
    );
    let url = shared["url"].as_str().unwrap();
    assert!(url.ends_with("/a%20b.txt"), "{url}");
    let link = outcome["content"].as_array().unwrap().last().unwrap();
    assert_eq!(
        *link,
        json!({ "type": "document", "uri": url, "media_type": "text/plain" })
    );
    let path = path_of(url);
    let got = get(&server, path).await;
    assert_eq!((got.status, &got.body[..]), (200, &b"0123456789"[..]));
    for (name, expected) in [
        ("content-type", "text/plain"),
        ("content-length", "10"),
        ("accept-ranges", "bytes"),
        ("cache-control", "private, no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"),
        (
            "content-disposition",
            "attachment; filename=\"a b.txt\"; filename*=UTF-8''a%20b.txt",
        ),
    ] {
        assert_eq!(got.header(name), expected, "{name}");
    }
    assert!(
        got.header("content-security-policy")
            .starts_with("sandbox; default-src 'none'")
    );
    let head = open(&server, Method::HEAD, path, &[]).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), "10");
    let part = open(&server, Method::GET, path, &[("range", "bytes=2-4")]).await;
    assert_eq!((part.status, &part.body[..]), (206, &b"234"[..]));
    assert_eq!(part.header("content-range"), "bytes 2-4/10");
    let etag = got.header("etag");
    let known = open(&server, Method::GET, path, &[("if-none-match", etag)]).await;
    assert_eq!(known.status, 304);
    let beyond = open(&server, Method::GET, path, &[("range", "bytes=10-")]).await;
    assert_eq!(beyond.code(), (416, "no_range".into()));
    // The name is for people, and a token changes nothing.
    let renamed = format!("{}/evil.html", path.rsplit_once('/').unwrap().0);
    let got = open(
        &server,
        Method::GET,
        &renamed,
        &[("authorization", "Bearer wrong")],
    )
    .await;
    assert_eq!(got.status, 200);
    assert!(got.header("content-disposition").contains("\"a b.txt\""));
    // The link lasts two hours.
    let expires = shared["expires"].as_str().unwrap();
    let expires = chrono::DateTime::parse_from_rfc3339(expires).unwrap();
    let lasts = expires.timestamp().unsigned_abs() - before;
    assert!((7200..=7200 + 600).contains(&lasts), "{lasts}");
    // Writing, listing and the rest of the API need a token.
    for method in [Method::PUT, Method::POST, Method::DELETE] {
        let answer = open(&server, method, path, &[]).await;
        assert_eq!(answer.code(), (405, "method_not_allowed".into()));
    }
    let files = get(&server, "/v1/chats/a/files/out/a%20b.txt").await;
    assert_eq!(files.code(), (401, "no_token".into()));
}

#[tokio::test]
async fn a_chat_server_shares_a_file() {
    let (setup, server) = public().await;
    upload(&server, "a.png", "png").await;
    upload(&server, "a.svg", "svg").await;
    let (status, made) = ask(
        &server,
        "a",
        &json!({ "path": "a.png", "lifetime_secs": 60 }),
    )
    .await;
    assert_eq!(status, 201, "{made}");
    let left = made["expires_at_unix"].as_u64().unwrap() - now();
    assert!(left <= 60, "{left}");
    assert_eq!(
        (&made["name"], &made["size"], &made["media_type"]),
        (&json!("a.png"), &json!(3), &json!("image/png"))
    );
    let shown = format!("{}?inline=true", path_of(made["url"].as_str().unwrap()));
    let shown = get(&server, &shown).await;
    assert_eq!(shown.status, 200);
    assert!(shown.header("content-disposition").starts_with("inline"));
    let absolute = setup.root().join("a.svg").display().to_string();
    let (status, made) = ask(&server, "a", &json!({ "path": absolute })).await;
    assert_eq!(status, 201, "{made}");
    let saved = format!("{}?inline=true", path_of(made["url"].as_str().unwrap()));
    let saved = get(&server, &saved).await;
    assert!(
        saved
            .header("content-disposition")
            .starts_with("attachment")
    );
    let directory = format!("{}?archive=zip", path_of(made["url"].as_str().unwrap()));
    assert_eq!(get(&server, &directory).await.status, 400);
    std::fs::create_dir(setup.root().join("dir")).unwrap();
    for (body, expected) in [
        (json!({ "path": "none" }), (404, "unknown_file")),
        (json!({ "path": "dir" }), (409, "file_conflict")),
        (json!({ "path": "/etc/passwd" }), (403, "file_refused")),
        (json!({ "path": "dir/../a.png" }), (400, "broken_request")),
        (
            json!({ "path": "a.png", "lifetime_secs": 59 }),
            (400, "broken_request"),
        ),
        (
            json!({ "path": "a.png", "lifetime_secs": 604_801 }),
            (400, "broken_request"),
        ),
        (
            json!({ "path": "a.png", "lifetime_secs": -1 }),
            (400, "broken_request"),
        ),
        (
            json!({ "path": "a.png", "more": 1 }),
            (400, "broken_request"),
        ),
        (json!({}), (400, "broken_request")),
    ] {
        let (status, problem) = ask(&server, "a", &body).await;
        let found = (status, problem["code"].as_str().unwrap());
        assert_eq!(found, expected, "{body}: {problem}");
    }
}

#[tokio::test]
async fn only_a_link_that_is_signed_and_young_is_one() {
    let (setup, server) = public().await;
    upload(&server, "a.txt", "mine").await;
    let (_, made) = ask(&server, "a", &json!({ "path": "a.txt" })).await;
    let path = path_of(made["url"].as_str().unwrap());
    let (text, name) = path
        .strip_prefix("/v1/links/")
        .unwrap()
        .split_once('/')
        .unwrap();
    for at in [0, 10, 43, 60, text.len() - 2] {
        let mut other = text.as_bytes().to_vec();
        other[at] = if other[at] == b'A' { b'B' } else { b'A' };
        let other = String::from_utf8(other).unwrap();
        let answer = get(&server, &format!("/v1/links/{other}/{name}")).await;
        assert_eq!(answer.code(), (404, "unknown_link".into()), "{at}");
        assert_eq!(answer.header("content-type"), "application/problem+json");
    }
    for path in [
        "/v1/links/x/y",
        "/v1/links/%00/y",
        &format!("/v1/links/{}/y", "A".repeat(9000)),
    ] {
        let answer = get(&server, path).await;
        assert_eq!(answer.code(), (404, "unknown_link".into()), "{path}");
    }
    let file = setup.root().join("a.txt").to_str().unwrap().to_owned();
    let target = || Target::File(file.clone());
    let valid = signed(&setup.host, "a", target(), now() + 100);
    assert_eq!(get(&server, &valid).await.body, b"mine");
    let old = signed(&setup.host, "a", target(), now());
    assert_eq!(
        get(&server, &old).await.code(),
        (410, "link_expired".into())
    );
    let port = signed(&setup.host, "a", Target::Port(80), now() + 100);
    assert_eq!(
        get(&server, &port).await.code(),
        (404, "unknown_link".into())
    );
    // Whoever signed it: a link shows a regular file of the workspace, and follows no link.
    std::os::unix::fs::symlink("a.txt", setup.root().join("link")).unwrap();
    for (path, expected) in [
        ("/etc/passwd", (404, "unknown_file")),
        ("none", (404, "unknown_file")),
        (".", (404, "unknown_file")),
        ("link", (404, "unknown_file")),
    ] {
        let target = match path {
            "/etc/passwd" => path.to_owned(),
            path => setup.root().join(path).to_str().unwrap().to_owned(),
        };
        let link = signed(&setup.host, "a", Target::File(target), now() + 100);
        let (status, code) = get(&server, &link).await.code();
        assert_eq!((status, code.as_str()), expected, "{path}");
    }
    // What was shared is gone, and comes back.
    std::fs::remove_file(setup.root().join("a.txt")).unwrap();
    assert_eq!(
        get(&server, path).await.code(),
        (404, "unknown_file".into())
    );
    std::fs::write(setup.root().join("a.txt"), "new").unwrap();
    assert_eq!(get(&server, path).await.body, b"new");
}

#[tokio::test]
async fn the_tool_says_what_cannot_be_shared() {
    let setup = Setup::new().await;
    std::fs::write(setup.root().join("a.txt"), "x").unwrap();
    let call = async |path: &str| {
        let outcome = setup.outcome("share_file", json!({ "path": path })).await;
        let reply = outcome.result.as_ref().unwrap();
        assert!(reply.is_error, "{reply:?}");
        format!("{:?}", reply.content)
    };
    let text = call("a.txt").await;
    assert!(
        text.contains("has no address") && text.contains("tell the person the path"),
        "{text}"
    );
    // The advice to tell a path is for files that exist.
    assert!(call("none").await.contains("file does not exist"));
    publish(&setup.host);
    std::fs::create_dir(setup.root().join("dir")).unwrap();
    assert!(call("dir").await.contains("not a file: dir"));
    assert!(
        call("/etc/passwd")
            .await
            .contains("outside of the workspace")
    );
    assert!(call("none").await.contains("file does not exist"));
}

#[tokio::test]
async fn a_server_without_an_address_for_people_makes_no_links() {
    let setup = Setup::new().await;
    std::fs::write(setup.root().join("a.txt"), "x").unwrap();
    let actor = toolhost_call::call::Actor::new("test".to_owned());
    let chat = "a".parse().unwrap();
    let files = setup.host.files_of(&chat, &actor, false).await.unwrap();
    let shared = setup
        .host
        .share_file(&chat, &files, &actor, "a.txt".into(), None);
    let error = shared.await.unwrap_err().to_string();
    assert!(error.contains("has no address"), "{error}");
}

#[tokio::test]
async fn a_chat_makes_no_flood_of_links() {
    let setup = Setup::new().await;
    publish(&setup.host);
    // Each host counts for itself.
    let server = Server::start(setup.host.clone()).await;
    upload(&server, "a.txt", "x").await;
    for _ in 0..toolhost_call::sharing::MAX_SHARED {
        let (status, made) = ask(&server, "a", &json!({ "path": "a.txt" })).await;
        assert_eq!(status, 201, "{made}");
    }
    let (status, refused) = ask(&server, "a", &json!({ "path": "a.txt" })).await;
    assert_eq!((status, &refused["code"]), (429, &json!("busy")));
    let (status, made) = ask(&server, "b", &json!({ "path": "a.txt" })).await;
    assert_eq!(status, 201, "{made}");
}

#[tokio::test]
async fn a_token_needs_the_scope_and_the_tool() {
    let setup = Setup::new().await;
    publish(&setup.host);
    std::fs::write(setup.root().join("a.txt"), "x").unwrap();
    let of_tool = |tool: &str| {
        let tools = Some([tool.to_owned()].into());
        Principal::new(tool, [Scope::Call], None, tools)
    };
    let all = [
        (
            "token-of-a-reader-",
            Principal::new("reader", [Scope::Read], None, None),
            "missing_scope",
        ),
        ("token-of-read-file", of_tool("read_file"), "bounded_token"),
        (
            "token-of-other-chats",
            Principal::new("chats", [Scope::Call], Some("b".into()), None),
            "foreign_chat",
        ),
        ("token-of-share-file", of_tool("share_file"), ""),
    ];
    let tokens = all
        .clone()
        .map(|(token, principal, _)| (Token::new(token).unwrap(), principal));
    let server = Server::with_tokens(setup.host.clone(), Tokens::new(tokens)).await;
    for (token, _, expected) in all {
        let url = format!("{}/v1/chats/a/links", server.url);
        let request = server.client.post(url).bearer_auth(token);
        let answer = request
            .json(&json!({ "path": "a.txt" }))
            .send()
            .await
            .unwrap();
        let status = answer.status().as_u16();
        let body: Value = answer.json().await.unwrap();
        match expected {
            "" => assert_eq!(status, 201, "{token}: {body}"),
            code => assert_eq!((status, &body["code"]), (403, &json!(code)), "{token}"),
        }
    }
}

#[tokio::test]
async fn links_and_their_uses_are_recorded_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let state = StateDir::open(&directory.path().join("audit")).unwrap();
    let audit = Audit::open(state, &Config::default(), &Metrics::default()).unwrap();
    let recorded = audit.clone();
    let setup = Setup::with(|builder| builder.audit(recorded)).await;
    publish(&setup.host);
    let server = Server::start(setup.host.clone()).await;
    upload(&server, "a.txt", "x").await;
    let call = json!({ "tool": "share_file", "arguments": { "path": "a.txt" } });
    let (_, outcome) = server.put("a", "1", call).await;
    let by_tool = outcome["structured"]["url"].as_str().unwrap().to_owned();
    let (_, made) = ask(&server, "a", &json!({ "path": "a.txt" })).await;
    let by_client = made["url"].as_str().unwrap().to_owned();
    assert_eq!(get(&server, path_of(&by_tool)).await.status, 200);
    std::fs::remove_file(setup.root().join("a.txt")).unwrap();
    assert_eq!(get(&server, path_of(&by_client)).await.status, 404);
    assert_eq!(get(&server, "/v1/links/x/y").await.status, 404);
    let counted = setup.host.metrics().text();
    for line in [
        "toolhost_links_total{kind=\"file\"} 2",
        "toolhost_link_uses_total{kind=\"file\",result=\"ok\"} 1",
        "toolhost_link_uses_total{kind=\"file\",result=\"unknown_file\"} 1",
        "toolhost_link_uses_total{kind=\"file\",result=\"unknown_link\"} 1",
    ] {
        assert!(counted.lines().any(|counted| counted == line), "{line}");
    }
    server.stop().await;
    assert!(audit.finish());
    let text = std::fs::read_to_string(directory.path().join("audit/audit.jsonl")).unwrap();
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |name: &str, fields: &[&str]| -> Vec<Value> {
        let pick = |event: &Value| fields.iter().map(|field| event[*field].clone()).collect();
        let events = events.iter().filter(|event| event["event"] == name);
        events.map(pick).collect()
    };
    let path = setup.root().join("a.txt").display().to_string();
    let shares = of("file_share", &["chat", "plugin", "call", "path"]);
    assert_eq!(
        shares,
        [
            json!(["a", "files", "1", path]),
            json!(["a", "http-api", null, path])
        ]
    );
    let expires = of("file_share", &["expires_at"]);
    assert_eq!(expires[1][0], made["expires_at_unix"]);
    assert_eq!(
        of("link_used", &["chat", "plugin", "path", "result"]),
        [
            json!(["a", "http-api", path, "ok"]),
            json!(["a", "http-api", path, "unknown_file"])
        ]
    );
    assert!(!text.contains(&by_tool), "the trail has no link");
}

#[tokio::test]
async fn an_operator_is_asked_before_a_file_is_shared() {
    use toolhost_call::approval::Approval;
    let script = "q=$(cat); case $q in *secret*) echo 'not that'; exit 1;; esac";
    let command = vec!["-c".to_owned(), script.to_owned()];
    let approval = Approval::command("sh", command, Duration::from_hours(1)).unwrap();
    let setup = Setup::with(|builder| builder.approval(approval)).await;
    publish(&setup.host);
    let server = Server::start(setup.host.clone()).await;
    for name in ["secret", "open"] {
        std::fs::write(setup.root().join(name), "x").unwrap();
    }
    let (status, refused) = ask(&server, "a", &json!({ "path": "secret" })).await;
    assert_eq!((status, &refused["code"]), (403, &json!("not_approved")));
    assert_eq!(ask(&server, "a", &json!({ "path": "open" })).await.0, 201);
    let share = async |path: &str| {
        let request = harness::request("a", "share_file", &json!({ "path": path }));
        harness::call(&setup.host, request).await.unwrap()
    };
    let refused = share("secret").await;
    assert!(
        refused
            .result
            .as_ref()
            .unwrap_err()
            .message
            .contains("not that")
    );
    assert!(!share("open").await.result.as_ref().unwrap().is_error);
}

#[tokio::test]
async fn a_closed_path_is_not_shared() {
    let base = tempfile::tempdir().unwrap();
    let state = harness::with_code(base.path().join("state"), None);
    let host = Host::builder(base.path()).state_dir(&state);
    let setup = Setup::of(host.start().await.unwrap(), base);
    publish(&setup.host);
    let server = Server::start(setup.host.clone()).await;
    let key = state.join("cache.key");
    assert!(key.exists());
    let (status, refused) = ask(&server, "a", &json!({ "path": "state/cache.key" })).await;
    assert_eq!((status, &refused["code"]), (403, &json!("file_refused")));
    let shared = setup.outcome("share_file", json!({ "path": "state/cache.key" }));
    let shared = shared.await;
    assert!(shared.result.as_ref().map_or(true, |reply| reply.is_error));
    let key = key.canonicalize().unwrap().display().to_string();
    let link = signed(&setup.host, "a", Target::File(key), now() + 100);
    assert_eq!(
        get(&server, &link).await.code(),
        (404, "unknown_file".into())
    );
}
