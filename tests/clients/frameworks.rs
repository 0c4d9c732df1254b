//! Clients of MCP as the frameworks for agents have them, over HTTP: each names its chat in a header, and finds there in a later
//! session what it started in an earlier one. Clients that name none share nothing.

use serde_json::{Value, json};

use super::*;

/// Runs a client with the address, the token, a chat and the workspace, and checks what it got.
async fn finds_its_processes(client: Command, name: &str) {
    let workspace = tempfile::tempdir().unwrap();
    let serving = serving(workspace.path(), &[]);
    let mut client = client;
    client.args([&format!("{}/mcp", serving.url), TOKEN, "support-42"]);
    client.arg(workspace.path());
    let output = run(client).await;
    let found: Value = serde_json::from_str(printed(&output)).unwrap();
    let is = |one: &Value, other: Value| assert_eq!(*one, other, "{name}: {found:#}");

    let tools = found["tools"].as_array().unwrap();
    let has = |tool: &str| tools.iter().any(|name| name == tool);
    assert!(has("execute") && has("read_file"), "{name}: {found:#}");
    is(&found["called"][0], false.into());
    is(&found["called"][1]["output"], "hello\n".into());
    is(&found["refused"][0], true.into());
    let refused = found["refused"][1].as_str().unwrap_or_default();
    assert!(
        refused.contains("did you mean `timeout`?"),
        "{name}: {refused}"
    );

    let id = &found["started"][1]["background_process_id"];
    is(&found["read"][1]["output"], "ready\n".into());
    is(&found["read"][1]["running"], true.into());
    is(&found["listed"][1]["processes"][0]["id"], id.clone());
    is(&found["cancelled"], (name != "mcp-1").into());
    is(&found["strangers"][1]["processes"], json!([]));
    if let Some(own) = found.get("own") {
        is(&own[1]["output"], "ready\n".into());
    }

    // It is in the chat that the header named, with nothing else that runs.
    let http = crate::harness::http_client().build().unwrap();
    let url = format!("{}/v1/chats/support-42/processes?running=true", serving.url);
    let processes = http.get(url).bearer_auth(TOKEN).send().await.unwrap();
    let processes: Value = processes.json().await.unwrap();
    let running = processes["processes"].as_array().unwrap();
    assert_eq!(running.len(), 1, "{name}: {processes:#}");
    assert_eq!(running[0]["id"], *id, "{name}");
}

/// Runs a client for Python of an environment that `tests/clients/prepare` makes.
async fn python(environment: &str, name: &str) {
    let python = prepared(environment);
    let mut command = clean(python.join("bin/python"));
    command.arg(root().join("tests/clients/frameworks/client.py"));
    command.arg(name);
    finds_its_processes(command, name).await;
}

async fn node(name: &str) {
    let modules = prepared("node").join("node_modules");
    let scripts = scripts(&modules, "tests/clients/node");
    let mut command = clean(modules.join("node/bin/node"));
    // `mcp-remote` keeps files in its home.
    command.env("HOME", scripts.path());
    command.arg(scripts.path().join("frameworks.mjs")).arg(name);
    finds_its_processes(command, name).await;
}

#[needs(client = "frameworks")]
#[tokio::test]
async fn mcp_1() {
    python("frameworks", "mcp-1").await;
}

#[needs(client = "python")]
#[tokio::test]
async fn mcp_2_with_sessions() {
    python("python", "mcp-2-legacy").await;
}

#[needs(client = "python")]
#[tokio::test]
async fn mcp_2_without_sessions() {
    python("python", "mcp-2").await;
}

#[needs(client = "python")]
#[tokio::test]
async fn fastmcp() {
    python("python", "fastmcp").await;
}

#[needs(client = "python")]
#[tokio::test]
async fn openai_agents() {
    python("python", "openai-agents").await;
}

#[needs(client = "python")]
#[tokio::test]
async fn pydantic_ai() {
    python("python", "pydantic-ai").await;
}

#[needs(client = "frameworks")]
#[tokio::test]
async fn langchain_mcp_adapters() {
    python("frameworks", "langchain-mcp-adapters").await;
}

#[needs(client = "node")]
#[tokio::test]
async fn ai_sdk() {
    node("ai-sdk").await;
}

#[needs(client = "node")]
#[tokio::test]
async fn mcp_remote() {
    node("mcp-remote").await;
}
