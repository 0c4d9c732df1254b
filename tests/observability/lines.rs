//! Log lines: whose they are, what is never in them, and that nothing hostile leaves its field.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

use super::{Logged, TRACE, TRACEPARENT, execute};
use crate::guest::{guest, options};
use crate::harness::serving::server;
use crate::harness::{Setup, TOKEN, logged};

/// A program that logs all there is as JSON.
fn program() -> Logged {
    Logged::start(|command| {
        command
            .args(["--log-format", "json"])
            .env("TOOLHOST_LOG", "trace");
    })
}

/// All lines, each of which is a JSON object that says when and what.
fn json_lines(log: &str) -> Vec<Value> {
    let parse = |line| {
        let object: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        for field in ["timestamp", "level", "target", "message"] {
            assert!(object[field].is_string(), "{field}: {line}");
        }
        object
    };
    log.lines()
        .filter(|line| !line.is_empty())
        .map(parse)
        .collect()
}

fn with_message<'a>(lines: &'a [Value], message: &str) -> Vec<&'a Value> {
    let found: Vec<_> = lines
        .iter()
        .filter(|line| line["message"] == message)
        .collect();
    assert!(!found.is_empty(), "no line says {message:?}: {lines:#?}");
    found
}

#[tokio::test]
async fn each_says_whose_it_is_in_flat_fields() {
    let program = program();
    let headers = [("x-request-id", "r-1"), ("traceparent", TRACEPARENT)];
    let response = program.put("call-1", &headers, &execute("true")).await;
    assert_eq!(response.headers()["x-request-id"], "r-1");
    assert_eq!(response.status(), 200);
    let lines = json_lines(&program.stop());
    // The second is written on the threads for guests.
    for message in ["a call ended", "a guest ended"] {
        let found = with_message(&lines, message);
        let line = found.iter().find(|line| line["call"] == "call-1").unwrap();
        assert_eq!(line["request"], "r-1", "{line}");
        assert_eq!(line["chat"], "chat-1", "{line}");
        assert_eq!(line["plugin"], "shell", "{line}");
        assert_eq!(line["tool"], "execute", "{line}");
        assert_eq!(line["trace"], TRACE, "{line}");
        assert_eq!(line["level"], "DEBUG", "{line}");
    }
    let guest = with_message(&lines, "a guest ended")[0];
    assert!(
        guest["guest_time_us"].is_u64() && guest["memory"].is_u64(),
        "{guest}"
    );
    assert!(guest["ok"].is_boolean(), "{guest}");
    let ended = with_message(&lines, "a call ended")[0];
    assert_eq!(ended["state"], "finished");
    assert!(ended["duration_ms"].is_u64(), "{ended}");
    let answered = with_message(&lines, "answered a request");
    let line = answered
        .iter()
        .find(|line| line["request"] == "r-1")
        .unwrap();
    assert_eq!(line["route"], "/v1/chats/{chat}/calls/{call}");
    assert_eq!(
        (&line["method"], &line["status"]),
        (&json!("PUT"), &json!(200))
    );
    assert_eq!(
        (&line["principal"], &line["trace"]),
        (&json!("token"), &json!(TRACE))
    );
}

/// Ends a program that cannot start, and returns its lines.
fn refused(arguments: &[&str]) -> Vec<Value> {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    let output = command.args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    json_lines(&String::from_utf8(output.stderr).unwrap())
}

