//! Clients hear that tools were found in their chat, and list them.

use toolhost_core::FIND_TOOLS;

use super::*;
use crate::many::{names, setup};

const CHANGED: &str = "notifications/tools/list_changed";

fn listed(list: &Value) -> Vec<&str> {
    names(&list["result"])
}

#[tokio::test]
async fn a_session_of_mcp_is_told_and_lists_what_it_found() {
    let http = Http::of(setup().await).await;
    let (session, other) = (http.session().await, http.session().await);
    let mut stream = http.listen(&session, None).await;
    let before = http.ask(&session, "tools/list", json!({})).await;
    let find =
        json!({ "name": FIND_TOOLS, "arguments": { "query": "Is there a free meeting room?" } });
    let found = http.ask(&session, "tools/call", find).await;
    let found = names(&found["result"]["structuredContent"])
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    assert!(found.contains(&"list_room".to_owned()), "{found:?}");
    let told = loop {
        let message = stream.next().await.unwrap();
        if message["method"] == CHANGED {
            break message;
        }
    };
    assert_eq!(told["method"], CHANGED);
    let after = http.ask(&session, "tools/list", json!({})).await;
    let (before, after) = (listed(&before), listed(&after));
    assert_eq!(before[..], after[..before.len()]);
    assert_eq!(after[before.len()..], found);
    assert_eq!(
        listed(&http.ask(&other, "tools/list", json!({})).await),
        before
    );
}

#[tokio::test]
async fn a_client_without_a_session_names_its_chat_or_lists_all_tools() {
    let http = Http::of(setup().await).await;
    let all = http.request("tools/list", json!({}), json!({})).await;
    assert!(listed(&all).len() >= 300 && !listed(&all).contains(&FIND_TOOLS));
    let chat = json!({ "io.toolhost/chat": "named" });
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let mut subscription = http
        .send("subscriptions/listen", filter, chat.clone())
        .await;
    let taken = subscription.next().await.unwrap();
    assert_eq!(taken["method"], "notifications/subscriptions/acknowledged");
    let before = http.request("tools/list", json!({}), chat.clone()).await;
    assert!(listed(&before).contains(&FIND_TOOLS));
    let find = json!({ "name": FIND_TOOLS, "arguments": { "query": "select:get_pod" } });
    http.request("tools/call", find, chat.clone()).await;
    assert_eq!(subscription.next().await.unwrap()["method"], CHANGED);
    let after = http.request("tools/list", json!({}), chat).await;
    assert_eq!(listed(&after).len(), listed(&before).len() + 1);
    assert_eq!(listed(&after).last(), Some(&"get_pod"));
}
