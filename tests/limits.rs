//! Every limit that this host enforces by itself: hit once, with its text and its metric. And the metrics over HTTP.

use std::time::Duration;

use serde_json::json;
use toolhost_call::metrics::LimitKind;
use toolhost_call::metrics::Metrics;
use toolhost_call::tool::ErrorKind;
use toolhost_core::Options;
use toolhost_plugin::{Busy, Engine, Limits, Plugin};
use toolhost_workspace::files::FilesGrant;

use crate::guest::{guest, limited, options};
use crate::harness::{PATIENCE, Server, Setup, call, request, until};

/// A host with one guest and nothing else.
async fn host_of(name: &str, limits: Limits) -> Setup {
    host_with(guest(name), limited("p", limits)).await
}

async fn host_with(component: impl Into<Vec<u8>>, options: Options) -> Setup {
    Setup::with(|builder| {
        builder
            .without_shell()
            .files(FilesGrant::None)
            .plugin(component, options)
    })
    .await
}

/// How often a limit of the plugin `p` was counted.
fn hits(metrics: &Metrics, limit: LimitKind) -> u64 {
    let name = limit.name();
    let labels = format!("plugin=\"p\",limit=\"{name}\"");
    value(
        &metrics.text(),
        &format!("toolhost_plugin_limits_hit_total{{{labels}}}"),
    )
}

/// The value of a metric by its name and labels; 0 if it is not there.
fn value(text: &str, metric: &str) -> u64 {
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
    found.map_or(0, |value| value.parse().unwrap())
}

#[tokio::test]
async fn what_ends_a_guest() {
    let small = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        limits
    };
    let defaults = Limits::default();
    let cases = [
        (
            "endless_loop",
            small(|limits| limits.guest_time = Duration::from_millis(50)),
            LimitKind::GuestTime,
            "guest time limit of 50 ms reached",
        ),
        (
            "endless_loop",
            Limits {
                guest_time: Duration::from_secs(3600),
                deadline: Duration::from_millis(100),
                ..Limits::default()
            },
            LimitKind::Deadline,
            "deadline of 100 ms reached",
        ),
        (
            "memory_bomb",
            defaults.clone(),
            LimitKind::Memory,
            "memory limit of 64 MiB reached",
        ),
        (
            "table_bomb",
            defaults.clone(),
            LimitKind::TableElements,
            "limit of 100000 table elements reached",
        ),
        (
            "deep_recursion",
            defaults.clone(),
            LimitKind::Stack,
            "stack limit of 1 MiB reached",
        ),
        (
            "handle_hoard",
            small(|limits| limits.handles = 10),
            LimitKind::Handles,
            "limit of 10 handles reached",
        ),
        (
            "giant_reply",
            defaults.clone(),
            LimitKind::Reply,
            "reply limit of 1 MiB reached: it has 2097216 bytes",
        ),
        (
            "endless_reply",
            defaults,
            LimitKind::HostCallData,
            "limit of 8 MiB of data for one call into the host reached",
        ),
    ];
    for (name, limits, kind, text) in cases {
        let setup = host_of(name, limits).await;
        let outcome = setup.outcome("t", json!({})).await;
        let error = outcome.result.as_ref().unwrap_err();
        assert_eq!(error.kind, ErrorKind::Limit, "{error}");
        assert_eq!(error.message, format!("the tool was stopped: {text}"));
        assert_eq!(hits(setup.host.metrics(), kind), 1, "{name}");
        let text = setup.host.metrics().text();
        let ended = "toolhost_plugin_calls_total{plugin=\"p\",outcome=\"limit\"}";
        assert_eq!(value(&text, ended), 1);
        assert_eq!(value(&text, "toolhost_plugin_traps_total{plugin=\"p\"}"), 0);
        setup.host.shutdown().await;
    }
}

