//! Tokens that are bounded to tools, at several hosts.

use toolhost_http::access::{Principal, Scope, Token, Tokens};

use super::*;
use crate::harness::TOKEN;

/// Serves a host for a token that may use these tools.
async fn bounded(node: &Node, tools: &[&str]) -> Server {
    let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
    let principal = Principal::new("bounded", [Scope::Call], None, Some(tools));
    let tokens = Tokens::new([(Token::new(TOKEN).unwrap(), principal)]);
    Server::with_tokens(node.host.clone(), tokens).await
}

#[needs(postgres)]
#[tokio::test]
async fn a_bounded_token_sees_the_processes_of_its_tools_at_every_host() {
    let cluster = Cluster::new().await;
    let [one, other] = [cluster.node("one").await, cluster.node("other").await];
    let tools = ["execute", "process_list"];
    let [at_one, at_other] = [bounded(&one, &tools).await, bounded(&other, &tools).await];
    let background = json!({
        "tool": "execute", "workspace": "agent",
        "arguments": { "command": "exec sleep 1000", "run_in_background": true },
    });
    let (status, started) = at_one.put("a", "1", background).await;
    assert_eq!(status, 200, "{started}");
    for (server, call) in [(&at_one, "2"), (&at_other, "3")] {
        let (status, listed) = server
            .put("a", call, json!({ "tool": "process_list" }))
            .await;
        assert_eq!(status, 200, "{listed}");
        let processes = listed["structured"]["processes"].as_array().unwrap();
        assert_eq!(processes.len(), 1, "{listed}");
        let path = "/v1/chats/a/processes";
        let listed = server.request(Method::GET, path).send().await.unwrap();
        let listed: Value = listed.json().await.unwrap();
        assert_eq!(listed["processes"].as_array().unwrap().len(), 1, "{listed}");
    }
    // The process of another tool is not there.
    let server = bounded(&other, &["process_list"]).await;
    let (status, listed) = server
        .put("a", "4", json!({ "tool": "process_list" }))
        .await;
    assert_eq!(
        (status, &listed["structured"]["processes"]),
        (200, &json!([]))
    );
    other
        .server
        .request(Method::DELETE, "/v1/chats/a")
        .send()
        .await
        .unwrap();
}
