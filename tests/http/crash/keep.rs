//! `toolhost serve --keep`: what runs when the server is killed or replaced runs on, and no call runs twice.

use super::*;
use crate::harness::serving::{Serving, server};
use crate::harness::{TOKEN, is_alive, until_dead};

/// A server that keeps its processes, in this workspace.
fn keeping(workspace: &std::path::Path) -> Serving {
    let mut command = server(workspace);
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .args(["serve", "--keep"]);
    Serving::of(command)
}

async fn call(serving: &Serving, id: &str, body: &serde_json::Value) -> serde_json::Value {
    let (_urls, url) = watch::channel(serving.url.clone());
    persist(&crate::harness::client(), &url, id, body).await
}

async fn number(workspace: &std::path::Path, name: &str) -> u32 {
    let text = crate::harness::file(&workspace.join(name)).await;
    text.trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_of_an_interrupted_call_runs_on_and_is_named() {
    let workspace = tempfile::tempdir().unwrap();
    let root = workspace.path();
    let mut serving = keeping(root);
    let body = execute(
        "echo as far as it came; echo $$ > begun; until [ -e go ]; do sleep 0.01; done; echo to the end; exit 5",
    );
    let pid = {
        let mut calling = Box::pin(call(&serving, "1", &body));
        tokio::select! {
            outcome = &mut calling => panic!("{outcome}"),
            pid = number(root, "begun") => pid
        }
    };
    serving.signal(Signal::SIGKILL);
    let serving = keeping(root);
    assert!(is_alive(pid));
    let outcome = call(&serving, "1", &body).await;
    assert_eq!(outcome["state"], "unknown", "{outcome}");
    let text = outcome["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("as far as it came\n"), "{text}");
    assert!(text.contains("ran when the host started again"), "{text}");
    let process = outcome["processes"][0].as_str().unwrap();
    std::fs::write(root.join("go"), "").unwrap();
    let output = serde_json::json!({
        "tool": "process_output",
        "arguments": { "process_id": process, "wait_timeout": "60s" },
    });
    let output = call(&serving, "2", &output).await;
    let text = output.to_string();
    assert!(
        text.contains("to the end") && text.contains("\"exit_code\":5"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_stopped_ends_its_calls_and_leaves_what_runs_in_the_background() {
    let workspace = tempfile::tempdir().unwrap();
    let root = workspace.path();
    let mut serving = keeping(root);
    let mut background = execute("echo $$ > background; exec sleep 1000");
    background["arguments"]["run_in_background"] = true.into();
    let started = call(&serving, "1", &background).await;
    assert_eq!(started["state"], "finished", "{started}");
    let process = started["processes"][0].as_str().unwrap().to_owned();
    let background = number(root, "background").await;
    let body = execute("echo $$ > foreground; exec sleep 1000");
    let calling = {
        let url = serving.url.clone();
        let body = body.clone();
        tokio::spawn(async move {
            let (_urls, url) = watch::channel(url);
            persist(&crate::harness::client(), &url, "2", &body).await
        })
    };
    let foreground = number(root, "foreground").await;
    serving.signal(Signal::SIGTERM);
    assert!(is_alive(background));
    until_dead(foreground).await;
    calling.abort();
    let mut serving = keeping(root);
    let signal = serde_json::json!({
        "tool": "process_signal",
        "arguments": { "process_id": process, "signal": "kill" },
    });
    let sent = call(&serving, "3", &signal).await;
    assert_eq!(sent["state"], "finished", "{sent}");
    until_dead(background).await;
    serving.signal(Signal::SIGTERM);
}