#[tokio::test]
async fn instances() {
    let metrics = Metrics::default();
    let engine = Engine::new(None)
        .unwrap()
        .observed(Default::default(), metrics.clone());
    let limits = Limits {
        instances: 1,
        ..Limits::default()
    };
    let error = Plugin::load(&engine, &guest("log_flood"), limited("p", limits))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the plugin did not list its tools: the tool was stopped: limit of 1 core instances reached"
    );
    assert_eq!(hits(&metrics, LimitKind::Instances), 1);
}

#[tokio::test]
async fn log() {
    let limits = Limits {
        log: 1000,
        ..Limits::default()
    };
    let setup = host_of("log_flood", limits).await;
    assert!(!setup.outcome("t", json!({})).await.is_error());
    // The guest ends after its call has, and with it its log.
    until("the log is counted", || {
        (hits(setup.host.metrics(), LimitKind::Log) == 1).then_some(())
    })
    .await;
    let text = setup.host.metrics().text();
    let metric = "toolhost_plugin_log_left_out_bytes_total{plugin=\"p\"}";
    assert!(value(&text, metric) > 1000);
}

#[tokio::test]
async fn processes_of_one_call() {
    let none = Limits {
        process_starts: 0,
        ..Limits::default()
    };
    let setup = host_with(toolhost_artifacts::SHELL, limited("p", none)).await;
    let arguments = json!({ "command": "echo x > started" });
    let outcome = setup.outcome("execute", arguments).await;
    let shown = serde_json::to_string(outcome.as_ref()).unwrap();
    assert!(
        shown.contains("limit of 0 processes for one call reached"),
        "{shown}"
    );
    assert_eq!(hits(setup.host.metrics(), LimitKind::ProcessStarts), 1);
    assert!(!setup.root().join("started").exists());
    setup.host.shutdown().await;
}

#[tokio::test]
async fn data_of_one_call() {
    let little = Limits {
        host_data: 1000,
        ..Limits::default()
    };
    let setup = host_with(toolhost_artifacts::FILES, limited("p", little)).await;
    let write = |bytes: usize| json!({ "path": "file", "content": "x".repeat(bytes) });
    let outcome = setup.outcome("write_file", write(1000)).await;
    assert!(!outcome.is_error(), "{outcome:?}");
    let outcome = setup.outcome("write_file", write(1001)).await;
    let shown = serde_json::to_string(outcome.as_ref()).unwrap();
    assert!(
        shown.contains("limit of 1000 bytes of data for files and processes of one call reached"),
        "{shown}"
    );
    assert_eq!(hits(setup.host.metrics(), LimitKind::HostData), 1);
    let text = setup.host.metrics().text();
    let written = "toolhost_plugin_files_written_total{plugin=\"p\"}";
    assert_eq!(value(&text, written), 1);
    setup.host.shutdown().await;
}

#[tokio::test]
async fn calls_at_the_same_time() {
    let metrics = Metrics::default();
    let engine = Engine::new(None)
        .unwrap()
        .observed(Default::default(), metrics.clone());
    let load = async |limits: Limits| {
        let component = guest("well_behaved");
        let loaded = Plugin::load(&engine, &component, limited("p", limits)).await;
        loaded.unwrap()
    };
    let (a, b) = ("a".parse().unwrap(), "b".parse().unwrap());
    let refused = |busy: Busy, limit: LimitKind, text: &str| {
        assert_eq!((busy.limit, busy.to_string().as_str()), (limit, text));
        assert_eq!(hits(&metrics, limit), 1);
    };
    let per_chat = load(Limits {
        calls_per_chat: 2,
        ..Limits::default()
    })
    .await;
    let places = [per_chat.admit(&a).unwrap(), per_chat.admit(&a).unwrap()];
    refused(
        per_chat.admit(&a).unwrap_err(),
        LimitKind::CallsPerChat,
        "limit of 2 calls of the plugin by one chat at the same time reached; try again later",
    );
    assert!(per_chat.admit(&b).is_ok());
    drop(places);
    assert!(per_chat.admit(&a).is_ok());
    let few = load(Limits {
        concurrent_calls: 1,
        ..Limits::default()
    })
    .await;
    let place = few.admit(&a).unwrap();
    refused(
        few.admit(&b).unwrap_err(),
        LimitKind::ConcurrentCalls,
        "limit of 1 calls of the plugin at the same time reached; try again later",
    );
    drop(place);
    let many = load(Limits {
        concurrent_calls: 1000,
        calls_per_chat: 1000,
        ..Limits::default()
    })
    .await;
    let places: Vec<_> = std::iter::from_fn(|| many.admit(&a).ok()).collect();
    assert_eq!(places.len(), 256);
    assert_eq!(hits(&metrics, LimitKind::CallsInAll), 1);
    let text = "limit of 256 calls of all plugins at the same time reached; try again later";
    assert_eq!(many.admit(&b).unwrap_err().to_string(), text);
}

