//! Plugins in Rust: how small one is, what is left of a panic, and requests.

use serde_json::json;
use toolhost_author::without_names;
use toolhost_call::tool::ErrorKind;
use toolhost_guests::{CONFORMANCE, FETCH_TITLE, WORD_COUNT};

use super::{Language, definition, error_of, invalid};
use crate::harness::{Setup, logged};
use crate::outgoing::support::{Server, response};

/// The most bytes that a plugin with one tool may have. 41 KB of them are Rust's standard library and the component around it: memory,
/// panics, standard error. The rest is the SDK: JSON, errors with suggestions, and the conversions of the contract.
const SMALL: usize = 62 * 1000;

#[test]
fn a_plugin_with_one_tool_is_small() {
    // As `toolhost plugin build` writes it where there is no wasm-opt.
    let size = without_names(WORD_COUNT).len();
    assert!(
        size <= SMALL,
        "word_count has {size} bytes, and may have {SMALL}"
    );
}

#[tokio::test]
async fn a_function_is_a_tool() {
    let language = Language {
        name: "word_count",
        component: without_names(WORD_COUNT),
    };
    let setup = language.host(language.options(&[])).await;
    let tool = definition(&setup, "word_count");
    assert_eq!(tool.description, "Counts the words of a text.");
    let expected = json!({
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text."}},
        "required": ["text"],
        "additionalProperties": false,
    });
    assert_eq!(tool.input_schema, expected);
    let reply = setup
        .call("word_count", json!({"text": "a b\u{a0}c"}))
        .await;
    assert_eq!(reply, json!({"words": 3}));
    let message = invalid(&setup, "word_count", json!({"texts": "a"})).await;
    assert_eq!(
        message,
        "invalid arguments: there is no argument `texts`; did you mean `text`? The arguments are `text`."
    );
    setup.host.shutdown().await;
}

#[tokio::test]
async fn a_panic_is_one_line() {
    let language = Language {
        name: "panicking",
        component: CONFORMANCE.to_vec(),
    };
    let setup = language.host(language.options(&[])).await;
    let lines = logged(async {
        let error = error_of(&setup, "panic", json!({"text": "text too long:\n 7 words"})).await;
        assert_eq!(error.kind, ErrorKind::Broken, "{error}");
    })
    .await;
    setup.host.shutdown().await;
    let told = |line: &&str| line.contains("toolhost::guest") && line.contains("panicking");
    let told: Vec<_> = lines.lines().filter(told).collect();
    assert_eq!(told.len(), 1, "{told:#?}");
    let words = "panicked at guest-tools/conformance/src/panic.rs:";
    assert!(told[0].contains(words), "{told:#?}");
    assert!(told[0].contains(": text too long:; 7 words"), "{told:#?}");
}

/// A host with `fetch_title`, which may send requests to this port of this machine.
async fn fetching(port: u16) -> Setup {
    let language = Language {
        name: "fetch_title",
        component: FETCH_TITLE.to_vec(),
    };
    let mut options = language.options(&[]);
    let granted = format!("http://127.0.0.1:{port}").parse().unwrap();
    options.grants = options.grants.with_http([granted]);
    language.host(options).await
}

#[tokio::test]
async fn requests_are_sent_and_answered() {
    let title = "long ".repeat(20_000);
    let page = format!("<html><title>{title}</title></html>");
    let mut server = Server::answering(response("200 OK", &page)).await;
    let setup = fetching(server.port).await;
    let url = format!("http://127.0.0.1:{}/a?b=c#d", server.port);
    let reply = setup.call("fetch_title", json!({ "url": url })).await;
    assert_eq!(reply, json!({ "title": title.trim() }));
    let request = server.request().await;
    assert!(request.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("accept: text/html\r\n"), "{request}");
    setup.host.shutdown().await;
}

#[tokio::test]
async fn requests_that_fail_say_why() {
    let mut other = Server::answering(response("200 OK", "")).await;
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let setup = fetching(port).await;
    for (url, kind, words) in [
        (
            format!("127.0.0.1:{port}"),
            ErrorKind::Failed,
            "does not start with https://",
        ),
        (
            format!("http://127.0.0.1:{}", other.port),
            ErrorKind::Denied,
            "lets this plugin send no requests there",
        ),
        (
            format!("http://127.0.0.1:{port}"),
            ErrorKind::Unavailable,
            "refuses the connection",
        ),
    ] {
        let error = error_of(&setup, "fetch_title", json!({ "url": url })).await;
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    assert!(other.is_untouched());
    setup.host.shutdown().await;
}

#[tokio::test]
async fn a_response_that_breaks_off_is_no_whole_one() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n<title>a</title>";
    let server = Server::answering(head.as_bytes().to_vec()).await;
    let setup = fetching(server.port).await;
    let url = format!("http://127.0.0.1:{}", server.port);
    let error = error_of(&setup, "fetch_title", json!({ "url": url })).await;
    assert_eq!(error.kind, ErrorKind::Failed, "{error}");
    assert!(error.message.contains("connection broke"), "{error}");
    setup.host.shutdown().await;
}
