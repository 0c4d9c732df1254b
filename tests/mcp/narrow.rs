//! Tokens that may not do everything: what is not theirs does not exist for them.

use toolhost_http::access::{Principal, Scope, Token, Tokens};

use super::*;
use crate::harness::TOKEN;

/// The token beside [`TOKEN`], for chats that begin with `b-` and for one tool.
const NARROW: &str = "a-narrow-token-for-tests";

fn bounded(scopes: &[Scope], chats: &str, tools: &[&str]) -> Principal {
    let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
    let scopes = scopes.iter().copied();
    Principal::new("narrow", scopes, Some(chats.to_owned()), Some(tools))
}

async fn start(narrow: Principal) -> Http {
    let setup = Setup::new().await;
    let tokens = Tokens::new([
        (Token::new(TOKEN).unwrap(), Principal::unbounded("token")),
        (Token::new(NARROW).unwrap(), narrow),
    ]);
    let server = Server::with_tokens(setup.host.clone(), tokens).await;
    Http::with(setup, server)
}

/// Says that the client knows tasks.
fn tasks() -> Value {
    let extensions = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    json!({ "io.modelcontextprotocol/clientCapabilities": extensions })
}

impl Http {
    /// Sends a request of the newest revision as whoever has this token.
    async fn ask_as(&self, token: &str, method: &str, params: Value, meta: Value) -> Value {
        let name = ["name", "uri", "taskId"].map(|key| params[key].as_str().map(str::to_owned));
        let name = name.into_iter().flatten().next();
        let params = with_meta(params, meta);
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = self
            .server
            .client
            .post(format!("{}/mcp", self.server.url))
            .bearer_auth(token)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", NEW)
            .header("mcp-method", method);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        let response = request.json(&message).send().await.unwrap();
        if response.status() == 403 {
            return response.json().await.unwrap();
        }
        Events::of(response).reply(1).await
    }
}

#[tokio::test]
async fn the_list_of_tools_applies_to_tasks_and_outputs() {
    let http = start(bounded(&[Scope::Call], "b-", &["process_list"])).await;
    let named = json!({ "io.toolhost/chat": "b-x", "io.toolhost/call": "sec" });
    let command = "echo $$ > pid; echo secret; until [ -e go ]; do sleep 0.01; done";
    let call = http.send("tools/call", execute(command), named.clone());
    tokio::select! {
        _ = call => panic!("it has no end yet"),
        _ = pid(http.setup.root().join("pid")) => {}
    }
    let task = json!({ "taskId": "0/b-x/sec" });
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let mut params = task.clone();
        if method == "tasks/update" {
            params["inputResponses"] = json!({});
        }
        let reply = http.ask_as(NARROW, method, params, tasks()).await;
        let code = &reply["error"]["data"]["code"];
        assert_eq!(code, "unknown_task", "{method}: {reply}");
    }
    // It goes on, and whoever may see it does.
    std::fs::write(http.setup.root().join("go"), "").unwrap();
    let ended = http
        .request("tools/call", execute(command), named.clone())
        .await;
    assert_eq!(
        ended["result"]["structuredContent"]["output"], "secret\n",
        "{ended}"
    );
    let reply = http
        .ask_as(NARROW, "tasks/get", task.clone(), tasks())
        .await;
    assert_eq!(reply["error"]["data"]["code"], "unknown_task", "{reply}");
    let reply = http.ask_as(TOKEN, "tasks/get", task, tasks()).await;
    assert_eq!(reply["result"]["status"], "completed", "{reply}");

    let chat = json!({ "io.toolhost/chat": "b-x" });
    let listed = http
        .ask_as(TOKEN, "resources/list", json!({}), chat.clone())
        .await;
    let uri = json!({ "uri": listed["result"]["resources"][0]["uri"] });
    let listed = http
        .ask_as(NARROW, "resources/list", json!({}), chat.clone())
        .await;
    assert_eq!(listed["result"]["resources"], json!([]), "{listed}");
    let read = http
        .ask_as(NARROW, "resources/read", uri, chat.clone())
        .await;
    assert_eq!(read["error"]["data"]["code"], "not_found", "{read}");
    // Nor do tools show it.
    let list = json!({ "name": "process_list", "arguments": {} });
    let all = http
        .ask_as(TOKEN, "tools/call", list.clone(), chat.clone())
        .await;
    assert!(all.to_string().contains("secret"), "{all}");
    let own = http.ask_as(NARROW, "tools/call", list, chat).await;
    assert!(
        own["error"].is_null() && !own.to_string().contains("secret"),
        "{own}"
    );
}