#[tokio::test]
async fn what_a_program_says_of_itself_is_json_too() {
    // Without a token, which it makes itself.
    let program = Logged::start(|command| {
        command
            .args(["--log-format", "json"])
            .env_remove("TOOLHOST_TOKEN");
    });
    let address = program.serving.url.trim_start_matches("http://").to_owned();
    // The address is in use.
    let failed = refused(&["--log-format", "json", "serve", "--listen", &address]);
    assert_eq!(failed.last().unwrap()["level"], "ERROR");
    assert!(
        failed.last().unwrap()["message"]
            .as_str()
            .unwrap()
            .contains(&address),
        "{failed:?}"
    );
    let url = program.serving.url.clone();
    let lines = json_lines(&program.stop());
    assert_eq!(
        with_message(&lines, &format!("listening on {url}"))[0]["url"],
        url
    );
    let says = |start: &str| {
        let mut messages = lines.iter().map(|line| line["message"].as_str().unwrap());
        messages.any(|message| message.starts_with(start))
    };
    assert!(says("token file: ") && says("try it: "), "{lines:?}");
    // Before anything is known of how lines look, the arguments say it.
    let failed = refused(&["serve", "--log-format=json", "--no-such-flag"]);
    assert_eq!(failed.len(), 1, "{failed:?}");
    let message = failed[0]["message"].as_str().unwrap();
    assert!(message.contains("--no-such-flag"), "{message}");
}

#[cfg(not(feature = "otel"))]
#[tokio::test]
async fn an_endpoint_for_spans_that_are_not_built_in_is_named() {
    let program = Logged::start(|command| {
        command
            .args(["--log-format", "json"])
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    });
    let lines = json_lines(&program.stop());
    let warned = lines.iter().find(|line| line["level"] == "WARN").unwrap();
    assert_eq!(warned["variable"], "OTEL_EXPORTER_OTLP_ENDPOINT");
    assert!(
        warned["message"]
            .as_str()
            .unwrap()
            .contains("--features otel")
    );
}

#[tokio::test]
async fn the_agent_api_says_who_asked() {
    let program = Logged::start(|command| {
        let log = ["--log-format", "json", "--log", "debug"];
        command.args(log).arg("--agent-api");
    });
    let url = format!("{}/api/v0/processes/list", program.serving.url);
    let sent = program.serving.client.get(url).bearer_auth(TOKEN);
    let sent = sent.header("x-request-id", "r-1").send().await;
    assert_eq!(sent.unwrap().status(), 200);
    let lines = json_lines(&program.stop());
    let answered = with_message(&lines, "answered a request");
    let mut answered = answered.iter();
    let line = answered.find(|line| line["request"] == "r-1").unwrap();
    assert_eq!(line["principal"], "token");
}

#[tokio::test]
async fn no_token_and_nothing_of_arguments_is_in_any() {
    let program = program();
    let command = "echo canary-of-arguments | tr a-z A-Z > /dev/null";
    let mut body = execute(command);
    body["attributes"] = json!({ "note": "canary-of-attributes" });
    let headers = [("x-canary", "canary-of-headers")];
    assert_eq!(program.put("call-1", &headers, &body).await.status(), 200);
    // What does not fit is refused with a text, which is for the client.
    let bad = json!({ "tool": "execute", "arguments": { "canary-of-names": "canary-of-values" } });
    program.put("call-2", &[], &bad).await;
    let unknown = json!({ "tool": "canary-of-tools", "arguments": {} });
    assert_eq!(program.put("call-3", &[], &unknown).await.status(), 200);
    let url = format!("{}/canary-of-paths?canary=of-queries", program.serving.url);
    for token in [TOKEN, "canary-of-tokens"] {
        let sent = program.serving.client.get(&url).bearer_auth(token).send();
        assert!(sent.await.unwrap().status().is_client_error());
    }
    let log = program.stop();
    with_message(&json_lines(&log), "answered a request");
    assert!(!log.contains("canary") && !log.contains(TOKEN), "{log}");
}

