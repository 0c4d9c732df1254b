//! The official clients of MCP: for Python and TypeScript, and fastmcp; over standard input and output and over HTTP; in both
//! revisions.

use serde_json::{Value, json};

use super::*;
use crate::harness::{program, state_dir};

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Checks what a client printed of the tools that it listed and called.
fn check(what: &str, revision: &str, output: &Output) {
    let found: Value = serde_json::from_str(printed(output)).unwrap();
    let is = |one: &Value, other: Value| assert_eq!(*one, other, "{what}: {found:#}");
    is(&found["revision"], revision.into());
    let tool = |name: &str| &found["tools"][name];
    is(&tool("execute")["read_only"], false.into());
    is(&tool("execute")["has_output_schema"], true.into());
    is(&tool("read_file")["read_only"], true.into());
    is(&tool("test_simple_text")["has_output_schema"], false.into());
    assert!(tool("execute")["title"].is_string(), "{what}: {found:#}");

    is(&found["structured"]["output"], "hello\n".into());
    // For clients that know nothing of structured content.
    let text = found["text"].as_str().map(serde_json::from_str::<Value>);
    is(&found["structured"], text.unwrap().unwrap());
    let mut steps: Vec<(f64, Option<f64>)> =
        serde_json::from_value(found["progress"].clone()).unwrap();
    // The host adds steps of a millionth while a call runs for seconds.
    steps.retain(|(done, _)| done.fract() == 0.0);
    steps.dedup();
    let step = |done| (done, Some(100.0));
    assert_eq!(steps, [0.0, 50.0, 100.0].map(step), "{what}");
    is(&found["mixed"], json!(["text", "image", "resource"]));
    is(&found["document"], r#"{"test":"data","value":123}"#.into());
    let failed = "This tool intentionally returns an error for testing";
    is(&found["failed"], json!([true, failed]));
    is(&found["refused"][0], true.into());
    let refused = found["refused"][1].as_str().unwrap_or_default();
    assert!(
        refused.contains("did you mean `command`?"),
        "{what}: {found:#}"
    );
}

/// Runs a client over HTTP and over standard input and output, in each revision.
async fn uses_the_tools(client: impl Fn() -> Command, name: &str) {
    let workspace = tempfile::tempdir().unwrap();
    let (serving, component) = with_conformance(workspace.path()).await;
    let url = format!("{}/mcp", serving.url);
    let toolhost = || {
        let mut command = clean(program());
        command.arg("--workspace").arg(workspace.path());
        // One host at a time can use it, and tests run beside each other.
        let state = state_dir().join(format!("clients-{name}"));
        command.arg("--state-dir").arg(state);
        command
    };
    // `mcp` begins after 5 s at the latest, also if a plugin is still being compiled: here all were before.
    let mut compile = toolhost();
    compile.args(["plugin", "check"]).arg(&component);
    printed(&run(compile).await);
    let mut compile = toolhost();
    compile.args(["plugin", "list"]);
    printed(&run(compile).await);

    for revision in REVISIONS {
        let mut http = client();
        http.args([revision, "http", &url, TOKEN]);
        check(
            &format!("{name}, {revision}, HTTP"),
            revision,
            &run(http).await,
        );

        let server = toolhost();
        let mut stdio = client();
        stdio.args([revision, "stdio"]);
        stdio.arg(server.get_program()).args(server.get_args());
        stdio
            .args(["mcp", "--structured", "--plugin"])
            .arg(&component);
        check(
            &format!("{name}, {revision}, stdio"),
            revision,
            &run(stdio).await,
        );
    }
}

async fn python(which: &str) {
    let python = prepared("python");
    let client = || {
        let mut command = clean(python.join("bin/python"));
        command.arg(root().join("tests/clients/python/mcp_client.py"));
        command.arg(which);
        command
    };
    uses_the_tools(client, which).await;
}

#[needs(client = "python")]
#[tokio::test]
async fn the_official_client_for_python() {
    python("official").await;
}

#[needs(client = "python")]
#[tokio::test]
async fn fastmcp() {
    python("fastmcp").await;
}

#[needs(client = "node")]
#[tokio::test]
async fn the_official_clients_for_typescript() {
    let node = prepared("node");
    let scripts = scripts(&node.join("node_modules"), "tests/clients/node");
    let client = || {
        let mut command = clean("node");
        command.arg(scripts.path().join("mcp_client.mjs"));
        command
    };
    uses_the_tools(client, "TypeScript").await;
}
