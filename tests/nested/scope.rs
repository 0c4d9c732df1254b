//! A nested call is a call like any other, in the scope of the one that made it.

use toolhost_call::approval::Approval;
use toolhost_call::audit::{Audit, Config};
use toolhost_call::metrics::Metrics;
use toolhost_http::access::{Principal, Scope, Token, Tokens};
use toolhost_state::state_dir::StateDir;

use super::*;
use crate::harness::{Server, TOKEN};

#[tokio::test]
async fn a_nested_call_is_recorded_below_the_call_that_made_it() {
    let trail = tempfile::tempdir().unwrap();
    let directory = StateDir::open(&trail.path().join("audit")).unwrap();
    let audit = Audit::open(directory, &Config::default(), &Metrics::default()).unwrap();
    let setup = changed(&["execute", "read_*"], |builder| builder.audit(audit)).await;
    std::fs::write(setup.root().join("a.txt"), "in a file\n").unwrap();
    let calls = json!([
        execute("echo from a command"),
        { "tool": "read_file", "arguments": { "path": "a.txt" } },
        execute("exit 3"),
        { "tool": "execute", "arguments": {} },
    ]);
    let all = ends(&setup.host, plan("outer", &json!({ "calls": calls }))).await;
    assert_eq!(all[0]["content"][0]["output"], "from a command\n", "{all}");
    assert_eq!(
        (&all[0]["id"], &all[0]["is_error"]),
        (&json!("outer/1"), &json!(false))
    );
    assert!(all[1].to_string().contains("in a file"), "{all}");
    assert_eq!(all[2]["content"][0]["exit_code"], 3, "{all}");
    assert_eq!(all[3]["error"], "invalid_arguments", "{all}");
    // Each has its own outcome, with its processes.
    let first = nested(&setup.host, "outer/1").await;
    assert_eq!(first.tool, "execute");
    assert_eq!(json!(first.processes), all[0]["processes"]);
    assert_eq!(first.processes.len(), 1);
    assert_eq!(nested(&setup.host, "outer/2").await.tool, "read_file");
    assert!(status(&setup.host, "outer/5").await.is_none());
    // The outer call has started no process itself.
    assert!(nested(&setup.host, "outer").await.processes.is_empty());
    setup.host.shutdown().await;
    let lines = std::fs::read_to_string(trail.path().join("audit/audit.jsonl")).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let started: Vec<_> = lines
        .filter(|line| line["event"] == "process_start")
        .collect();
    let calls: Vec<_> = started.iter().map(|line| &line["call"]).collect();
    assert_eq!(calls, ["outer/1", "outer/3"], "{started:?}");
    assert!(started.iter().all(|line| line["chat"] == "chat"));
}

#[tokio::test]
async fn only_tools_that_both_the_grant_and_the_token_name_can_be_called() {
    let setup = with_caller(&["execute", "read_file", "process_*"]).await;
    let listed = setup.call("list_tools", json!({})).await;
    assert_eq!(
        listed["tools"],
        json!([
            "execute",
            "process_input",
            "process_list",
            "process_output",
            "process_signal",
            "read_file"
        ])
    );
    let tools = ["call_tools", "list_tools", "read_file", "write_file"];
    let bounded = actor("bounded").with_tools(tools.map(str::to_owned).into());
    let by = |request: Request| Request {
        actor: bounded.clone(),
        ..request
    };
    let listed = call(&setup.host, by(request("chat", "list_tools", &json!({}))));
    assert_eq!(
        structured(&listed.await.unwrap())["tools"],
        json!(["read_file"])
    );
    let calls = json!([
        execute("echo ran > proof"),
        { "tool": "write_file", "arguments": { "path": "proof", "content": "ran" } },
        { "tool": "call_tools", "arguments": { "calls": [] } },
        { "tool": "nothing" },
    ]);
    let all = ends(&setup.host, by(plan("outer", &json!({ "calls": calls })))).await;
    for end in all.as_array().unwrap() {
        assert_eq!(end["error"], "unknown_tool", "{all}");
        let text = end["text"].as_str().unwrap();
        assert!(text.ends_with("the tools are read_file"), "{text}");
    }
    assert!(!setup.root().join("proof").exists());
    assert!(status(&setup.host, "outer/1").await.is_none());
}