#[tokio::test]
async fn every_method_asks_for_the_scope_and_the_prefix() {
    let uri = json!({ "uri": "toolhost://processes/p/output" });
    let task = json!({ "taskId": "0/a/sec" });
    let methods = [
        ("tools/list", json!({})),
        (
            "tools/call",
            json!({ "name": "process_list", "arguments": {} }),
        ),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", uri),
        ("subscriptions/listen", json!({ "notifications": {} })),
        ("tasks/get", task.clone()),
        ("tasks/cancel", task),
        ("server/discover", json!({})),
    ];
    let reads = start(bounded(
        &[Scope::Read, Scope::Admin],
        "b-",
        &["process_list"],
    ))
    .await;
    let calls = start(bounded(&[Scope::Call], "b-", &["process_list"])).await;
    let foreign = json!({ "io.toolhost/chat": "a" });
    let known = json!({ "io.toolhost/chat": "a", "io.toolhost/call": "sec" });
    calls
        .request("tools/call", execute("echo secret"), known)
        .await;
    for (method, params) in methods {
        let reply = reads.ask_as(NARROW, method, params.clone(), tasks()).await;
        assert_eq!(reply["code"], "missing_scope", "{method}: {reply}");
        let mut meta = tasks();
        let fields = meta.as_object_mut().unwrap();
        if !method.starts_with("tasks/") {
            fields.extend(foreign.as_object().unwrap().clone());
        }
        let code = match method {
            "server/discover" => continue,
            method if method.starts_with("tasks/") => "unknown_task",
            _ => "foreign_chat",
        };
        let reply = calls.ask_as(NARROW, method, params, meta).await;
        assert_eq!(reply["error"]["data"]["code"], code, "{method}: {reply}");
    }
}

#[tokio::test]
async fn tools_of_others_are_not_named() {
    let http = start(bounded(&[Scope::Call], "b-", &["process_output"])).await;
    let unknown = ["execute", "nonsense"].map(|name| json!({ "name": name, "arguments": {} }));
    for params in unknown {
        let reply = http.ask_as(NARROW, "tools/call", params, json!({})).await;
        let result = &reply["result"];
        assert_eq!(
            result["_meta"]["io.toolhost/error"], "unknown_tool",
            "{reply}"
        );
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.ends_with("; the tools are process_output"), "{text}");
    }
    for (token, has, hasnt) in [
        (NARROW, "process_output", "process_signal"),
        (TOKEN, "process_signal", "???"),
    ] {
        let discovered = http
            .ask_as(token, "server/discover", json!({}), json!({}))
            .await;
        let text = discovered["result"]["instructions"].as_str().unwrap();
        assert!(text.contains(has) && !text.contains(hasnt), "{text}");
        let message =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize() });
        let begun = http
            .server
            .client
            .post(format!("{}/mcp", http.server.url))
            .bearer_auth(token)
            .header("accept", "application/json, text/event-stream")
            .json(&message)
            .send();
        let begun = Events::of(begun.await.unwrap()).reply(0).await;
        // A session has a chat that lasts, whose processes are listed.
        let of_session = begun["result"]["instructions"].as_str().unwrap();
        let more = text.strip_prefix(of_session).unwrap();
        assert_eq!(more.contains("Keep the id"), token == TOKEN, "{text}");
    }
    let long = json!({ "name": "x".repeat(1 << 20), "arguments": {} });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": long });
    let session = http.session().await;
    let reply = http.within(&session, &message).await.reply(1).await;
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.len() < 1000, "{} bytes", text.len());
}

#[tokio::test]
async fn a_session_has_a_chat_within_a_long_prefix() {
    for (length, status) in [(100, 200), (120, 403)] {
        let narrow = bounded(&[Scope::Call], &"p".repeat(length), &["execute"]);
        let tokens = Tokens::new([(Token::new(TOKEN).unwrap(), narrow)]);
        let setup = Setup::new().await;
        let server = Server::with_tokens(setup.host.clone(), tokens).await;
        let http = Http::with(setup, server);
        // More often than there are places.
        for _ in 0..130 {
            let (got, id, reply) = http.try_session().await;
            assert_eq!(got, status, "{reply}");
            let Some(id) = id else {
                assert_eq!(reply["code"], "foreign_chat");
                continue;
            };
            let delete = http.server.request(reqwest::Method::DELETE, "/mcp");
            delete.header("mcp-session-id", id).send().await.unwrap();
        }
    }
}
