//! Chats in the default workspace of a host, which no other host has.

use super::members::Member;
use super::*;

#[needs(postgres)]
#[tokio::test]
async fn other_hosts_name_the_one_that_has_the_chat() {
    let cluster = Cluster::new().await;
    let [one, other] = [cluster.node("one").await, cluster.node("other").await];
    let (status, ran) = one.server.put("a", "1", here("echo x >> ran")).await;
    assert_eq!(status, 200, "{ran}");
    let path = "/v1/chats/a/calls/2";
    let refused = other.server.request(Method::PUT, path);
    let refused = refused.json(&here("echo x >> ran")).send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 421);
    assert_eq!(
        refused.headers()["toolhost-host"],
        "https://one.example.com"
    );
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["code"], "other_host");
    insta::assert_snapshot!(refused["detail"].as_str().unwrap(), @"the chat a runs on the host one at https://one.example.com: send its calls there");
    // Reading is a matter of the files there as well.
    let read = json!({ "tool": "read_file", "arguments": { "path": "ran" } });
    let (status, refused) = other.server.put("a", "3", read).await;
    assert_eq!((status, &refused["code"]), (421, &json!("other_host")));
    let (status, _) = one.server.put("a", "2", here("echo x >> ran")).await;
    assert_eq!(status, 200);
    let written = std::fs::read_to_string(one.workspace.path().join("ran"));
    assert_eq!(written.unwrap(), "x\nx\n");
    assert!(!other.workspace.path().join("ran").exists());
    // A chat that runs there cannot be bound to another workspace, wherever one tries.
    for node in [&one, &other] {
        let (status, refused) = node.server.put("a", "4", at_agent("true")).await;
        assert!([409, 421].contains(&status), "{refused}");
    }
}

#[needs(postgres)]
#[tokio::test]
async fn of_hosts_that_begin_a_chat_together_one_has_it() {
    let cluster = Cluster::new().await;
    let [one, other] = [cluster.node("one").await, cluster.node("other").await];
    for number in 0..10 {
        let chat = format!("c{number}");
        let (first, second, bound) = tokio::join!(
            settled(&one, &chat, "1", here("true")),
            settled(&other, &chat, "2", here("true")),
            settled(&other, &chat, "3", at_agent("true")),
        );
        let all = [first, second, bound];
        let ran = all.iter().filter(|status| **status == 200).count();
        let refused = all.iter().filter(|status| [409, 421].contains(*status));
        assert_eq!(ran + refused.count(), 3, "{all:?}");
        // In the workspace of the agent, both hosts run it.
        let most = if bound == 200 { 3 } else { 1 };
        assert!((1..=most).contains(&ran), "{all:?}");
    }
}

/// Sends a call until it is not refused because somebody decides where its chat runs.
async fn settled(node: &Node, chat: &str, call: &str, body: Value) -> u16 {
    loop {
        match node.server.put(chat, call, body.clone()).await {
            (429, _) => {}
            (status, _) => return status,
        }
    }
}

#[needs(postgres)]
#[tokio::test]
async fn a_chat_of_a_host_that_is_gone_is_freed() {
    let cluster = Cluster::new().await;
    let [one, other] = [cluster.node("one").await, cluster.node("other").await];
    let (status, _) = one.server.put("a", "1", here("true")).await;
    assert_eq!(status, 200);
    postgres::expire(&cluster.url, one.store.leases().host).await;
    let (status, refused) = other.server.put("a", "2", here("true")).await;
    assert_eq!(status, 421, "{refused}");
    insta::assert_snapshot!(refused["detail"].as_str().unwrap(), @"the chat a runs on the host one at https://one.example.com: send its calls there when it is back; if it is gone for good, free the chat with DELETE /v1/chats/a");
    let freed = end(other.server.request(Method::DELETE, "/v1/chats/a")).await;
    assert_eq!(freed, json!({ "ended": [], "freed_from": "one" }));
    let (status, ran) = other.server.put("a", "2", here("true")).await;
    assert_eq!(status, 200, "{ran}");
    let ended = end(other.server.request(Method::DELETE, "/v1/chats/a")).await;
    assert!(ended["freed_from"].is_null(), "{ended}");
}

/// There is nobody to forward the request to.
#[needs(postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_forwards_frees_the_chat_of_one_that_is_gone() {
    const EXPIRE: &str = "UPDATE toolhost.hosts SET until = '-infinity' WHERE name = 'one'";
    let database = postgres::database();
    let mut one = Member::start(&database, "one").await;
    let other = Member::start(&database, "other").await;
    one.called("c", "1", here("true")).await;
    one.kill();
    let client = postgres::connect(&database).await;
    client.batch_execute(EXPIRE).await.unwrap();
    let freed = end(other.request(Method::DELETE, "/v1/chats/c")).await;
    assert_eq!(freed["freed_from"], "one");
    other.called("c", "2", here("true")).await;
    let audited = async || {
        let (_, audited) = other.get("/v1/audit?event=chat_freed").await;
        audited["lines"].as_array().unwrap().first().cloned()
    };
    let line = loop {
        if let Some(line) = audited().await {
            break line;
        }
    };
    assert_eq!(
        (&line["chat"], &line["host"]),
        (&json!("c"), &json!("one")),
        "{line}"
    );
}

/// Ends a chat, and returns the answer.
async fn end(request: reqwest::RequestBuilder) -> Value {
    let ended = request.send().await.unwrap();
    assert_eq!(ended.status().as_u16(), 200);
    ended.json().await.unwrap()
}
