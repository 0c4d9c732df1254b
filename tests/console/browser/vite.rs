//! A development server that a chat started, in Chromium through its link.

use reqwest::Method;

use super::*;
use crate::harness::connecting::Agent;

/// The files of a page that Vite serves, and changes without a reload.
const FILES: &[(&str, &str)] = &[
    (
        "index.html",
        "<p id=text></p><script type=module src=/main.js></script>",
    ),
    (
        "main.js",
        "import { text } from './text.js';
const place = document.getElementById('text');
place.textContent = text;
import.meta.hot.accept('./text.js', (changed) => { place.textContent = changed.text; });
",
    ),
    ("text.js", "export const text = \"first\";\n"),
    ("vite.config.js", "export default { cacheDir: '.vite' };\n"),
];

fn write(workspace: &Path) {
    for (name, text) in FILES {
        std::fs::write(workspace.join(name), text).unwrap();
    }
}

/// Uses the server of a chat, and asserts what everybody sees.
async fn use_server(console: &Console, chat: &str) {
    let modules = prepared("console").join("node_modules");
    let seen = console
        .run(
            "vite",
            json!({
                "chat": chat,
                "node": modules.join("node/bin/node"),
                "vite": modules.join("vite/bin/vite.js"),
            }),
        )
        .await;
    assert_eq!(seen["stayed"], true, "{seen}");
    assert_eq!(seen["errors"], json!([]), "{seen}");
    assert_eq!(seen["status"], 403, "{seen}");
    assert_eq!(
        seen["cookie"],
        json!({ "httpOnly": true, "name": "toolhost-link" })
    );
    let address: reqwest::Url = seen["address"].as_str().unwrap().parse().unwrap();
    assert_eq!((address.path(), address.query()), ("/", None));
    let name = address.host_str().unwrap();
    assert!(name.ends_with(".localhost"), "{name}");
    let host = format!("{name}:{}", address.port().unwrap());
    assert_eq!(seen["sockets"], json!([host]), "{seen}");
}

#[needs(client = "console", program = "chromium", namespaces)]
#[tokio::test]
async fn a_development_server_is_used_through_its_link() {
    let modules = prepared("console").join("node_modules");
    let console = Console::start(&[&format!("--sandbox-read={}", modules.display())]);
    write(console.workspace.path());
    use_server(&console, "support-1").await;
}

#[needs(client = "console", program = "chromium")]
#[tokio::test]
async fn a_development_server_of_an_agent_is_used_through_its_link() {
    let modules = prepared("console").join("node_modules");
    let console = Console::start(&[]);
    let read = format!("--sandbox-read={}", modules.display());
    let agent = Agent::start_with(&console.serving.url, &[&read]);
    write(agent.root.path());
    let request = |path: &str, body: Value| {
        let request = console.serving.request(Method::PUT, path);
        request.json(&body).send()
    };
    let made = request("/v1/workspaces/build", json!({ "provider": "agent" })).await;
    assert_eq!(made.unwrap().status().as_u16(), 200);
    // The chat has this workspace from its first call on.
    let first =
        json!({ "tool": "execute", "arguments": { "command": "ls" }, "workspace": "build" });
    let first = request("/v1/chats/support-1/calls/first", first)
        .await
        .unwrap();
    let first: Value = first.json().await.unwrap();
    assert!(first.to_string().contains("index.html"), "{first}");
    use_server(&console, "support-1").await;
}
