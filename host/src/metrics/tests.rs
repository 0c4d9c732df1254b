//! Tests of the names, labels and values that operators rely on.

use super::*;

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
    metrics.denied("p", "files");
    metrics.process_started("p");
    metrics.file_written("p");
    metrics.log_left_out("p", 5);
    metrics.http_request("p");
    metrics.http_bytes("p", 1, 2);
    metrics.compiled("p", Duration::from_secs(1));
    metrics.plugin_state("p", PluginState::Quarantined);
    metrics.approval("p", "granted");
    metrics.audit_line();
    metrics.audit_lost(2);
    metrics
        .http_request_began(Some("/v1/tools"), "GET")
        .answered(200);
    drop(metrics.http_request_began(None, "BREW"));
    metrics.call_ended("finished", Duration::from_secs(1), Duration::ZERO);
    metrics.call_refused("busy");
    let one = Arc::new(1);
    metrics.watch(&one, |one, levels| {
        levels.processes_ended.insert("itself", *one);
    });
    let text = metrics.text();
    let documented = include_str!("../metrics.rs");
    let documented = documented
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `toolhost_"));
    let mut count = 0;
    for name in documented.filter_map(|line| line.split('`').next()) {
        count += 1;
        let shown = |line: &str| {
            let line = line.strip_prefix("toolhost_").unwrap_or_default();
            let name = line.split(['{', ' ']).next().unwrap_or_default();
            name.strip_suffix("_bucket").unwrap_or(name).to_owned()
        };
        assert!(
            text.lines().any(|line| shown(line) == name),
            "{name} is not in\n{text}"
        );
    }
    assert_eq!(count, 28);
    for line in [
        "toolhost_plugin_calls_total{plugin=\"p\",outcome=\"ok\"} 1",
        "toolhost_plugin_calls_running{plugin=\"p\"} 1",
        "toolhost_plugin_limits_hit_total{plugin=\"p\",limit=\"guest_time\"} 1",
        "toolhost_plugin_state{plugin=\"p\",state=\"quarantined\"} 1",
        "toolhost_plugin_state{plugin=\"p\",state=\"loaded\"} 0",
        "toolhost_plugin_memory_bytes_bucket{le=\"1048576.0\",plugin=\"p\"} 1",
        "toolhost_audit_lines_lost_total 2",
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
