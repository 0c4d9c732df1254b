//! Guests through a host: what they were granted works, the rest is denied, recorded, and explained in the log.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use toolhost_call::tool::ErrorKind;
use toolhost_core::{Grants, Options};
use toolhost_plugin::Limits;
use toolhost_workspace::files::FilesGrant;

use super::support::{Script, Seen, Server, response};
use crate::guest::component_for;
use crate::harness::{self, Setup, request};

pub(super) fn visitor(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/outgoing");
    let read = |file: String| std::fs::read_to_string(directory.join(file)).unwrap();
    component_for(
        name,
        read(format!("{name}.wat")),
        &read("visitor.wit".into()),
        "visitor",
    )
}

/// A host with one of the guests here.
pub(super) async fn host(name: &str, grants: Grants, limits: Limits) -> Setup {
    let options = Options {
        grants,
        limits,
        ..Options::new("visitor")
    };
    Setup::with(|builder| {
        builder
            .without_shell()
            .files(FilesGrant::None)
            .plugin(visitor(name), options)
    })
    .await
}

/// What a guest replies.
pub(super) async fn reply(setup: &Setup, argument: &str) -> String {
    let outcome = setup.outcome("t", json!({ "a": argument })).await;
    let shown: Value = serde_json::to_value(outcome.as_ref()).unwrap();
    shown["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{shown}"))
        .to_owned()
}

fn http(patterns: &[String]) -> Grants {
    Grants::default().with_http(patterns.iter().map(|text| text.parse().unwrap()))
}

#[tokio::test]
async fn a_request_goes_where_it_was_granted_and_nowhere_else() {
    let mut server = Server::answering(response("200 OK", "hello")).await;
    let mut other = Server::answering(response("200 OK", "secret")).await;
    let (granted, denied) = (
        format!("127.0.0.1:{}", server.port),
        format!("127.0.0.1:{}", other.port),
    );
    let setup = host(
        "requests",
        http(&[format!("http://{granted}")]),
        Limits::default(),
    )
    .await;
    assert_eq!(reply(&setup, &format!("g{granted}")).await, "hello");
    let seen = server.request().await;
    assert!(
        seen.starts_with(&format!(
            "GET /path?token=secret HTTP/1.1\r\nhost: {granted}\r\n"
        )),
        "{seen}"
    );
    // `Host` is a header that no guest may set; the guest would trap if it could.
    assert_eq!(reply(&setup, &format!("h{granted}")).await, "hello");
    let log = harness::logged(async {
        // `HTTP-request-denied` and `HTTP-request-URI-invalid`.
        assert_eq!(reply(&setup, &format!("g{denied}")).await, "error 15");
        assert_eq!(reply(&setup, &format!("gx@{granted}")).await, "error 19");
        assert_eq!(reply(&setup, "g2130706433").await, "error 19");
    })
    .await;
    let expected = format!(
        "the plugin was not granted requests to http://{denied}: add \"http://{denied}\" to its grant `http`"
    );
    assert!(log.contains(&expected), "{log}");
    // A body that the guest still writes is not cut off: else it would take the denial for a lost connection.
    assert_eq!(reply(&setup, &format!("w{denied}")).await, "error 15");
    assert!(other.is_untouched());
}

/// The host gives a guest the redirect, and its next request is judged like any other.
#[tokio::test]
async fn a_redirect_to_loopback_is_a_request_that_was_not_granted() {
    let mut inner = Server::answering(response("200 OK", "secret")).await;
    let target = format!("127.0.0.1:{}", inner.port);
    let outer = Server::answering(response(
        &format!("302 Found\r\nLocation: http://{target}/"),
        "moved",
    ))
    .await;
    let setup = host(
        "requests",
        http(&[
            format!("http://127.0.0.1:{}", outer.port),
            "http://*".into(),
        ]),
        Limits::default(),
    )
    .await;
    assert_eq!(
        reply(&setup, &format!("g127.0.0.1:{}", outer.port)).await,
        "moved"
    );
    assert_eq!(reply(&setup, &format!("g{target}")).await, "error 15");
    // `destination-IP-prohibited`: the host is granted by `*`, its address is not.
    assert_eq!(reply(&setup, "g127.0.0.1").await, "error 04");
    assert!(inner.is_untouched());
}

#[tokio::test]
async fn limits_are_errors_for_the_guest_and_the_reason_of_its_trap() {
    let server = Server::answering(response("200 OK", &"x".repeat(1000))).await;
    let at = format!("127.0.0.1:{}", server.port);
    let few = Limits {
        http_requests: 3,
        ..Limits::default()
    };
    let little = Limits {
        http_bytes: 3_000,
        ..Limits::default()
    };
    for (limits, text) in [
        (few, "limit of 3 HTTP requests for one call reached"),
        (little, "limit of 3000 bytes of HTTP for one call reached"),
    ] {
        let setup = host("requests", http(&[format!("http://{at}")]), limits).await;
        // `internal-error` is the one code with room for a text.
        assert_eq!(
            reply(&setup, &format!("l{at}")).await,
            format!("error 38 {text}")
        );
        let outcome = setup.outcome("t", json!({ "a": format!("t{at}") })).await;
        let error = outcome.result.as_ref().unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (
                ErrorKind::Limit,
                format!("the tool was stopped: {text}").as_str()
            )
        );
    }
}

