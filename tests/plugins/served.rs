//! Plugins over HTTP, and from the command line.

use reqwest::Method;
use serde_json::Value;

use super::*;
use crate::harness::serving::{Serving, server};
use crate::harness::{Server, TOKEN, until};

async fn ask(server: &Server, method: Method, path: &str) -> (u16, Value) {
    let response = server.request(method, path).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn listed_turned_off_and_on_and_reloaded() {
    let text = "[plugins.one]\ncomponent = 'one.wasm'\n[plugins.bad]\ncomponent = 'bad.wasm'\n";
    let configured = Configured::new(text);
    configured.write("one.wasm", greeting("first"));
    configured.write("bad.wasm", "no component");
    let setup = configured.host().await;
    let server = Server::start(setup.host.clone()).await;
    let (status, list) = ask(&server, Method::GET, "/v1/plugins").await;
    assert_eq!(status, 200);
    let states = |list: &Value| {
        let plugins = list["plugins"].as_array().unwrap().iter();
        plugins
            .map(|plugin| {
                (
                    plugin["name"].as_str().unwrap().to_owned(),
                    plugin["state"].as_str().unwrap().to_owned(),
                )
            })
            .collect::<Vec<_>>()
    };
    let pair = |name: &str, state: &str| (name.to_owned(), state.to_owned());
    assert_eq!(
        states(&list),
        [pair("bad", "failed"), pair("one", "active")]
    );

    let (status, info) = ask(&server, Method::POST, "/v1/plugins/one/disable").await;
    assert_eq!((status, &info["state"]), (200, &json!("disabled")));
    let (status, unknown) = server.put("chat", "1", json!({ "tool": "t" })).await;
    let kind = &unknown["error"]["kind"];
    assert_eq!((status, kind), (200, &json!("unknown_tool")));
    // The configuration says what it said before: the administrator's word counts.
    setup.host.apply(configured.read().plugins().unwrap()).await;
    is(&setup.host, "one", PluginState::Disabled);
    let (status, info) = ask(&server, Method::POST, "/v1/plugins/one/enable").await;
    assert_eq!((status, &info["state"]), (200, &json!("active")));
    assert_eq!(server.put("chat", "2", json!({ "tool": "t" })).await.0, 200);

    configured.write("one.wasm", greeting("other"));
    let (status, _) = ask(&server, Method::POST, "/v1/plugins/one/reload").await;
    assert_eq!(status, 200);
    assert_eq!(said(&setup.host).await, "other");
    let (status, problem) = ask(&server, Method::POST, "/v1/plugins/bad/reload").await;
    assert_eq!(
        (status, &problem["code"]),
        (422, &json!("plugin_does_not_load"))
    );
    let (status, problem) = ask(&server, Method::POST, "/v1/plugins/none/enable").await;
    assert_eq!((status, &problem["code"]), (404, &json!("unknown_plugin")));
    server.stop().await;
}

#[tokio::test]
async fn a_quarantined_plugin_says_when_to_come_back() {
    let configured =
        Configured::new("[plugins.bad]\ncomponent = 'bad.wasm'\nlimits = { traps = 1 }\n");
    configured.write("bad.wasm", guest("trap"));
    let setup = configured.host().await;
    let server = Server::start(setup.host.clone()).await;
    assert_eq!(server.put("chat", "1", json!({ "tool": "t" })).await.0, 200);
    let path = "/v1/chats/chat/calls/2";
    let put = server
        .request(Method::PUT, path)
        .json(&json!({ "tool": "t" }));
    let response = put.send().await.unwrap();
    // A slow machine may have let the second pass: then the call tried, and trapped again.
    if response.status() == 503 {
        let again: u64 = response.headers()["retry-after"]
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        assert!(again >= 1);
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["code"], "quarantined");
    } else {
        assert_eq!(response.status(), 200);
    }
    server.stop().await;
}

#[tokio::test]
async fn serve_takes_a_configuration_and_follows_it() {
    let text = "listen = '127.0.0.1:0'\nmax_live = 3\n[workspace]\ndir = 'work'\n[plugins.one]\ncomponent = 'one.wasm'\n";
    let configured = Configured::new(text);
    std::fs::create_dir(configured.path("work")).unwrap();
    configured.write("one.wasm", greeting("first"));
    let mut command = server(configured.directory.path());
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .arg("--config")
        .arg(configured.path("toolhost.toml"));
    command.arg("serve");
    let serving = Serving::of(command);
    let client = crate::harness::client();
    let says = async |id: usize| {
        let url = format!("{}/v1/chats/c/calls/{id}", serving.url);
        let put = client.put(url).bearer_auth(TOKEN).body(r#"{"tool":"t"}"#);
        let reply: Value = put.send().await.unwrap().json().await.unwrap();
        reply["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(says(0).await, "first");
    configured.write("one.wasm", greeting("other"));
    let begun = std::time::Instant::now();
    for id in 1.. {
        if says(id).await == "other" {
            break;
        }
        assert!(
            begun.elapsed() < harness::PATIENCE,
            "the new version does not come"
        );
        until("a moment passes", || Some(())).await;
    }
}

/// An operator who starts a server reads the end of what it says.
#[test]
fn a_plugin_that_does_not_load_is_the_last_line_of_a_start() {
    let configured = Configured::new("[plugins.bad]\ncomponent = 'bad.wasm'\n");
    configured.write("bad.wasm", "no component");
    let mut command = server(configured.directory.path());
    command
        .args(["--log", "error", "--config"])
        .arg(configured.path("toolhost.toml"));
    command.arg("serve").env("TOOLHOST_TOKEN", TOKEN);
    let mut serving = Serving::of(command);
    serving.signal(nix::sys::signal::Signal::SIGTERM);
    let rest = serving.rest();
    let said = format!("{}{rest}", serving.stderr);
    let last = said.lines().last().unwrap();
    let expected = "toolhost: the plugin bad does not load: this is not a WebAssembly component";
    assert!(last.starts_with(expected), "{said}");
}
