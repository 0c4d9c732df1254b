//! Metrics over HTTP: they are what Prometheus reads, they count what happened, and nothing of a client is a label.

use std::io::Write as _;
use std::process::Stdio;

use reqwest::Method;
use serde_json::json;
use toolhost_artifacts::SCRIPT;
use toolhost_core::{Grants, Options};

use super::execute;
use super::exposition::Exposition;
use crate::guest::{guest, options};
use crate::harness::{PATIENCE, Server, Setup, until};

async fn scrape(server: &Server) -> Exposition {
    let response = server
        .request(Method::GET, "/metrics")
        .header("accept", "application/openmetrics-text")
        .send()
        .await
        .unwrap();
    Exposition::read(&response.text().await.unwrap())
}

/// Checks a text of Prometheus with the tool that comes with it: whether it can be read, and whether its names are sound.
#[toolhost_needs::needs(program = "promtool")]
#[tokio::test]
async fn promtool_accepts_what_a_scraper_gets() {
    let setup = Setup::with(|builder| builder.plugin(guest("memory_bomb"), options("bomb"))).await;
    let server = Server::start(setup.host.clone()).await;
    for body in [execute("echo 1"), json!({ "tool": "t", "arguments": {} })] {
        server.put("chat", "1", body).await;
    }
    assert!(setup.outcome("t", json!({})).await.is_error());
    let asked = server.request(Method::GET, "/metrics").send();
    let response = asked.await.unwrap();
    assert_eq!(
        response.headers()["content-type"],
        "text/plain; version=0.0.4; charset=utf-8"
    );
    let text = response.text().await.unwrap();
    for sample in [
        "# TYPE toolhost_build_info gauge",
        "# TYPE toolhost_plugin_calls_total counter",
        "# TYPE process_cpu_seconds_total counter",
    ] {
        assert!(text.lines().any(|line| line == sample), "{sample}: {text}");
    }
    let resident = text
        .lines()
        .find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
    assert!(resident.unwrap().parse::<f64>().unwrap() > 1e6);
    let mut promtool = std::process::Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = promtool.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    let checked = promtool.wait_with_output().unwrap();
    assert!(checked.status.success(), "{checked:?}\n{text}");
    server.stop().await;
}

#[tokio::test]
async fn they_show_who_follows_a_chat_and_whether_calls_are_recorded() {
    let program = super::Logged::start(|_| {});
    let ask = async |path: &str| {
        let url = format!("{}{path}", program.serving.url);
        let asked = program
            .serving
            .client
            .get(url)
            .bearer_auth(crate::harness::TOKEN);
        asked.send().await.unwrap()
    };
    let scrape = async || {
        let url = format!("{}/metrics", program.serving.url);
        let asked = program
            .serving
            .client
            .get(url)
            .bearer_auth(crate::harness::TOKEN);
        let asked = asked.header("accept", "application/openmetrics-text");
        Exposition::read(&asked.send().await.unwrap().text().await.unwrap())
    };
    let mut stream = ask("/v1/chats/a/events").await;
    // It follows from its first line on.
    stream.chunk().await.unwrap().unwrap();
    let metrics = scrape().await;
    assert_eq!(metrics.value("toolhost_event_readers"), 1.0);
    assert_eq!(metrics.value("toolhost_stores"), 1.0);
    drop(stream);
    while scrape().await.value("toolhost_event_readers") != 0.0 {
        crate::harness::a_moment().await;
    }

    let setup = Setup::new().await;
    let server = Server::start(setup.host.clone()).await;
    let metrics = self::scrape(&server).await;
    assert_eq!(metrics.value("toolhost_stores"), 0.0);
}

