//! Tests of the names, labels and values that operators rely on.

use super::*;

use std::collections::BTreeMap;

/// Returns the types of all families in a text of Prometheus, by their names.
fn families(text: &str) -> BTreeMap<&str, &str> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.filter_map(|line| line.split_once(' ')).collect()
}

/// Returns the metrics and their types in the documentation.
fn documented() -> BTreeMap<&'static str, &'static str> {
    let text = include_str!("../../../../docs/observability.md");
    let mut documented = BTreeMap::new();
    for row in text.lines().filter_map(|line| line.strip_prefix("| ")) {
        let mut cells = row.split(" | ");
        let (names, kind) = (cells.next().unwrap(), cells.next().unwrap());
        if ["counter", "gauge", "histogram"].contains(&kind) {
            for name in names.split(", ") {
                let name = name.trim_matches('`').split('{').next().unwrap();
                assert!(
                    documented.insert(name, kind).is_none(),
                    "{name} is there twice"
                );
            }
        }
    }
    documented
}

/// Each name in a query of the dashboard is exported, and a rate is taken of counters alone.
#[test]
fn the_dashboard_asks_for_what_is_exported() {
    let dashboard = include_str!("../../../../examples/operating/grafana.json");
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let queries: Vec<&str> = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array())
        .flatten()
        .map(|target| target["expr"].as_str().unwrap())
        .collect();
    assert!(queries.len() > 20);
    let documented = documented();
    let name = regex::Regex::new(r"\b(?:toolhost|process)_[a-z_]+").unwrap();
    for query in queries {
        let mut names = name.find_iter(query).map(|name| name.as_str()).peekable();
        assert!(names.peek().is_some(), "{query}");
        for name in names {
            let histogram = ["_bucket", "_sum", "_count"]
                .into_iter()
                .find_map(|suffix| name.strip_suffix(suffix));
            let kind = histogram.map_or(documented.get(name), |family| {
                documented.get(family).filter(|kind| **kind == "histogram")
            });
            let kind = kind.unwrap_or_else(|| panic!("{name} is not exported: {query}"));
            let rated = query.contains("rate(") || query.contains("increase(");
            assert_eq!(*kind != "gauge", rated, "{query}");
        }
    }
}

#[test]
fn names_and_labels_are_as_documented() {
    let metrics = Metrics::default();
    let running = metrics.running("p");
    let used = Used {
        guest_time: Duration::from_millis(3),
        memory: 1 << 20,
    };
    metrics.call("p", "ok", Duration::from_secs(1), &used);
    metrics.limit("p", LimitKind::GuestTime);
    metrics.trap("p");
    metrics.used("p", "clock");
    metrics.denied("p", "files");
    metrics.process_started("p");
    metrics.file_written("p");
    metrics.file_removed("p");
    metrics.file_bytes("p", "sent", 1);
    metrics.link_made("file");
    metrics.link_used("file", "ok");
    metrics.log_left_out("p", 5);
    metrics.http_request("p");
    metrics.http_bytes("p", 1, 2);
    metrics.compiled("p", Duration::from_secs(1));
    metrics.plugin_state("p", PluginState::Quarantined);
    metrics.approval("p", "granted");
    metrics.audit_line();
    metrics.audit_lost(2);
    metrics.audit_left_out("t");
    metrics
        .http_request_began(Some("/v1/tools"), "GET")
        .answered(200);
    drop(metrics.http_request_began(None, "BREW"));
    metrics.request_forwarded("answered");
    metrics.call_ended("finished", Duration::from_secs(1), Duration::ZERO);
    metrics.call_refused("busy");
    metrics.notice_told("exited");
    metrics.notice_delivered("done");
    let one = Arc::new(1);
    metrics.watch(&one, |one, levels| {
        levels.processes_ended.insert("itself".into(), *one);
        levels.workspace_calls.insert("w".into(), *one);
    });
    let text = metrics.text();
    let shown = metrics.text_in(Format::Prometheus);
    assert_eq!(families(&shown), documented());
    for line in [
        "toolhost_plugin_calls_total{plugin=\"p\",outcome=\"ok\"} 1",
        "toolhost_plugin_calls_running{plugin=\"p\"} 1",
        "toolhost_plugin_limits_hit_total{plugin=\"p\",limit=\"guest_time\"} 1",
        "toolhost_plugin_state{plugin=\"p\",state=\"quarantined\"} 1",
        "toolhost_plugin_state{plugin=\"p\",state=\"loaded\"} 0",
        "toolhost_plugin_memory_bytes_bucket{le=\"1048576.0\",plugin=\"p\"} 1",
        "toolhost_audit_lines_lost_total 2",
        "toolhost_audit_lines_left_out_total{principal=\"t\"} 1",
        "toolhost_http_requests_total{route=\"/v1/tools\",method=\"GET\",status=\"2xx\"} 1",
        "toolhost_http_requests_total{route=\"none\",method=\"other\",status=\"left\"} 1",
        "toolhost_http_requests_in_flight 0",
        "toolhost_calls_total{state=\"finished\"} 1",
        "toolhost_calls_refused_total{reason=\"busy\"} 1",
        "toolhost_processes_ended_total{cause=\"itself\"} 1",
    ] {
        assert!(
            text.lines().any(|shown| shown == line),
            "{line} is not in\n{text}"
        );
    }
    assert!(text.ends_with("# EOF\n"));
    drop(running);
    assert!(
        metrics
            .text()
            .contains("toolhost_plugin_calls_running{plugin=\"p\"} 0\n")
    );
    metrics.plugin_removed("p");
    assert!(!metrics.text().contains("toolhost_plugin_state{"));
}
