//! The clients for Python and TypeScript, at a host that does not have the chat: they follow its answer to the one that has it.

use std::process::{Command, Stdio};

use super::*;
use crate::clients::{clean, prepared, root, typescript};
use crate::harness::TOKEN;
use crate::harness::proxy::Proxy;

/// Makes two calls of the chat `a`, and prints their states and the file that they wrote. The arguments are the URL and the token.
const PYTHON: &str = r#"
import sys
from toolhost_client import Toolhost

with Toolhost(sys.argv[1], sys.argv[2]) as toolhost:
    chat = toolhost.chat("a")
    for call in ("2", "3"):
        print(chat.call(call, "execute", {"command": "echo x >> ran"}).state)
    print(chat.files.read("ran").decode(), end="")
"#;

/// The same.
const TYPESCRIPT: &str = r#"
import { Toolhost } from "toolhost-client";

const chat = new Toolhost(process.argv[1], process.argv[2]).chat("a");
for (const call of ["2", "3"]) {
  console.log((await chat.call(call, "execute", { command: "echo x >> ran" })).state);
}
process.stdout.write(await (await chat.files.get("ran")).text());
"#;

/// Starts a host behind an address that clients reach.
async fn node(cluster: &Cluster, name: &str) -> (Node, Proxy) {
    // It has no target before the host has an address of its own.
    let proxy = Proxy::to("http://127.0.0.1:1").await;
    let config = Config {
        name: name.to_owned(),
        address: Some(proxy.url.clone()),
        ..postgres::config(&cluster.url)
    };
    let node = cluster.node_with(config).await;
    proxy.retarget(&node.server.url);
    (node, proxy)
}

/// Runs a client that knows only the host without the chat.
async fn follows(mut client: Command) {
    let cluster = Cluster::new().await;
    let (one, _one) = node(&cluster, "one").await;
    let (other, _other) = node(&cluster, "other").await;
    let (status, ran) = one.server.put("a", "1", here("echo x >> ran")).await;
    assert_eq!(status, 200, "{ran}");
    client.arg(&other.server.url).arg(TOKEN);
    let mut client = tokio::process::Command::from(client);
    client.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, client.output()).await;
    let output = output.expect("the client does not end").unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(stdout, "finished\nfinished\nx\nx\nx\n", "{stderr}");
    assert!(!other.workspace.path().join("ran").exists());
}

#[needs(client = "python", postgres)]
#[tokio::test]
async fn the_client_for_python_follows_to_the_host_of_the_chat() {
    let mut client = clean(prepared("python").join("bin/python"));
    client
        .env("PYTHONPATH", root().join("clients/python"))
        .args(["-c", PYTHON]);
    follows(client).await;
}

#[needs(client = "typescript", postgres)]
#[tokio::test]
async fn the_client_for_typescript_follows_to_the_host_of_the_chat() {
    let built = typescript::built().await;
    let mut client = clean("node");
    client
        .current_dir(built.path().join("examples/chat/typescript"))
        .args(["--input-type=module", "-e", TYPESCRIPT]);
    follows(client).await;
}
