//! `GET /v1/tools?chat=`: the list of a chat.

use reqwest::Method;
use toolhost_http::access::{Principal, Scope, Token, Tokens};

use super::*;
use crate::harness::{Server, TOKEN};

async fn list(server: &Server, query: &str) -> (u16, Value, String) {
    let response = server
        .request(Method::GET, &format!("/v1/tools?{query}"))
        .send()
        .await
        .unwrap();
    let status = response.status().as_u16();
    let tag = response
        .headers()
        .get("etag")
        .map(|tag| tag.to_str().unwrap().to_owned());
    (
        status,
        response.json().await.unwrap(),
        tag.unwrap_or_default(),
    )
}

#[tokio::test]
async fn a_chat_is_a_parameter_of_the_list() {
    let setup = setup().await;
    let server = Server::start(setup.host.clone()).await;
    let (_, new, tag) = list(&server, "format=openai").await;
    let (_, before, same) = list(&server, "format=openai&chat=c").await;
    assert_eq!((&before, &same), (&new, &tag));
    let body = json!({ "tool": FIND_TOOLS, "arguments": { "query": "select:get_pod" } });
    let (status, reply) = server.put("c", "1", body).await;
    assert_eq!(
        (status, names(&reply["structured"])),
        (200, vec!["get_pod"])
    );
    let (_, after, other) = list(&server, "format=openai&chat=c").await;
    let (before, after) = (before.as_array().unwrap(), after.as_array().unwrap());
    assert_eq!(before[..], after[..before.len()]);
    assert_eq!(after[before.len()]["function"]["name"], "get_pod");
    assert_ne!(tag, other);
    assert_eq!(list(&server, "format=openai").await.1, new);
    for (query, status) in [("chat=", 400), ("chat=..", 400), ("chat=a%20b", 400)] {
        assert_eq!(list(&server, query).await.0, status, "{query}");
    }
}

#[tokio::test]
async fn a_token_of_other_chats_does_not_see_the_list() {
    let setup = setup().await;
    let principal = Principal::new("web", [Scope::Read], Some("web-".to_owned()), None);
    let token = Token::new(TOKEN).unwrap();
    let server = Server::with_tokens(setup.host.clone(), Tokens::new([(token, principal)])).await;
    let (status, problem, _) = list(&server, "chat=other").await;
    assert_eq!((status, &problem["code"]), (403, &json!("foreign_chat")));
    assert_eq!(list(&server, "chat=web-1").await.0, 200);
}
