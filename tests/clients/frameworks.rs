//! Clients of MCP as the frameworks for agents have them, over HTTP: each names its chat in a header, and finds there in a later
//! session what it started in an earlier one. Clients that name none share nothing. All of them go on if their server is killed and
//! another one starts.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};

use super::*;

/// Runs a client with the address, the token, a chat and the workspace, and checks what it got.
async fn finds_its_processes(client: Command, name: &str) {
    let workspace = tempfile::tempdir().unwrap();
    let mut first = serving(workspace.path(), &[]);
    let mut client = tokio::process::Command::from(client);
    client.args([&format!("{}/mcp", first.url), TOKEN, "support-42"]);
    client.arg(workspace.path()).kill_on_drop(true);
    client.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut client = client.spawn().unwrap();
    let mut lines = tokio::io::BufReader::new(client.stdout.take().unwrap()).lines();
    let mut line = async || {
        // Node.js and Python take seconds to start on a machine with other things to do.
        let line = tokio::time::timeout(4 * PATIENCE, lines.next_line()).await;
        let line = line.expect("the program does not end").unwrap();
        line.unwrap_or_else(|| panic!("{name} failed"))
    };
    assert_eq!(line().await, "ready", "{name}");
    let running = running(&first).await;
    first.signal(nix::sys::signal::Signal::SIGKILL);
    let mut second = server(workspace.path());
    second.env("TOOLHOST_TOKEN", TOKEN).arg("serve");
    let address = first.url.strip_prefix("http://").unwrap();
    let _second = Serving::at(second, address);
    client.stdin.take().unwrap().write_all(b"\n").await.unwrap();
    let found: Value = serde_json::from_str(&line().await).unwrap();
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
    // The command ended with its server, and the chat has its output.
    is(&found["outlived"][1]["output"], "ready\n".into());
    is(&found["outlived"][1]["running"], false.into());

    // It is in the chat that the header named, with nothing else that runs.
    assert_eq!(running.len(), 1, "{name}: {running:#?}");
    assert_eq!(running[0]["id"], *id, "{name}");
}

/// Returns the processes that run in the chat that the client named.
async fn running(serving: &Serving) -> Vec<Value> {
    let path = "/v1/chats/support-42/processes?running=true";
    let processes = serving.request(reqwest::Method::GET, path).send().await;
    let processes: Value = processes.unwrap().json().await.unwrap();
    processes["processes"].as_array().unwrap().clone()
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
async fn typescript() {
    node("typescript").await;
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
