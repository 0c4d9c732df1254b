//! The chat of a client over HTTP: named in the path or in a header, or one of its own.

use reqwest::Method;
use toolhost_http::access::{Principal, Scope, Token, Tokens};

use super::*;
use crate::harness::{TOKEN, is_alive, until_dead};

const LIST: &str = "process_list";

fn background(command: &str) -> Value {
    let arguments = json!({ "command": command, "run_in_background": true });
    json!({ "name": "execute", "arguments": arguments })
}

fn tool(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

/// How a client names its chat.
#[derive(Clone, Copy)]
enum Named {
    Path(&'static str),
    Header(&'static str),
    No,
}

impl Named {
    fn post(self, http: &Http, message: &Value) -> reqwest::RequestBuilder {
        let request = match self {
            Self::Path(chat) => http.server.request(Method::POST, &format!("/mcp/{chat}")),
            Self::Header(chat) => {
                let request = http.server.request(Method::POST, "/mcp");
                request.header("toolhost-chat", chat)
            }
            Self::No => http.server.request(Method::POST, "/mcp"),
        };
        request
            .header("accept", "application/json, text/event-stream")
            .header("toolhost-structured", "true")
            .json(message)
    }

    /// Sends a request of the newest revision, and returns the response to it.
    async fn ask(self, http: &Http, method: &str, params: Value) -> Value {
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.unwrap_or_default().to_owned();
        let params = with_meta(params, json!({}));
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = self
            .post(http, &message)
            .header("mcp-protocol-version", NEW)
            .header("mcp-method", method)
            .header("mcp-name", name);
        Events::of(request.send().await.unwrap()).reply(1).await
    }

    async fn call(self, http: &Http, params: Value) -> Value {
        let reply = self.ask(http, "tools/call", params).await;
        assert_eq!(reply["result"]["isError"], false, "{reply}");
        reply["result"].clone()
    }

    /// Calls a tool in a session of its own, as clients do that open one for each call.
    async fn call_in_a_session(self, http: &Http, params: Value) -> Value {
        let begin =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize() });
        let begun = self.post(http, &begin).send().await.unwrap();
        assert_eq!(begun.status(), 200);
        let session = begun.headers()["mcp-session-id"].to_str().unwrap();
        let session = session.to_owned();
        Events::of(begun).reply(0).await;
        let within = |message: Value| {
            let request = self.post(http, &message);
            request
                .header("mcp-session-id", &session)
                .header("mcp-protocol-version", OLD)
        };
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(within(note).send().await.unwrap().status(), 202);
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let called = within(call).send().await.unwrap();
        let reply = Events::of(called).reply(1).await;
        let delete = http.server.request(Method::DELETE, "/mcp");
        let deleted = delete.header("mcp-session-id", &session).send().await;
        assert_eq!(deleted.unwrap().status(), 204);
        reply["result"].clone()
    }
}

fn processes(list: &Value) -> &Vec<Value> {
    let list = &list["structuredContent"]["processes"];
    list.as_array().unwrap()
}

fn chat(result: &Value) -> &str {
    result["_meta"]["io.toolhost/chat"].as_str().unwrap()
}

#[tokio::test]
async fn a_header_or_a_path_names_the_chat_in_both_revisions() {
    let http = Http::start().await;
    for named in [
        Named::Path("a:1"),
        Named::Header("a:1"),
        Named::Path("a%3A1"),
    ] {
        let list = tool(LIST, json!({}));
        let result = named.call(&http, list.clone()).await;
        assert_eq!(chat(&result), "a:1");
        let result = named.call_in_a_session(&http, list).await;
        assert_eq!(chat(&result), "a:1");
    }
}

#[tokio::test]
async fn the_processes_of_a_named_chat_outlive_its_sessions() {
    let http = Http::start().await;
    let (header, path) = (Named::Header("a"), Named::Path("a"));
    let command = "echo $$ > pid; echo ready; exec sleep 1000";
    let started = header.call_in_a_session(&http, background(command)).await;
    let id = &started["structuredContent"]["background_process_id"];
    let pid = pid(http.setup.root().join("pid")).await;
    // In a later session, and however the chat is named.
    let wait = json!({ "process_id": id, "until": "ready" });
    let output = path
        .call_in_a_session(&http, tool("process_output", wait))
        .await;
    let read = output["structuredContent"]["output"].as_str().unwrap();
    assert_eq!(read, "ready\n", "{output}");
    let list = tool(LIST, json!({}));
    let listed = header.call(&http, list.clone()).await;
    assert_eq!(processes(&listed).len(), 1, "{listed}");
    let listed = Named::Path("b").call_in_a_session(&http, list).await;
    assert_eq!(processes(&listed).len(), 0, "{listed}");
    assert!(is_alive(pid));
    let end = http.server.request(Method::DELETE, "/v1/chats/a").send();
    assert_eq!(end.await.unwrap().status(), 200);
    until_dead(pid).await;
}

#[tokio::test]
async fn clients_without_a_chat_share_nothing_and_have_the_ids_that_they_were_given() {
    let http = Http::start().await;
    let command = "echo $$ > pid; echo ready; exec sleep 1000";
    let started = Named::No.call(&http, background(command)).await;
    let id = started["structuredContent"]["background_process_id"].clone();
    let pid = pid(http.setup.root().join("pid")).await;
    // Each request may be of another client.
    let listed = Named::No.call(&http, tool(LIST, json!({}))).await;
    assert_eq!(processes(&listed).len(), 0, "{listed}");
    assert_ne!(chat(&listed), chat(&started));
    let listed = Named::No.ask(&http, "resources/list", json!({})).await;
    assert_eq!(listed["result"]["resources"], json!([]), "{listed}");
    // The id is known to the client that started the process.
    let wait = tool(
        "process_output",
        json!({ "process_id": id, "until": "ready" }),
    );
    let output = Named::No.call(&http, wait.clone()).await;
    assert_eq!(output["structuredContent"]["output"], "ready\n");
    let uri = format!("toolhost://processes/{}/output", id.as_str().unwrap());
    let read = json!({ "uri": uri });
    let read = Named::No.ask(&http, "resources/read", read).await;
    assert_eq!(read["result"]["contents"][0]["text"], "ready\n", "{read}");
    // A client that names a chat has what is in it, and a client that names this one has all of it.
    let other = Named::Header("b").ask(&http, "tools/call", wait).await;
    let error = &other["result"]["structuredContent"]["error"];
    assert!(error.as_str().unwrap().contains("not found"), "{other}");
    let meta = json!({ "io.toolhost/chat": chat(&started) });
    let list = tool(LIST, json!({}));
    let listed = http.request("tools/call", list, meta).await;
    assert_eq!(processes(&listed["result"]).len(), 1, "{listed}");
    let signal = json!({ "process_id": id, "signal": "kill" });
    Named::No.call(&http, tool("process_signal", signal)).await;
    until_dead(pid).await;
}

#[tokio::test]
async fn processes_of_named_chats_are_not_found_without_the_name() {
    let http = Http::start().await;
    let named = Named::Header("a");
    let started = named.call(&http, background("exec sleep 1000")).await;
    let id = &started["structuredContent"]["background_process_id"];
    let output = tool("process_output", json!({ "process_id": id }));
    let output = Named::No.ask(&http, "tools/call", output).await;
    let error = &output["result"]["structuredContent"]["error"];
    assert!(error.as_str().unwrap().contains("not found"), "{output}");
    // A repeat of a call would be in another chat, where it would run again.
    let call = json!({ "io.toolhost/call": "call_1" });
    let reply = http
        .request("tools/call", execute("echo > ran"), call)
        .await;
    assert_eq!(reply["error"]["data"]["code"], "broken_request", "{reply}");
    let text = reply["error"]["message"].as_str().unwrap();
    assert!(text.contains("Toolhost-Chat"), "{text}");
    assert!(!http.setup.root().join("ran").exists());
}

#[tokio::test]
async fn a_client_that_names_its_chat_has_no_tasks_of_others() {
    let http = Http::start().await;
    let named = json!({ "io.toolhost/chat": "a", "io.toolhost/call": "call_1" });
    http.request("tools/call", execute("echo secret"), named)
        .await;
    let extensions = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let tasks = json!({ "io.modelcontextprotocol/clientCapabilities": extensions });
    for (chat, has) in [("a", true), ("b", false)] {
        let params = with_meta(json!({ "taskId": "0/a/call_1" }), tasks.clone());
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": params });
        let request = Named::Header(chat).post(&http, &message);
        let request = request
            .header("mcp-protocol-version", NEW)
            .header("mcp-method", "tasks/get")
            .header("mcp-name", "0/a/call_1");
        let reply = Events::of(request.send().await.unwrap()).reply(1).await;
        assert_eq!(reply["result"]["status"] == "completed", has, "{reply}");
        let code = &reply["error"]["data"]["code"];
        assert_eq!(code == "unknown_task", !has, "{reply}");
    }
}

#[tokio::test]
async fn names_that_are_wrong_are_refused_with_a_reason() {
    let setup = Setup::new().await;
    let narrow = Principal::new("narrow", [Scope::Call], Some("a-".to_owned()), None);
    let tokens = Tokens::new([(Token::new(TOKEN).unwrap(), narrow)]);
    let server = Server::with_tokens(setup.host.clone(), tokens).await;
    let http = Http::with(setup, server);
    let begin =
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize() });
    for (path, header, status, code, detail) in [
        ("/mcp/a-1", "a-2", 400, "broken_request", "name one"),
        ("/mcp", "a 1", 400, "broken_request", "Toolhost-Chat"),
        ("/mcp/a%2F1", "a-1", 400, "broken_request", "the path"),
        ("/mcp", "b-1", 403, "foreign_chat", "another prefix"),
        ("/mcp/b-1", "b-1", 403, "foreign_chat", "another prefix"),
    ] {
        for method in [Method::POST, Method::GET, Method::DELETE] {
            let request = http.server.request(method, path);
            let request = request
                .header("toolhost-chat", header)
                .header("accept", "application/json, text/event-stream");
            let refused = request.json(&begin).send().await.unwrap();
            assert_eq!(refused.status(), status, "{path} {header}");
            let problem: Value = refused.json().await.unwrap();
            assert_eq!(problem["code"], code, "{problem}");
            let text = problem["detail"].as_str().unwrap();
            assert!(text.contains(detail), "{problem}");
        }
    }
    // A session stays in its chat.
    let begun = Named::Header("a-1").post(&http, &begin).send().await;
    let begun = begun.unwrap();
    let session = begun.headers()["mcp-session-id"].clone();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for (chat, status) in [("a-1", 200), ("a-2", 400)] {
        let request = Named::Path(chat).post(&http, &ping);
        let request = request.header("mcp-session-id", session.clone());
        let reply = request.header("mcp-protocol-version", OLD).send().await;
        assert_eq!(reply.unwrap().status(), status, "{chat}");
    }
    let mut list = tool(LIST, json!({}));
    list["_meta"] = json!({ "io.toolhost/chat": "a-2" });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": list });
    let request = Named::No.post(&http, &message);
    let request = request.header("mcp-session-id", session);
    let reply = request.header("mcp-protocol-version", OLD).send().await;
    let reply = Events::of(reply.unwrap()).reply(1).await;
    assert_eq!(reply["error"]["data"]["code"], "broken_request", "{reply}");
}