#[tokio::test]
async fn a_busy_chat_is_refused_and_others_are_not() {
    let limits = Limits {
        guest_time: Duration::from_secs(3600),
        cancel_grace: Duration::from_millis(50),
        calls_per_chat: 1,
        ..Limits::default()
    };
    let setup = host_of("endless_loop", limits).await;
    let mut running = Box::pin(setup.host.call(request("a", "t", &json!({}))));
    assert!(futures_util::poll!(running.as_mut()).is_pending());
    let refused = setup.host.call(request("a", "t", &json!({}))).await;
    assert_eq!(
        refused.unwrap_err().to_string(),
        "limit of 1 calls of the plugin by one chat at the same time reached; try again later"
    );
    let mut other = Box::pin(setup.host.call(request("b", "t", &json!({}))));
    assert!(futures_util::poll!(other.as_mut()).is_pending());
    let text = "toolhost_plugin_calls_running{plugin=\"p\"}";
    until("both run", || {
        (value(&setup.host.metrics().text(), text) == 2).then_some(())
    })
    .await;
    setup.host.shutdown().await;
    assert_eq!(value(&setup.host.metrics().text(), text), 0);
}

/// A host whose guests may have so many bytes together.
async fn host_with_memory(name: &str, bytes: u64, limits: Limits) -> Setup {
    Setup::with(|builder| {
        builder
            .without_shell()
            .files(FilesGrant::None)
            .guest_memory(bytes)
            .plugin(guest(name), limited("p", limits))
            .plugin(guest("well_behaved"), options("other"))
    })
    .await
}

#[tokio::test]
async fn all_guests_together_have_a_limit_of_memory() {
    let setup = host_with_memory("memory_bomb", 8 << 20, Limits::default()).await;
    let metrics = setup.host.metrics();
    assert_eq!(value(&metrics.text(), "toolhost_guest_memory_bytes"), 0);
    let limit = "toolhost_guest_memory_limit_bytes";
    assert_eq!(value(&metrics.text(), limit), 8 << 20);
    let outcome = setup.outcome("p__t", json!({})).await;
    let error = outcome.result.as_ref().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
    assert_eq!(
        error.message,
        "the tool was stopped: limit of 8 MiB of memory of all calls at the same time reached; try again later"
    );
    assert_eq!(hits(metrics, LimitKind::MemoryInAll), 1);
    // Everything is given back.
    assert_eq!(value(&metrics.text(), "toolhost_guest_memory_bytes"), 0);
    let outcome = setup.outcome("other__t", json!({})).await;
    assert!(!outcome.is_error(), "{outcome:?}");
}