/// A response that never ends, however slow, ends with its call; and nothing of it stays.
#[tokio::test]
async fn a_response_without_end_ends_with_the_call() {
    let mut server = Server::holding("HTTP/1.1 200 OK\r\n\r\nx").await;
    let at = format!("127.0.0.1:{}", server.port);
    let limits = Limits {
        deadline: Duration::from_millis(300),
        ..Limits::default()
    };
    let setup = host("requests", http(&[format!("http://{at}")]), limits).await;
    let outcome = setup.outcome("t", json!({ "a": format!("g{at}") })).await;
    assert_eq!(outcome.result.as_ref().unwrap_err().kind, ErrorKind::Limit);
    server.request().await;
    assert_eq!(server.seen().await, Seen::Closed);
    let drip = Script {
        answer: b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
        drip: Some(b'x'),
        hold: false,
    };
    let mut server = Server::scripted(drip).await;
    let at = format!("127.0.0.1:{}", server.port);
    let limits = Limits {
        http_bytes: 100_000,
        ..Limits::default()
    };
    let setup = host("requests", http(&[format!("http://{at}")]), limits).await;
    assert_eq!(
        reply(&setup, &format!("g{at}")).await,
        "error 38 limit of 100000 bytes of HTTP for one call reached"
    );
    server.request().await;
    assert_eq!(server.seen().await, Seen::Closed);
}

#[tokio::test]
async fn a_cancelled_call_closes_its_connections() {
    let mut server = Server::holding("").await;
    let at = format!("127.0.0.1:{}", server.port);
    let limits = Limits {
        cancel_grace: Duration::from_millis(1),
        ..Limits::default()
    };
    let setup = host("requests", http(&[format!("http://{at}")]), limits).await;
    let calling = tokio::spawn({
        let host = setup.host.clone();
        let request = request("chat", "t", &json!({ "a": format!("g{at}") }));
        async move { host.call(request).await.unwrap() }
    });
    server.request().await;
    setup.host.shutdown().await;
    assert_eq!(server.seen().await, Seen::Closed);
    let outcome = calling.await.unwrap();
    assert_eq!(
        outcome.result.as_ref().unwrap_err().kind,
        ErrorKind::Cancelled
    );
}

/// What a guest prepares and never sends is held by the host, and it is little for each request.
#[tokio::test]
async fn requests_that_are_never_sent_hold_little() {
    let setup = host("hoard", http(&["http://*".into()]), Limits::default()).await;
    let reply = reply(&setup, "").await;
    let (refused, held) = reply.split_at(4);
    // Method, scheme, authority and path.
    assert_eq!(refused, "1111");
    let held: usize = held.parse().unwrap();
    assert!(held > 0 && held <= 300 * 2 * (16 << 10), "{held} bytes");
}

/// As every capability.
#[tokio::test]
async fn nothing_is_sent_while_a_plugin_is_asked_for_its_tools() {
    const LIST: &str = r#"(func (export "toolhost:plugin/tools@0.1.0#list-tools") (result i32)"#;
    let mut server = Server::answering(response("200 OK", "hello")).await;
    let at = format!("127.0.0.1:{}", server.port);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests");
    let read = |file: &str| std::fs::read_to_string(directory.join(file)).unwrap();
    // Its tool has the number of the error at the end of its name.
    let list = format!(
        r#"(data (i32.const 1200) "{at}")
        (func $allocating)
        {LIST}
          (drop (call $fetch (i32.const 1200) (i32.const {})))
          (memory.copy (i32.const 161) (i32.const 3006) (i32.const 2))
          (i32.store (i32.const 68) (i32.const 3))"#,
        at.len()
    );
    let prelude = read("guests/prelude.wat");
    assert!(prelude.contains(LIST));
    let text = format!(
        "(module {}\n{})",
        read("outgoing/requests.wat"),
        prelude.replace(LIST, &list)
    );
    let guest = component_for("requests", text, &read("outgoing/visitor.wit"), "visitor");
    let audit = tempfile::tempdir().unwrap();
    let (trail, path) = trail(audit.path());
    let options = Options {
        grants: http(&[format!("http://{at}")]),
        ..Options::new("visitor")
    };
    let setup = Setup::with(|builder| {
        let builder = builder
            .without_shell()
            .files(FilesGrant::None)
            .audit(trail.clone());
        builder.plugin(guest, options)
    })
    .await;
    // `HTTP-request-denied`.
    setup.outcome("t15", json!({})).await;
    assert!(server.is_untouched());
    assert!(trail.finish());
    let denied = &lines(&path, "denied")[0];
    assert_eq!(
        (&denied["capability"], &denied["what"]),
        (&json!("http"), &json!("used while no tool was called"))
    );
}

