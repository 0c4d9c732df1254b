//! The views for operators: plugins, the audit trail and health.

use toolhost_call::audit::{Audit, Config};
use toolhost_call::metrics::Metrics;
use toolhost_server::{Check, ServerParts};
use toolhost_state::state_dir::StateDir;

use super::*;

async fn get(server: &Server, token: &str, path: &str) -> (u16, Value) {
    let request = server.client.get(format!("{}{path}", server.url));
    answer(request.bearer_auth(token)).await
}

#[tokio::test]
async fn a_plugin_says_what_it_is_and_how_it_does() {
    let (_setup, server) = server().await;
    server.put("a", "1", execute("true")).await;
    server.put("a", "2", execute("true")).await;
    let (status, list) = get(&server, TOKEN, "/v1/plugins").await;
    assert_eq!(status, 200);
    let plugins = list["plugins"].as_array().unwrap();
    let shell = plugins
        .iter()
        .find(|plugin| plugin["name"] == "shell")
        .unwrap();
    assert_eq!(shell["sha256"].as_str().unwrap().len(), 64);
    let grants = shell["grants"].as_array().unwrap();
    assert!(
        grants[0].as_str().unwrap().starts_with("runs commands"),
        "{shell}"
    );
    let imports = shell["imports"].as_array().unwrap().iter();
    let has_processes = imports
        .clone()
        .any(|name| name.as_str().unwrap().contains("processes"));
    assert!(has_processes, "{shell}");
    assert_eq!((&shell["calls"], &shell["traps"]), (&json!(2), &json!(0)));
    assert_eq!(shell["limits"]["memory"], 64 << 20);
    assert_eq!(shell["limits"]["deadline_ms"], 600_000);
    let latency = |name: &str| shell["latency"][name].as_f64().unwrap();
    assert!(latency("median_ms") > 0.0 && latency("p99_ms") >= latency("median_ms"));
    let files = plugins
        .iter()
        .find(|plugin| plugin["name"] == "files")
        .unwrap();
    assert_eq!((&files["calls"], files.get("latency")), (&json!(0), None));
    // A reply says how long its tool computed.
    let (_, reply) = get(&server, TOKEN, "/v1/chats/a/calls/1").await;
    assert!(reply["guest_ms"].is_u64(), "{reply}");
}

/// A server with an audit trail, and its directory.
async fn audited() -> (tempfile::TempDir, Setup, Server) {
    let directory = tempfile::tempdir().unwrap();
    let state = StateDir::open(&directory.path().join("audit")).unwrap();
    let audit = Audit::open(state, &Config::default(), &Metrics::default()).unwrap();
    let setup = Setup::with(|builder| builder.audit(audit)).await;
    let server = Server::with_tokens(setup.host.clone(), tokens()).await;
    (directory, setup, server)
}

/// Returns the page of the trail at this path, once it has so many lines: no call waits for the disk of the trail.
async fn lines(server: &Server, path: &str, count: usize) -> Vec<Value> {
    let waiting = async {
        loop {
            let (status, page) = get(server, TOKEN, path).await;
            assert_eq!((status, &page["recorded"]), (200, &json!(true)), "{page}");
            let lines = page["lines"].as_array().unwrap().clone();
            if lines.len() >= count {
                assert_eq!(lines.len(), count, "{page}");
                return lines;
            }
            crate::harness::a_moment().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap()
}

#[tokio::test]
async fn the_trail_is_listed_newest_first_and_by_what_is_asked_for() {
    let (_directory, _setup, server) = audited().await;
    for (chat, call) in [("a-1", "1"), ("a-1", "2"), ("b-1", "3")] {
        server.put(chat, call, execute("true")).await;
    }
    let calls = lines(&server, "/v1/audit?event=call", 3).await;
    let of: Vec<_> = calls
        .iter()
        .map(|line| line["call"].as_str().unwrap())
        .collect();
    assert_eq!(of, ["3", "2", "1"]);
    assert_eq!(calls[0]["plugin"], "shell");
    lines(&server, "/v1/audit?event=call&chat=a-1", 2).await;
    lines(
        &server,
        "/v1/audit?event=process_start&token=all&plugin=shell",
        3,
    )
    .await;
    lines(&server, "/v1/audit?token=nobody", 0).await;
    lines(&server, "/v1/audit?denied=true", 0).await;
    // Pages.
    let (_, first) = get(&server, TOKEN, "/v1/audit?event=call&limit=2").await;
    let next = first["next"].as_str().unwrap();
    let (_, second) = get(
        &server,
        TOKEN,
        &format!("/v1/audit?event=call&limit=2&after={next}"),
    )
    .await;
    assert_eq!(second["lines"], json!([calls[2]]));
    assert_eq!(second.get("next"), None);
    for wrong in ["after=x", "limit=0", "since=1"] {
        let (status, problem) = get(&server, TOKEN, &format!("/v1/audit?{wrong}")).await;
        assert_eq!(
            (status, &problem["code"]),
            (400, &"broken_request".into()),
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn operators_see_health_and_others_nothing_of_all_this() {
    let setup = Setup::new().await;
    let parts = ServerParts::from(setup.host.clone())
        .with_checks(|| vec![Check::warning("kernel", "old").advice("a newer one")]);
    let server = Server::with_tokens(parts, tokens()).await;
    let (status, health) = get(&server, TOKEN, "/v1/health").await;
    assert_eq!(status, 200);
    let checks = health["checks"].as_array().unwrap();
    let of = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
    assert_eq!(of("containment")["status"], "ok");
    assert_eq!(of("plugins")["text"], "active: shell, files");
    assert_eq!(of("audit")["status"], "warning");
    let kernel =
        json!({ "name": "kernel", "status": "warning", "text": "old", "advice": "a newer one" });
    assert_eq!(of("kernel"), &kernel);
    for path in ["/v1/health", "/v1/audit", "/v1/plugins"] {
        for token in [READER, TOOLS] {
            let (status, problem) = get(&server, token, path).await;
            assert_eq!(
                (status, &problem["code"]),
                (403, &"missing_scope".into()),
                "{path}"
            );
        }
    }
    let (_, page) = get(&server, TOKEN, "/v1/audit").await;
    assert_eq!(page, json!({ "recorded": false, "lines": [] }));
}

#[test]
fn every_event_of_the_trail_can_be_chosen() {
    let documented = include_str!("../../docs/observability.md");
    let (_, table) = documented.split_once("| event | fields |\n").unwrap();
    let rows = table
        .lines()
        .skip(1)
        .map_while(|line| line.strip_prefix('|'));
    let events: Vec<_> = rows
        .flat_map(|row| row.split('|').next().unwrap().split('`').skip(1).step_by(2))
        .collect();
    assert!(events.len() > 25, "{events:?}");
    let view = include_str!("../../host/console/page/views/audit.js");
    let (_, offered) = view.split_once("const EVENTS = [").unwrap();
    let (offered, _) = offered.split_once("];").unwrap();
    for event in events {
        assert!(offered.contains(&format!("\"{event}\"")), "{event}");
    }
}