#[tokio::test]
async fn no_nested_call_makes_calls() {
    let setup = with_caller(&["*"]).await;
    let listed = setup.call("list_tools", json!({})).await;
    let listed = listed["tools"].as_array().unwrap();
    assert!(listed.contains(&json!("execute")), "{listed:?}");
    assert!(!listed.contains(&json!("call_tools")), "{listed:?}");
}

#[tokio::test]
async fn a_tool_that_promises_to_be_read_only_changes_nothing_through_others() {
    let setup = with_caller(&["*"]).await;
    let changes = json!({ "query": "", "call": "execute" });
    let reply = setup.call("look_for_tools", changes).await;
    assert_eq!(reply["ends"][0]["error"], "denied", "{reply}");
    let reads = json!({ "query": "", "call": "process_list" });
    let reply = setup.call("look_for_tools", reads).await;
    assert_eq!(reply["ends"][0]["is_error"], false, "{reply}");
    let found = setup
        .call("look_for_tools", json!({ "query": "edit file" }))
        .await;
    assert_eq!(found["tools"][0], "edit_files", "{found}");
}

#[tokio::test]
async fn each_nested_call_is_approved_by_itself() {
    // The hook refuses one command, and is asked about the outer call as well.
    let hook = r#"case "$(cat)" in *'"outer/'*forbidden*) echo not that one >&2; exit 1;; esac"#;
    let timeout = std::time::Duration::from_secs(3600);
    let approval = Approval::command("sh", vec!["-c".into(), hook.into()], timeout).unwrap();
    let setup = changed(&["execute"], |builder| builder.approval(approval)).await;
    let calls = json!([
        execute("echo one >> proof"),
        execute("echo forbidden >> proof"),
        execute("echo three >> proof"),
    ]);
    let all = ends(&setup.host, plan("outer", &json!({ "calls": calls }))).await;
    assert_eq!(all[1]["error"], "denied", "{all}");
    assert_eq!(setup.file("proof").await, "one\nthree\n");
}

#[tokio::test]
async fn nested_calls_have_addresses_that_no_client_can_put() {
    let setup = with_caller(&["execute"]).await;
    let token = |text: &str| Token::new(text).unwrap();
    let foreign = Principal::new(
        "foreign",
        [Scope::Call, Scope::Read],
        Some("b".into()),
        None,
    );
    let tools = Some(["call_tools".to_owned()].into());
    let bounded = Principal::new("bounded", [Scope::Call, Scope::Read], None, tools);
    let tokens = Tokens::new([
        (token(TOKEN), Principal::unbounded("all")),
        (token("token-of-another-chat"), foreign),
        (token("token-of-one-tool"), bounded),
    ]);
    let server = Server::with_tokens(setup.host.clone(), tokens).await;
    let body = json!({ "tool": "call_tools", "arguments": { "calls": [execute("echo hi")] } });
    let (status, outer) = server.put("a", "outer", body).await;
    assert_eq!(status, 200, "{outer}");
    assert_eq!(outer["structured"]["ends"][0]["id"], "outer/1", "{outer}");
    let get = async |token: &str, path: &str| {
        let url = format!("{}/v1/chats/{path}", server.url);
        let response = server.client.get(url).bearer_auth(token).send().await;
        let response = response.unwrap();
        let status = response.status().as_u16();
        (status, response.json::<Value>().await.unwrap_or_default())
    };
    let (status, nested) = get(TOKEN, "a/calls/outer%2F1").await;
    assert_eq!((status, &nested["tool"]), (200, &json!("execute")));
    assert_eq!(nested["structured"]["output"], "hi\n", "{nested}");
    let (_, listed) = get(TOKEN, "a/calls").await;
    let listed = listed["calls"].as_array().unwrap();
    let ids: Vec<_> = listed.iter().map(|call| call["id"].as_str()).collect();
    assert_eq!(ids, [Some("outer/1"), Some("outer")], "{listed:?}");
    assert_eq!(
        get("token-of-another-chat", "a/calls/outer%2F1").await.0,
        403
    );
    assert_eq!(get("token-of-one-tool", "a/calls/outer%2F1").await.0, 404);
    for id in ["outer%2F1", "outer%2F2", "other%2F1"] {
        let (status, problem) = server.put("a", id, json!({ "tool": "process_list" })).await;
        assert_eq!(status, 400, "{problem}");
    }
}