#[tokio::test]
async fn bytes_of_requests_and_responses_are_counted() {
    let answer = response("200 OK", "hello");
    let mut server = Server::answering(answer.clone()).await;
    let at = format!("127.0.0.1:{}", server.port);
    let grants = http(&[format!("http://{at}")]);
    let setup = host("requests", grants, Limits::default()).await;
    assert_eq!(reply(&setup, &format!("g{at}")).await, "hello");
    let sent = server.request().await.len();
    let metrics = setup.host.metrics();
    let line = |direction: &str, bytes: usize| {
        format!(
            "toolhost_plugin_http_bytes_total{{plugin=\"visitor\",direction=\"{direction}\"}} {bytes}\n"
        )
    };
    // The connection ends a moment after its call.
    let counted = async {
        while !metrics.text().contains("http_bytes_total{") {
            crate::harness::a_moment().await;
        }
    };
    tokio::time::timeout(harness::PATIENCE, counted)
        .await
        .unwrap();
    let text = metrics.text();
    assert!(text.contains(&line("sent", sent)), "{text}");
    assert!(text.contains(&line("received", answer.len())), "{text}");
}

#[tokio::test]
async fn variables_are_those_that_were_granted() {
    let mut some = Grants::default();
    some.env = vec![
        "PATH".into(),
        "SURELY_NOT_SET_ANYWHERE".into(),
        "A=B".into(),
    ];
    let log = harness::logged(async {
        let setup = host("environment", some, Limits::default()).await;
        let expected = std::env::var("PATH").unwrap();
        assert_eq!(reply(&setup, "").await, format!("PATH={expected}\n"));
    })
    .await;
    assert!(log.contains("SURELY_NOT_SET_ANYWHERE"), "{log}");
    let setup = host("environment", Grants::default(), Limits::default()).await;
    assert_eq!(reply(&setup, "").await, "");
}

#[tokio::test]
async fn there_are_no_sockets() {
    let audit = tempfile::tempdir().unwrap();
    let (trail, path) = trail(audit.path());
    let options = Options::new("visitor");
    let setup = Setup::with(|builder| {
        let builder = builder
            .without_shell()
            .files(FilesGrant::None)
            .audit(trail.clone());
        builder.plugin(visitor("sockets"), options)
    })
    .await;
    // `access-denied`, three times.
    assert_eq!(reply(&setup, "").await, "111");
    assert!(trail.finish());
    let denied: Vec<String> = lines(&path, "denied")
        .iter()
        .map(|line| line["what"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        denied,
        ["a TCP socket", "a UDP socket", "the lookup of a name"]
    );
}

#[tokio::test]
async fn requests_and_refusals_are_recorded_without_paths() {
    let server = Server::answering(response("200 OK", "hello")).await;
    let at = format!("127.0.0.1:{}", server.port);
    let audit = tempfile::tempdir().unwrap();
    let (trail, path) = trail(audit.path());
    let options = Options {
        grants: http(&[format!("http://{at}")]),
        ..Options::new("visitor")
    };
    let setup = Setup::with(|builder| {
        let builder = builder
            .without_shell()
            .files(FilesGrant::None)
            .audit(trail.clone());
        builder.plugin(visitor("requests"), options)
    })
    .await;
    assert_eq!(reply(&setup, &format!("g{at}")).await, "hello");
    assert_eq!(reply(&setup, "gother.example").await, "error 15");
    assert!(trail.finish());
    let sent = &lines(&path, "http_request")[0];
    assert_eq!(
        (&sent["method"], &sent["authority"], &sent["status"]),
        (&json!("GET"), &json!(format!("http://{at}")), &json!(200))
    );
    let denied = &lines(&path, "denied")[0];
    assert_eq!(
        (&denied["capability"], &denied["what"]),
        (&json!("http"), &json!("a request to http://other.example"))
    );
    // The guest asked for `/path?token=secret`. The grants in the trail have a key `secrets`.
    let text = std::fs::read_to_string(path).unwrap();
    assert!(!text.contains("token") && !text.contains("/path"), "{text}");
}

/// A trail in a directory, and its file.
fn trail(directory: &Path) -> (toolhost_call::audit::Audit, std::path::PathBuf) {
    use toolhost_call::audit::{Audit, Config};
    let state = toolhost_state::state_dir::StateDir::open(&directory.join("audit")).unwrap();
    let trail = Audit::open(state, &Config::default(), &Default::default()).unwrap();
    (trail, directory.join("audit/audit.jsonl"))
}

/// The lines of one kind.
fn lines(path: &Path, event: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let all = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|line| line["event"] == event).collect()
}
