//! Spans for a collector: a small one that keeps what it gets.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::routing::post;
use serde_json::{Value, json};

use super::spans::{self, Span};
use super::{Logged, TRACE, TRACEPARENT, execute};

/// The bodies that came in, one for each batch.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Bytes>>>);

impl Collector {
    /// Listens on a free port and returns its endpoint.
    async fn start(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let bodies = Arc::clone(&self.0);
        let take = move |headers: HeaderMap, body: Bytes| async move {
            assert_eq!(headers["content-type"], "application/x-protobuf");
            bodies.lock().unwrap().push(body);
        };
        let router = Router::new().route("/v1/traces", post(take));
        tokio::spawn(async move { axum::serve(listener, router).await });
        endpoint
    }

    /// The spans that came in.
    fn spans(&self) -> Vec<Span> {
        let bodies = self.0.lock().unwrap();
        bodies.iter().flat_map(|body| spans::read(body)).collect()
    }

    /// Whether these bytes came in.
    fn has(&self, bytes: &[u8]) -> bool {
        let bodies = self.0.lock().unwrap();
        let mut windows = bodies.iter().flat_map(|body| body.windows(bytes.len()));
        windows.any(|window| window == bytes)
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}

fn program(endpoint: &str) -> Logged {
    Logged::start(|command| {
        command
            .env("TOOLHOST_TOOL_MODE", "both")
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
            .env("OTEL_SERVICE_NAME", "name-of-this-test");
    })
}

/// Stops a program while the runtime of the test goes on, in which its collector is.
async fn stop(program: Logged) -> String {
    tokio::task::spawn_blocking(|| program.stop())
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_gets_the_spans_of_a_call() {
    let collector = Collector::default();
    let program = program(&collector.start().await);
    let headers = [("traceparent", TRACEPARENT)];
    let response = program
        .put("call-1", &headers, &execute("echo $TRACEPARENT"))
        .await;
    let reply: Value = response.json().await.unwrap();
    let handed_on = reply["structured"]["output"]
        .as_str()
        .unwrap()
        .trim()
        .to_owned();
    // The command is a child of the call, which belongs to the same trace as its caller.
    let parts: Vec<_> = handed_on.split('-').collect();
    assert_eq!((parts[1], parts[3]), (TRACE, "01"), "{handed_on}");
    assert_ne!(handed_on, TRACEPARENT);
    let log = stop(program).await;
    assert!(collector.has(&bytes(TRACE)), "{log}");
    assert!(
        collector.has(&bytes(parts[2])),
        "the span of the call: {log}"
    );
    // The caller's, of which the request is a child.
    assert!(collector.has(&bytes(&TRACEPARENT[36..52])), "{log}");
    for text in [
        "request",
        "call-1",
        "chat-1",
        "name-of-this-test",
        "/v1/chats/{chat}/calls/{call}",
    ] {
        assert!(collector.has(text.as_bytes()), "{text}: {log}");
    }
    assert!(!collector.has(b"echo $TRACEPARENT"));
    assert!(!collector.has(crate::harness::TOKEN.as_bytes()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_spans_of_nested_calls_are_within_that_of_the_script() {
    let collector = Collector::default();
    let program = program(&collector.start().await);
    // The second call starts when the first has ended, and the others run together.
    let code = "
        const print = async () => (await tools.execute({ command: 'echo $TRACEPARENT' })).output.trim();
        return [await print(), ...await Promise.all([print(), print()])];";
    let body = json!({ "tool": "run_script", "arguments": { "code": code } });
    let headers = [("traceparent", TRACEPARENT)];
    let reply: Value = loop {
        let response = program.put("call-1", &headers, &body).await;
        // The plugin of scripts is still being loaded.
        if response.status() != 404 {
            break response.json().await.unwrap();
        }
        crate::harness::a_moment().await;
    };
    let handed_on = reply["structured"]["result"].as_array();
    let handed_on = handed_on.unwrap_or_else(|| panic!("{reply}"));
    let log = stop(program).await;
    let spans = collector.spans();
    let of = |call: &str| {
        let mut spans = spans.iter();
        let found = spans.find(|span| {
            span.name == "call" && span.attributes.get("call").is_some_and(|id| id == call)
        });
        found.unwrap_or_else(|| panic!("{call}: {spans:?}\n{log}"))
    };
    let outer = of("call-1");
    assert_eq!(outer.attributes["tool"], "run_script");
    // The span of the request is a child of the caller's.
    let request = spans.iter().find(|span| span.id == outer.parent).unwrap();
    let caller = &TRACEPARENT[36..52];
    assert_eq!((&*request.name, &*request.parent), ("request", caller));
    assert_eq!(handed_on.len(), 3);
    for number in 1..=3 {
        let nested = of(&format!("call-1/{number}"));
        assert_eq!(nested.attributes["tool"], "execute");
        assert_eq!((&*nested.trace, &nested.parent), (TRACE, &outer.id));
        // What a command gets is the span of its own call; those that run together may start in any order.
        let own = format!("00-{TRACE}-{}-01", nested.id);
        let got = reply["structured"]["result"].to_string();
        assert!(got.contains(&own), "{own}: {got}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_not_there_is_named_once() {
    // Bound, so that nobody else listens there; and not listening.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let program = program(&format!("http://{}", socket.local_addr().unwrap()));
    for call in ["1", "2", "3"] {
        assert_eq!(program.put(call, &[], &execute("true")).await.status(), 200);
    }
    let log = stop(program).await;
    assert_eq!(
        log.matches("the collector accepts no spans").count(),
        1,
        "{log}"
    );
}