#[tokio::test]
async fn a_call_without_memory_to_begin_with_is_refused() {
    let limits = Limits {
        guest_time: Duration::from_secs(3600),
        cancel_grace: Duration::ZERO,
        ..Limits::default()
    };
    // Room for the stack and the memory of one.
    let setup = host_with_memory("endless_loop", 2 << 20, limits).await;
    let server = Server::start(setup.host.clone()).await;
    let mut running = Box::pin(setup.host.call(request("a", "p__t", &json!({}))));
    assert!(futures_util::poll!(running.as_mut()).is_pending());
    let body = json!({ "tool": "other__t", "arguments": {} });
    let (status, problem) = server.put("b", "1", body.clone()).await;
    assert_eq!(
        (status, &problem["code"]),
        (429, &json!("busy")),
        "{problem}"
    );
    let text = problem["detail"].as_str().unwrap();
    assert!(
        text.contains("limit of 2 MiB of memory of all calls at the same time reached"),
        "{text}"
    );
    // Nothing of it ran: the same call runs when there is room.
    let chat = "a".parse().unwrap();
    let actor = toolhost_call::call::Actor::default();
    let ended = setup.host.end_chat(&chat, &actor);
    let (ended, ran) = tokio::join!(ended, running);
    assert!(ended.is_ok() && ran.unwrap().is_error());
    let metrics = setup.host.metrics();
    until("the memory is given back", || {
        (value(&metrics.text(), "toolhost_guest_memory_bytes") == 0).then_some(())
    })
    .await;
    assert_eq!(server.put("b", "1", body).await.0, 200);
    server.stop().await;
}

#[tokio::test]
async fn metrics_over_http() {
    let setup = Setup::with(|builder| builder.plugin(guest("trap"), options("trap"))).await;
    let server = Server::start(setup.host.clone()).await;
    let path = "/metrics";
    let open = server.client.get(format!("{}{path}", server.url));
    assert_eq!(open.send().await.unwrap().status(), 401);
    for command in ["true", "echo hello"] {
        let arguments = json!({ "command": command });
        let outcome = call(&setup.host, request("chat", "execute", &arguments)).await;
        assert!(!outcome.unwrap().is_error());
    }
    assert!(setup.outcome("t", json!({})).await.is_error());
    let response = server
        .request(reqwest::Method::GET, path)
        .header("accept", "application/openmetrics-text; version=1.0.0")
        .send();
    let response = tokio::time::timeout(PATIENCE, response)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(
        response.headers()["content-type"],
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    let text = response.text().await.unwrap();
    parse(&text);
    for (metric, expected) in [
        (
            "toolhost_plugin_calls_total{plugin=\"shell\",outcome=\"ok\"}",
            2,
        ),
        (
            "toolhost_plugin_calls_total{plugin=\"trap\",outcome=\"broken\"}",
            1,
        ),
        ("toolhost_plugin_traps_total{plugin=\"trap\"}", 1),
        (
            "toolhost_plugin_processes_started_total{plugin=\"shell\"}",
            2,
        ),
        (
            "toolhost_plugin_call_duration_seconds_count{plugin=\"shell\"}",
            2,
        ),
        (
            "toolhost_plugin_guest_time_seconds_count{plugin=\"shell\"}",
            2,
        ),
        ("toolhost_plugin_memory_bytes_count{plugin=\"shell\"}", 2),
        ("toolhost_plugin_calls_running{plugin=\"shell\"}", 0),
        (
            "toolhost_plugin_state{plugin=\"shell\",state=\"loaded\"}",
            1,
        ),
    ] {
        assert_eq!(value(&text, metric), expected, "{metric}\n{text}");
    }
    server.stop().await;
}

/// Fails unless the text format of OpenMetrics allows each line, each sample after the type of its family.
fn parse(text: &str) {
    let sample = regex::Regex::new(
        r#"^([a-z][a-z0-9_]*)(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? [0-9.e+-]+$"#,
    )
    .unwrap();
    let mut family = String::new();
    let (body, end) = text.rsplit_once("# EOF\n").unwrap();
    assert_eq!(end, "");
    for line in body.lines() {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            let kinds = ["counter", "gauge", "histogram", "info"];
            assert!(kinds.contains(&kind), "{line}");
            name.clone_into(&mut family);
        } else if !line.starts_with("# HELP ") {
            let name = &sample.captures(line).unwrap_or_else(|| panic!("{line}"))[1];
            assert!(!family.is_empty() && name.starts_with(&family), "{line}");
        }
    }
}
