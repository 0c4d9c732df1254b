//! The workspace of a client's chat: named in a header or in `_meta`, and bounded by the token.

use reqwest::Method;
use toolhost_http::access::{Principal, Scope, Token, Tokens};
use toolhost_local::DirectoriesConfig;

use super::*;
use crate::harness::TOKEN;

/// A server with workspaces whose token is for those of one team.
async fn bounded(pattern: &str) -> (Http, tempfile::TempDir) {
    let base = tempfile::tempdir().unwrap();
    let directories = DirectoriesConfig {
        root: base.path().join("root"),
        ..DirectoriesConfig::default()
    };
    let setup = Setup::with(|builder| builder.directories(directories)).await;
    let team = Principal::new("team", [Scope::Call], None, None);
    let team = team.with_workspaces([pattern.parse().unwrap()]);
    let tokens = Tokens::new([(Token::new(TOKEN).unwrap(), team)]);
    let server = Server::with_tokens(setup.host.clone(), tokens).await;
    (Http::with(setup, server), base)
}

/// Calls `execute` in a chat, and names the workspace in a header, in `_meta`, or not at all.
async fn pwd(http: &Http, chat: &str, header: Option<&str>, meta: Value) -> Value {
    let params = json!({ "name": "execute", "arguments": { "command": "pwd" } });
    let params = with_meta(params, meta);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = http.server.request(Method::POST, "/mcp");
    let request = request
        .header("toolhost-chat", chat)
        .header("accept", "application/json, text/event-stream")
        .header("toolhost-structured", "true")
        .header("mcp-protocol-version", NEW)
        .header("mcp-method", "tools/call")
        .header("mcp-name", "execute")
        .json(&message);
    let request = match header {
        Some(workspace) => request.header("toolhost-workspace", workspace),
        None => request,
    };
    Events::of(request.send().await.unwrap()).reply(1).await
}

fn output(reply: &Value) -> &str {
    let output = reply["result"]["structuredContent"]["output"].as_str();
    output.unwrap_or_else(|| panic!("{reply}"))
}

#[tokio::test]
async fn a_client_names_the_workspace_of_its_chat_within_the_bounds_of_its_token() {
    let (http, _base) = bounded("team-a/*").await;
    let none = || json!({});
    let named = |name: &str| json!({ "io.toolhost/workspace": name });
    let reply = pwd(&http, "a", Some("team-a/web"), none()).await;
    assert!(output(&reply).ends_with("/team-a+web\n"), "{reply}");
    let reply = pwd(&http, "b", None, named("team-a/api")).await;
    assert!(output(&reply).ends_with("/team-a+api\n"), "{reply}");
    // From then on the chat is there.
    let reply = pwd(&http, "a", None, none()).await;
    assert!(output(&reply).ends_with("/team-a+web\n"), "{reply}");
    for (chat, header, meta, code) in [
        ("a", Some("team-a/api"), none(), "chat_bound"),
        ("c", Some("team-b/web"), none(), "foreign_workspace"),
        ("c", None, named("default"), "foreign_workspace"),
        ("c", None, none(), "foreign_workspace"),
        ("c", None, named("../x"), "broken_request"),
        ("c", Some("team-a/x"), named("team-a/y"), "broken_request"),
    ] {
        let reply = pwd(&http, chat, header, meta).await;
        assert_eq!(reply["error"]["data"]["code"], code, "{reply}");
    }
}

#[tokio::test]
async fn the_chats_of_a_token_of_one_workspace_belong_there() {
    let (http, _base) = bounded("team-a/web").await;
    let reply = pwd(&http, "any", None, json!({})).await;
    assert!(output(&reply).ends_with("/team-a+web\n"), "{reply}");
}
