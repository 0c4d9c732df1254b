//! Outputs of processes as resources.

use std::sync::Arc;

use toolhost_local::Local;
use toolhost_local::{files, process};

use super::*;
use crate::harness::processes::temporary;
use crate::harness::spawner;

#[tokio::test]
async fn the_output_of_a_process_is_a_resource() {
    let mut client = Pipes::initialized(&[]).await;
    client.call(execute("printf 'one\\ntwo ä\\n'")).await;
    let listed = client.request("resources/list", json!({})).await;
    let resources = listed["result"]["resources"].as_array().unwrap();
    let [resource] = &resources[..] else {
        panic!("{listed}")
    };
    assert_eq!(
        (&resource["mimeType"], &resource["size"]),
        (&json!("text/plain"), &json!(11))
    );
    let uri = resource["uri"].as_str().unwrap().to_owned();
    let read = client
        .request("resources/read", json!({ "uri": uri }))
        .await;
    let contents = &read["result"]["contents"][0];
    assert_eq!(
        (&contents["text"], &contents["mimeType"]),
        (&json!("one\ntwo ä\n"), &json!("text/plain"))
    );
    assert_eq!(contents["_meta"]["io.toolhost/end"], true, "{read}");
    // A part ends between characters, and says where the next begins.
    let part = json!({ "uri": format!("{uri}?since=4&max=5") });
    let part = client.request("resources/read", part).await;
    let contents = &part["result"]["contents"][0];
    assert_eq!(
        (&contents["text"], &contents["_meta"]["io.toolhost/next"]),
        (&json!("two "), &json!(8))
    );

    let templates = client.request("resources/templates/list", json!({})).await;
    let templates = templates["result"]["resourceTemplates"].as_array().unwrap();
    assert!(templates.iter().all(|template| {
        template["uriTemplate"]
            .as_str()
            .unwrap()
            .starts_with("toolhost://processes/{id}/output")
    }));

    for (uri, code) in [
        (uri.replace("/output", "/input"), -32002),
        ("toolhost://processes/unknown/output".to_owned(), -32002),
        ("file:///etc/passwd".to_owned(), -32002),
        (format!("{uri}?since=x"), -32602),
    ] {
        let refused = client
            .request("resources/read", json!({ "uri": uri }))
            .await;
        assert_eq!(refused["error"]["code"], code, "{refused}");
    }
    // To other chats, it is not there.
    let other = json!({ "uri": uri, "_meta": { "io.toolhost/chat": "other" } });
    assert_eq!(
        client.request("resources/read", other).await["error"]["code"],
        -32002
    );
    let other = json!({ "_meta": { "io.toolhost/chat": "other" } });
    assert_eq!(
        client.request("resources/list", other).await["result"]["resources"],
        json!([])
    );
}

#[tokio::test]
async fn bytes_that_are_no_text_are_a_blob() {
    let mut client = Pipes::initialized(&[]).await;
    client.call(execute("printf '\\377\\000'")).await;
    let listed = client.request("resources/list", json!({})).await;
    let uri = &listed["result"]["resources"][0]["uri"];
    let read = client
        .request("resources/read", json!({ "uri": uri }))
        .await;
    let contents = &read["result"]["contents"][0];
    assert_eq!(
        (&contents["blob"], &contents["mimeType"]),
        (&json!("/wA="), &json!("application/octet-stream"))
    );
}

#[tokio::test]
async fn outputs_in_another_workspace_are_resources_as_well() {
    let other = tempfile::tempdir().unwrap();
    let config = process::Config {
        spawner: Some(spawner()),
        ..process::Config::new(other.path())
    };
    let (files, state) = (files::Config::new(other.path()), temporary());
    let other_workspace = Local::open(config, files, &state);
    let other_workspace = other_workspace.await.unwrap();
    let setup = Setup::with(|builder| builder.workspace(Arc::new(other_workspace))).await;
    let http = Http::of(setup).await;
    let go = other.path().join("go");
    nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let start = json!({ "command": "cat go", "run_in_background": true });
    let start = json!({ "name": "execute", "arguments": start });
    let chat = || json!({ "io.toolhost/chat": "c" });
    http.request("tools/call", start, chat()).await;
    let listed = http.request("resources/list", json!({}), chat()).await;
    let uri = &listed["result"]["resources"][0]["uri"];
    assert!(uri.is_string(), "{listed}");

    let filter = json!({ "notifications": { "resourceSubscriptions": [uri] } });
    let mut told = http.send("subscriptions/listen", filter, chat()).await;
    let taken = told.next().await.unwrap();
    assert_eq!(taken["method"], "notifications/subscriptions/acknowledged");
    tokio::task::spawn_blocking(move || std::fs::write(go, "done\n").unwrap())
        .await
        .unwrap();
    let changed = told.next().await.unwrap();
    assert_eq!(changed["method"], "notifications/resources/updated");
    assert_eq!(&changed["params"]["uri"], uri);
    let read = http
        .request("resources/read", json!({ "uri": uri }), chat())
        .await;
    assert_eq!(read["result"]["contents"][0]["text"], "done\n", "{read}");
    let unknown = json!({ "uri": "toolhost://processes/unknown/output" });
    let refused = http.request("resources/read", unknown, json!({})).await;
    assert_eq!(refused["error"]["data"]["code"], "not_found", "{refused}");
}
