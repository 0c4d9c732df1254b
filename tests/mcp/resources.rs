//! Documents that tools return, as resources; and being told when resources change.

use toolhost_http::access::{Principal, Scope, Token, Tokens};

use super::*;
use crate::guest::{component, options};
use crate::harness::{TOKEN, logged};

const UPDATED: &str = "notifications/resources/updated";

/// A client of a host with a plugin that has resources.
async fn client(workspace: &TempDir) -> Pipes {
    let component = workspace.path().join("conformance.wasm");
    std::fs::write(&component, toolhost_guests::CONFORMANCE).unwrap();
    let mut client = Pipes::initialized(&["--plugin", component.to_str().unwrap()]).await;
    // It answers before the plugin is compiled, and says when it has more.
    loop {
        let listed = client.request("resources/list", json!({})).await;
        if listed["result"]["resources"] != json!([]) {
            return client;
        }
        client
            .notification("notifications/tools/list_changed")
            .await;
    }
}

#[tokio::test]
async fn what_tools_return_by_address_is_listed_and_read() {
    let files = tempfile::tempdir().unwrap();
    let mut client = client(&files).await;
    let listed = client.request("resources/list", json!({})).await;
    let listed = listed["result"]["resources"].as_array().unwrap();
    let uris = listed.iter().map(|one| one["uri"].as_str().unwrap());
    assert_eq!(
        uris.collect::<Vec<_>>(),
        [
            "test://static-text",
            "test://static-binary",
            "test://watched-resource"
        ]
    );
    assert_eq!(
        listed[0],
        json!({
            "uri": "test://static-text", "name": "static-text", "title": "A text", "mimeType": "text/plain",
        })
    );
    let templates = client.request("resources/templates/list", json!({})).await;
    let templates = templates["result"]["resourceTemplates"].as_array().unwrap();
    let last = templates.last().unwrap();
    assert_eq!(
        (&last["uriTemplate"], &last["description"]),
        (
            &json!("test://template/{id}/data"),
            &json!("Data with an id")
        )
    );

    let mut read = async |uri: &str| {
        let read = json!({ "uri": uri });
        client.request("resources/read", read).await
    };
    let contents = read("test://template/1%2F2/data").await["result"]["contents"].clone();
    assert_eq!(contents[0]["uri"], "test://template/1%2F2/data");
    assert!(contents[0]["text"].as_str().unwrap().contains("1%2F2"));
    let contents = read("test://static-binary").await["result"]["contents"].clone();
    assert_eq!(contents[0]["mimeType"], "image/png");
    assert!(contents[0]["blob"].as_str().unwrap().starts_with("iVBOR"));
    for other in ["test://template/1/2/data", "test://other", "x", ""] {
        let refused = read(other).await;
        assert_eq!(refused["error"]["code"], -32002, "{other}: {refused}");
    }
}

#[tokio::test]
async fn a_token_reads_what_its_tools_return_and_what_they_started() {
    let setup = Setup::with(|builder| {
        let options = toolhost_core::Options::new("conformance");
        builder.plugin(toolhost_guests::CONFORMANCE, options)
    })
    .await;
    let tools = Some(["execute".to_owned()].into());
    // Who may call may read.
    let narrow = Principal::new("web", [Scope::Call], None, tools);
    let tokens = Tokens::new([(Token::new(TOKEN).unwrap(), narrow)]);
    let server = Server::with_tokens(setup.host.clone(), tokens).await;
    let http = Http::with(setup, server);
    let chat = || json!({ "io.toolhost/chat": "c" });
    http.request("tools/call", execute("echo mine"), chat())
        .await;
    let listed = http.request("resources/list", json!({}), chat()).await;
    let listed = listed["result"]["resources"].as_array().unwrap();
    let [output] = &listed[..] else {
        panic!("{listed:?}")
    };
    let uri = json!({ "uri": output["uri"] });
    let read = http.request("resources/read", uri, chat()).await;
    assert_eq!(read["result"]["contents"][0]["text"], "mine\n", "{read}");
    let uri = json!({ "uri": "test://static-text" });
    let read = http.request("resources/read", uri, json!({})).await;
    assert_eq!(read["error"]["data"]["code"], "not_found", "{read}");
}

#[tokio::test]
async fn a_session_is_told_when_an_output_changes() {
    let mut client = Pipes::initialized(&["--max-wait", "1ms"]).await;
    let go = client.workspace.path().join("go");
    nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
    client.call(execute("cat go")).await;
    let listed = client.request("resources/list", json!({})).await;
    let uri = listed["result"]["resources"][0]["uri"].clone();
    let subscribe = json!({ "uri": uri });
    for _ in 0..2 {
        let done = client
            .request("resources/subscribe", subscribe.clone())
            .await;
        assert_eq!(done["result"], json!({}), "{done}");
    }
    tokio::task::spawn_blocking(move || std::fs::write(go, "done\n").unwrap())
        .await
        .unwrap();
    let told = client.notification(UPDATED).await;
    assert_eq!(told["params"]["uri"], uri);
    for unknown in ["test://static-text", "toolhost://processes/x/output"] {
        let unknown = json!({ "uri": unknown });
        let refused = client.request("resources/subscribe", unknown).await;
        assert_eq!(refused["error"]["code"], -32002, "{refused}");
    }
    let done = client.request("resources/unsubscribe", subscribe).await;
    assert_eq!(done["result"], json!({}), "{done}");
    client.end().await;
}