#[tokio::test]
async fn they_count_what_happened() {
    let setup = Setup::new().await;
    let server = Server::start(setup.host.clone()).await;
    let put = async |call: &str, body| server.put("chat", call, body).await.0;
    assert_eq!(put("1", execute("echo 12345")).await, 200);
    assert_eq!(put("1", execute("echo 12345")).await, 200);
    assert_eq!(put("2", execute("exit 3")).await, 200);
    assert_eq!(put("1", execute("other")).await, 409);
    assert_eq!(
        put("3", json!({ "tool": "made-up-tool", "arguments": {} })).await,
        200
    );
    for path in ["/made-up-path", "/v1/chats/made-up-chat/calls/made-up-call"] {
        let made_up = Method::from_bytes(b"MADEUP").unwrap();
        assert!(
            server
                .request(made_up, path)
                .send()
                .await
                .unwrap()
                .status()
                .is_client_error()
        );
    }
    let metrics = scrape(&server).await;
    let route = "route=\"/v1/chats/{chat}/calls/{call}\"";
    let requests =
        |labels: &str| metrics.value(&format!("toolhost_http_requests_total{{{labels}}}"));
    assert_eq!(
        requests(&format!("{route},method=\"PUT\",status=\"2xx\"")),
        4.0
    );
    assert_eq!(
        requests(&format!("{route},method=\"PUT\",status=\"4xx\"")),
        1.0
    );
    assert_eq!(
        requests(&format!("{route},method=\"other\",status=\"4xx\"")),
        1.0
    );
    assert_eq!(
        requests("route=\"none\",method=\"other\",status=\"4xx\""),
        1.0
    );
    let taken = format!("toolhost_http_request_duration_seconds_count{{{route}}}");
    assert_eq!(metrics.value(&taken), 6.0);
    // The one that asks.
    assert_eq!(metrics.value("toolhost_http_requests_in_flight"), 1.0);
    assert!(metrics.value("toolhost_connections") >= 1.0);
    assert_eq!(
        metrics.value("toolhost_calls_total{state=\"finished\"}"),
        2.0
    );
    assert_eq!(metrics.value("toolhost_call_duration_seconds_count"), 2.0);
    assert_eq!(metrics.value("toolhost_call_queue_seconds_count"), 2.0);
    for reason in ["input_mismatch", "unknown_tool"] {
        let refused = format!("toolhost_calls_refused_total{{reason=\"{reason}\"}}");
        assert_eq!(metrics.value(&refused), 1.0, "{reason}");
    }
    assert_eq!(metrics.value("toolhost_processes_started_total"), 2.0);
    assert_eq!(
        metrics.value("toolhost_processes_ended_total{cause=\"itself\"}"),
        2.0
    );
    assert_eq!(metrics.value("toolhost_output_bytes_total"), 6.0);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        metrics.value(&format!("toolhost_build_info{{version=\"{version}\"}}")),
        1.0
    );
    assert!(metrics.value("toolhost_start_time_seconds") > 1e9);
    for label in ["route", "method", "reason", "status", "plugin"] {
        let values = metrics.labels(label);
        assert!(
            !values.is_empty() && !values.iter().any(|value| value.contains("made-up")),
            "{values:?}"
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn they_count_each_call_of_a_script_under_its_own_plugin() {
    let grants = Grants::default().with_calls(["*"]);
    let options = Options {
        grants,
        ..Options::new("script")
    };
    let setup = Setup::with(|builder| builder.plugin(SCRIPT, options)).await;
    let server = Server::start(setup.host.clone()).await;
    std::fs::write(setup.root().join("a.txt"), "a\n").unwrap();
    let code = "
        await Promise.all([1, 2, 3].map(() => tools.execute({ command: 'echo 12345' })));
        await tools.read_file({ path: 'a.txt' });
        const failed = await tools.read_file({ path: 'none' }).catch(({ kind }) => kind);
        const refused = await tools.execute({}).catch(({ kind }) => kind);
        const unknown = await tools.nothing().catch(({ kind }) => kind);
        return [failed, refused, unknown];";
    let body = json!({ "tool": "run_script", "arguments": { "code": code } });
    let (_, reply) = server.put("chat", "1", body).await;
    assert_eq!(
        reply["structured"]["result"],
        json!(["failed", "invalid_arguments", "unknown_tool"]),
        "{reply}"
    );
    let metrics = scrape(&server).await;
    for (plugin, outcome, calls) in [
        ("script", "ok", 1.0),
        ("shell", "ok", 3.0),
        ("shell", "invalid_arguments", 1.0),
        ("files", "ok", 1.0),
        ("files", "error", 1.0),
    ] {
        let labels = format!("plugin=\"{plugin}\",outcome=\"{outcome}\"");
        let counted = metrics.value(&format!("toolhost_plugin_calls_total{{{labels}}}"));
        assert_eq!(counted, calls, "{labels}");
    }
    for (plugin, calls) in [("script", 1.0), ("shell", 4.0), ("files", 2.0)] {
        for family in ["call_duration_seconds", "guest_time_seconds"] {
            let series = format!("toolhost_plugin_{family}_count{{plugin=\"{plugin}\"}}");
            assert_eq!(metrics.value(&series), calls, "{series}");
        }
    }
    // The script and its six calls. The call of a tool that does not exist is a use of the grant that was denied.
    assert_eq!(metrics.value("toolhost_call_duration_seconds_count"), 7.0);
    let denied = "toolhost_plugin_denials_total{plugin=\"script\",capability=\"calls\"}";
    assert_eq!(metrics.value(denied), 1.0);
    let started = "toolhost_plugin_processes_started_total{plugin=\"shell\"}";
    assert_eq!(metrics.value(started), 3.0);
    server.stop().await;
}

#[tokio::test]
async fn they_show_what_there_is_at_the_moment() {
    let setup = Setup::new().await;
    let server = Server::start(setup.host.clone()).await;
    let path = setup.root().join("go");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let body = execute("echo started > started; cat go");
    let put = server.put("chat", "1", body);
    let looking = async {
        setup.file("started").await;
        // A command can be faster than the list of processes.
        until("the process is known", || {
            (setup.host.local().unwrap().processes().live() == 1).then_some(())
        })
        .await;
        let metrics = scrape(&server).await;
        std::fs::write(&path, "go\n").unwrap();
        metrics
    };
    let ((status, _), during) = tokio::join!(put, looking);
    assert_eq!(status, 200);
    for (name, value) in [
        ("calls_running", 1.0),
        ("call_places_taken", 1.0),
        ("processes_live", 1.0),
        ("http_requests_in_flight", 2.0),
        ("heavy_calls_waiting", 0.0),
        ("compilations_waiting", 0.0),
    ] {
        assert_eq!(during.value(&format!("toolhost_{name}")), value, "{name}");
    }
    // Places are given back a moment after the reply.
    let nothing_runs = async {
        loop {
            let after = scrape(&server).await;
            let names = ["calls_running", "call_places_taken", "processes_live"];
            let value = |name| after.value(&format!("toolhost_{name}"));
            if names.iter().all(|name| value(name) == 0.0) {
                break;
            }
        }
    };
    let ended = tokio::time::timeout(PATIENCE, nothing_runs).await;
    ended.expect("something still runs");
    server.stop().await;
}