#[tokio::test]
async fn hostile_text_stays_in_its_field() {
    const NASTY: &str = r#""}{"level":"ERROR","x":"\u001b[2J"#;
    let program = program();
    // Fit to be logged, if it is escaped.
    let response = program
        .put("call-1", &[("x-request-id", NASTY)], &execute("true"))
        .await;
    assert_eq!(response.headers()["x-request-id"], NASTY);
    // A call may have such a name as well.
    let called = program.put("c%22%5C%7D", &[], &execute("true")).await;
    assert_eq!(called.status(), 200);
    let unknown = json!({ "tool": "x\n\u{1b}[2J2026 ERROR forged\u{202e}", "arguments": {} });
    assert_eq!(program.put("call-2", &[], &unknown).await.status(), 200);
    let address = program.serving.url.trim_start_matches("http://").to_owned();
    for id in ["two words", "\u{e4}", "tab\tbed", &"x".repeat(129)] {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let request = format!(
            "GET /%1b%5b2J%0aforged HTTP/1.1\r\nhost: localhost\r\nx-request-id: {id}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let made = answer
            .lines()
            .find_map(|line| line.strip_prefix("x-request-id: "));
        let made = made.unwrap();
        assert!(
            made.len() == 32 && made.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{answer}"
        );
    }
    let log = program.stop();
    assert!(
        !log.contains(['\u{1b}', '\u{202e}']) && !log.contains("two words"),
        "{log}"
    );
    let lines = json_lines(&log);
    assert!(!lines.iter().any(|line| line["level"] == "ERROR"), "{log}");
    let answered = with_message(&lines, "answered a request");
    assert!(
        answered.iter().any(|line| line["request"] == NASTY),
        "{log}"
    );
    let ended = with_message(&lines, "a call ended");
    assert!(ended.iter().any(|line| line["call"] == "c\"\\}"), "{log}");
}

#[tokio::test]
async fn lines_for_people_are_one_row_each() {
    let program = Logged::start(|command| {
        command.env("TOOLHOST_LOG", "debug");
    });
    let headers = [("x-request-id", "a\"b=c")];
    assert_eq!(
        program
            .put("call-1", &headers, &execute("true"))
            .await
            .status(),
        200
    );
    let log = program.stop();
    let line = log
        .lines()
        .find(|line| line.contains("a call ended"))
        .unwrap();
    let (_, fields) = line.split_once(" DEBUG a call ended ").unwrap();
    assert!(
        fields.contains("chat=chat-1 call=call-1 tool=execute plugin=shell"),
        "{line}"
    );
    assert!(fields.contains(r#" request="a\"b=c" "#), "{line}");
}

#[tokio::test]
async fn what_a_guest_writes_names_chat_call_and_plugin() {
    let lines = logged(async {
        let setup = Setup::with(|builder| {
            builder
                .without_shell()
                // No other test has a plugin of this name.
                .plugin(guest("forged_lines"), options("writes"))
        });
        let setup = setup.await;
        assert!(!setup.outcome("t", json!({})).await.is_error());
    });
    let lines = lines.await;
    let written: Vec<_> = lines
        .lines()
        .filter(|line| line.contains("plugin=\"writes\"") && line.contains("fine\\u{a}2026"))
        .collect();
    assert!(!written.is_empty(), "{lines}");
    for line in written {
        assert!(
            line.contains("toolhost::guest") && line.contains(" chat=\"chat\" call=\""),
            "{line}"
        );
    }
}

/// Counts the spans that are made on this thread.
#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl<S: tracing::Subscriber> Layer<S> for Count {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let ours = attributes.metadata().target().starts_with("toolhost");
        self.0.fetch_add(usize::from(ours), Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_call_costs_one_span_and_none_where_nothing_is_logged() {
    let setup = Setup::new().await;
    for (level, spans) in [
        (LevelFilter::OFF, 0),
        (LevelFilter::ERROR, 1),
        (LevelFilter::TRACE, 1),
    ] {
        let count = Count::default();
        let subscriber = tracing_subscriber::registry().with(count.clone().with_filter(level));
        // All but the guest runs on the thread of this test.
        let _subscribed = tracing::subscriber::set_default(subscriber);
        setup.execute("true").await;
        assert_eq!(count.0.load(Ordering::Relaxed), spans, "{level}");
    }
}