#[tokio::test]
async fn a_session_is_told_of_what_its_chat_asked_for() {
    let mut client = Pipes::initialized(&["--max-wait", "1ms"]).await;
    let go = client.workspace.path().join("go");
    nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let listed = client.request("resources/list", json!({})).await;
    assert_eq!(listed["result"]["resources"], json!([]), "{listed}");
    let mut call = execute("cat go");
    call["arguments"]["run_in_background"] = true.into();
    call["arguments"]["notify"] = json!({ "on": "output", "pattern": "ready" });
    client.call(call).await;
    let listed = client.request("resources/list", json!({})).await;
    let resources = listed["result"]["resources"].as_array().unwrap();
    let uri = json!("toolhost://notices");
    assert!(
        resources.iter().any(|resource| resource["uri"] == uri),
        "{listed}"
    );
    let done = client
        .request("resources/subscribe", json!({ "uri": uri }))
        .await;
    assert_eq!(done["result"], json!({}), "{done}");
    tokio::task::spawn_blocking(move || std::fs::write(go, "ready\n").unwrap())
        .await
        .unwrap();
    let told = client.notification(UPDATED).await;
    assert_eq!(told["params"]["uri"], uri);
    let read = client
        .request("resources/read", json!({ "uri": uri }))
        .await;
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    let read: Value = serde_json::from_str(text).unwrap();
    assert_eq!(read["notices"][0]["told"]["event"], "matched", "{read}");
    client.end().await;
}

#[tokio::test]
async fn a_subscription_without_a_session_is_told_as_well() {
    let mut client = Pipes::start(&["--chat", "a"]);
    let run = with_meta(execute("echo done"), json!({}));
    client.call(run).await;
    let listed = client
        .request("resources/list", with_meta(json!({}), json!({})))
        .await;
    let uri = listed["result"]["resources"][0]["uri"].clone();
    let filter = json!({ "notifications": { "resourceSubscriptions": [uri, "test://unknown"] } });
    let filter = with_meta(filter, json!({}));
    let id = client.begin("subscriptions/listen", filter).await;
    // It has ended, which whoever saw it run does not know.
    let told = client.notification(UPDATED).await;
    assert_eq!(told["params"]["uri"], uri);
    assert_eq!(
        told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        id
    );
    client.end().await;
}

/// A guest with two addresses: at one it replies that it has failed, at the other it fails.
const UNREADABLE: &str = r#"
(data (i32.const 112) "\01")
(data (i32.const 144) "\00\02\00\00\01\00\00\00")
(data (i32.const 512) "\20\02\00\00\09\00\00\00\40\02\00\00\40\00\00\00")
(data (i32.const 544) "resources")
(data (i32.const 576) "[{\22uri\22:\22test://a\22,\22name\22:\22a\22},{\22uri\22:\22test://bb\22,\22name\22:\22b\22}]  ")
(data (i32.const 704) "what a file says")
(data (i32.const 736) "\01\00\00\00\04\00\00\00\c0\02\00\00\10\00\00\00")
(func $attack (result i32)
  (local $reply i32)
  (if (i32.eq (global.get $length) (i32.const 18))
    (then
      (local.set $reply (call $reply (i32.const 0) (i32.const 704) (i32.const 16)))
      (i32.store8 offset=12 (local.get $reply) (i32.const 1))
      (return (local.get $reply))))
  (i32.const 736))
"#;

#[tokio::test]
async fn what_a_tool_says_of_an_address_is_for_the_client_alone() {
    let guest = component("unreadable", UNREADABLE.to_owned());
    let setup = Setup::with(|builder| builder.plugin(guest, options("unreadable"))).await;
    let http = Http::of(setup).await;
    let log = logged(async {
        for uri in ["test://a", "test://bb"] {
            let uri = json!({ "uri": uri });
            let read = http.request("resources/read", uri, json!({})).await;
            assert_eq!(read["error"]["data"]["code"], "internal", "{read}");
            assert_eq!(read["error"]["message"], "what a file says", "{read}");
        }
    })
    .await;
    // What the library says is in no log unless somebody asks for it.
    let lines = log.lines().filter(|line| !line.contains("rmcp"));
    let lines: Vec<_> = lines.collect();
    let said = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert!(said("a request over MCP gets an error") >= 2, "{log}");
    assert_eq!(said("what a file says"), 0, "{log}");
}
