//! Calls while the plugin that they are for is exchanged: 200 calls a second for 30 s, a new version every second.
//!
//! `cargo bench -p toolhost --bench reload`. It fails if a call does.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement that fails should say so loudly"
)]

use std::time::{Duration, Instant};

use toolhost_core::{Arguments, CallId, Host, Options, PluginSet, PluginSource, Request};
use toolhost_workspace::files::FilesGrant;

#[path = "../guest.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod guest;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;

use report::{Report, percentile, time};

/// The time between two calls: 200 a second.
const PACE: Duration = Duration::from_millis(5);

fn source(text: &str) -> PluginSet {
    let mut component = guest::guest("well_behaved");
    let at = component
        .windows(5)
        .position(|window| window == b"hello")
        .expect("the guest says hello");
    component
        .get_mut(at..at + 5)
        .expect("it is there")
        .copy_from_slice(text.as_bytes());
    PluginSet {
        sources: vec![PluginSource::bytes(component, Options::new("one"))],
        ..PluginSet::default()
    }
}

async fn call(host: Host) -> (Duration, String) {
    let request = Request::new(
        "chat".parse().unwrap(),
        CallId::random(),
        "t",
        Arguments::parse("{}").unwrap(),
    );
    let began = Instant::now();
    let outcome = host.call(request).await.expect("no call is refused");
    let took = began.elapsed();
    let shown = serde_json::to_value(outcome.as_ref()).unwrap();
    let text = shown
        .pointer("/content/0/text")
        .and_then(|text| text.as_str());
    (took, text.unwrap_or_else(|| panic!("{shown}")).to_owned())
}

#[tokio::main]
async fn main() {
    let mut report = Report::new();
    let seconds = report.rounds(30) as u64;
    let workspace = tempfile::tempdir().unwrap();
    let host = Host::builder(workspace.path())
        .without_shell()
        .files(FilesGrant::None)
        .state_dir(workspace.path().join("state"))
        .configured(source("v0000"));
    let host = host.start().await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    let mut pace = tokio::time::interval(PACE);
    let began = Instant::now();
    let (mut exchanges, mut longest) = (0, Duration::ZERO);
    let mut exchange: Option<tokio::task::JoinHandle<Duration>> = None;
    while began.elapsed() < Duration::from_secs(seconds) {
        pace.tick().await;
        calls.spawn(call(host.clone()));
        if began.elapsed().as_secs() > exchanges {
            if let Some(exchange) = exchange.take() {
                longest = longest.max(exchange.await.unwrap());
            }
            exchanges += 1;
            let set = source(&format!("v{exchanges:04}"));
            let host = host.clone();
            exchange = Some(tokio::spawn(async move {
                let began = Instant::now();
                host.apply(set).await;
                began.elapsed()
            }));
        }
    }
    let mut took = Vec::new();
    let mut versions = std::collections::BTreeSet::new();
    while let Some(called) = calls.join_next().await {
        let (time, version) = called.expect("no call fails");
        took.push(time);
        versions.insert(version);
    }
    let [p50, p99, most] = [50, 99, 100].map(|part| time(percentile(&mut took, part)));
    report.value(
        "calls while the plugin is replaced every second, 200 calls/s, none failed",
        format!("median {p50}, p99 {p99}, slowest {most}"),
    );
    let (versions, longest) = (versions.len(), time(longest));
    report.value(
        "replacing a plugin that is called, slowest",
        format!("{longest} of {versions} versions"),
    );
    host.shutdown().await;
}
