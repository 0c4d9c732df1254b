//! The program over pipes: lifecycle, lists and calls, and what clients get wrong.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use toolhost_call::call::Actor;
use toolhost_core::Format;

use super::*;
use crate::guest::guest;
use crate::harness::until_dead;

#[tokio::test]
async fn from_the_handshake_to_the_end() {
    let mut client = Pipes::start(&["--chat", "mine"]);
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    let reply = client.request("initialize", initialize()).await;
    let result = &reply["result"];
    assert_eq!(result["protocolVersion"], OLD);
    assert_eq!(result["serverInfo"]["name"], "toolhost");
    assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
    let instructions = result["instructions"].as_str().unwrap();
    assert!(instructions.contains("process_output"), "{instructions}");
    assert!(instructions.contains("a page at a time"), "{instructions}");
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    client.send(&note).await;
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));

    let listed = client.request("tools/list", json!({})).await;
    let setup = Setup::new().await;
    let offered = setup.host.offered(&Actor::default(), Format::Mcp);
    let rendered = Format::Mcp.render(&offered);
    assert_eq!(listed["result"]["tools"], rendered["tools"]);

    let result = client.call(execute("echo hi; echo $PWD >&2")).await;
    assert_eq!(
        (&result["isError"], result.get("resultType")),
        (&json!(false), None)
    );
    let structured = &result["structuredContent"];
    assert!(
        structured["output"].as_str().unwrap().starts_with("hi\n/"),
        "{result}"
    );
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), structured);
    let meta = &result["_meta"];
    assert_eq!(
        (&meta["io.toolhost/chat"], &meta["io.toolhost/state"]),
        (&json!("mine"), &json!("finished"))
    );
    assert_eq!(client.end().await, [] as [Value; 0]);
}

/// Node.js starts programs on sockets. Another process may go on with the same ones, so they stay sockets that wait.
#[test]
fn a_client_may_give_it_sockets() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(PATIENCE)).unwrap();
    let workspace = tempfile::tempdir().unwrap();
    shared_state("mcp/toolhost");
    let mut program = crate::harness::serving::client()
        .env("XDG_STATE_HOME", state_dir().join("mcp"))
        .args(["--log", "error", "mcp", "--workspace"])
        .arg(workspace.path())
        .stdin(OwnedFd::from(theirs.try_clone().unwrap()))
        .stdout(OwnedFd::from(theirs.try_clone().unwrap()))
        .spawn()
        .unwrap();
    let mut replies = BufReader::new(ours.try_clone().unwrap()).lines();
    // The second message does not fit into the buffers of the socket.
    let long = "x".repeat(1 << 20);
    for (id, method, params) in [
        (1, "initialize", initialize()),
        (
            2,
            "tools/call",
            json!({ "name": "write_file", "arguments": { "path": "long", "content": long } }),
        ),
        (
            3,
            "tools/call",
            json!({ "name": "read_file", "arguments": { "path": "long" } }),
        ),
    ] {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        ours.write_all(format!("{request}\n").as_bytes()).unwrap();
        let reply: Value = serde_json::from_str(&replies.next().unwrap().unwrap()).unwrap();
        assert_eq!(reply["id"], id, "{reply}");
        assert!(reply.get("error").is_none(), "{reply}");
    }
    let flags = fcntl(&theirs, FcntlArg::F_GETFL).unwrap();
    assert!(!OFlag::from_bits_retain(flags).contains(OFlag::O_NONBLOCK));
    ours.shutdown(Shutdown::Write).unwrap();
    assert!(program.wait().unwrap().success());
}

/// SIGHUP asks for the files to be read again; the client and its processes go on.
#[tokio::test]
async fn sighup_ends_nothing() {
    let mut client = Pipes::initialized(&[]).await;
    let background = json!({ "command": "exec sleep 1000", "run_in_background": true });
    let call = json!({ "name": "execute", "arguments": background });
    let started = client.call(call).await["structuredContent"].clone();
    let pid = i32::try_from(client.child.id().unwrap()).unwrap();
    let pid = nix::unistd::Pid::from_raw(pid);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGHUP).unwrap();
    let list = json!({ "name": "process_list", "arguments": {} });
    let listed = client.call(list).await["structuredContent"].clone();
    let process = &listed["processes"][0];
    assert_eq!(process["id"], started["background_process_id"], "{listed}");
    assert_eq!(process["running"], true);
    client.end().await;
}

#[tokio::test]
async fn the_newest_revision_has_no_handshake() {
    let mut client = Pipes::start(&[]);
    let discovered = client
        .request("server/discover", with_meta(json!({}), json!({})))
        .await;
    let versions = discovered["result"]["supportedVersions"]
        .as_array()
        .unwrap();
    assert!(
        versions.contains(&json!(NEW)) && versions.contains(&json!(OLD)),
        "{discovered}"
    );
    let listed = client
        .request("tools/list", with_meta(json!({}), json!({})))
        .await;
    assert_eq!(listed["result"]["tools"][0]["name"], "execute");
    assert_eq!(listed["result"]["resultType"], "complete");
    let result = client.call(with_meta(execute("echo hi"), json!({}))).await;
    assert_eq!(result["structuredContent"]["output"], "hi\n");
    let reply = client.request("tools/call", execute("echo hi")).await;
    assert_eq!(
        reply["error"]["code"], -32602,
        "nothing is known of its client"
    );
    assert_eq!(client.end().await, [] as [Value; 0]);
}

#[tokio::test]
async fn what_comes_before_the_handshake_and_is_no_request_changes_nothing() {
    let mut client = Pipes::start(&[]);
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    let unknown = json!({ "io.modelcontextprotocol/protocolVersion": "2099-01-01" });
    for (method, params, code) in [
        ("ping", json!({}), json!(null)),
        (
            "server/discover",
            with_meta(json!({}), json!({})),
            json!(null),
        ),
        ("tools/list", json!({}), json!(-32602)),
        ("tools/list", with_meta(json!({}), unknown), json!(-32022)),
    ] {
        let reply = client.request(method, params).await;
        assert_eq!(reply["error"]["code"], code, "{method}: {reply}");
        client.send(&note).await;
        client
            .send(&json!({ "jsonrpc": "2.0", "id": 99, "result": {} }))
            .await;
    }
    let reply = client.request("initialize", initialize()).await;
    assert_eq!(reply["result"]["protocolVersion"], OLD, "{reply}");
    client.send(&note).await;
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    assert_eq!(client.end().await, [] as [Value; 0]);
}

#[tokio::test]
async fn what_is_no_message_gets_an_error_and_the_rest_goes_on() {
    let mut client = Pipes::start(&[]);
    // Too early, and of no use: nobody waits for an answer.
    client.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n\n").await;
    client.request("initialize", initialize()).await;
    let mut huge = vec![b' '; 2 << 20];
    huge.push(b'\n');
    for (line, code, id) in [
        (&b"{\"jsonrpc\": nonsense\n"[..], -32700, json!(null)),
        (b"\xff\xfe\n", -32700, json!(null)),
        (b"[]\n", -32600, json!(null)),
        (b"{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}\n", -32600, json!("a")),
        (b"{\"id\":7}\n", -32600, json!(7)),
        (&huge, -32600, json!(null)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/nonsense\"}\n", -32601, json!(8)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"arguments\":{}}}\n", -32602, json!(9)),
    ] {
        client.write(line).await;
        let error = client.next(|message| message.get("error").is_some()).await;
        assert_eq!((&error["error"]["code"], &error["id"]), (&json!(code), &id), "{error}");
    }
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    assert_eq!(client.end().await, [] as [Value; 0]);
}

#[tokio::test]
async fn errors_of_tools_are_results_and_those_of_clients_are_errors() {
    let mut client = Pipes::initialized(&[]).await;
    let unknown = client.call(json!({ "name": "excute" })).await;
    let code = &unknown["_meta"]["io.toolhost/error"];
    assert_eq!(
        (&unknown["isError"], code),
        (&json!(true), &json!("unknown_tool"))
    );
    let text = unknown["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("there is no tool \"excute\"; the tools are "),
        "{text}"
    );
    let missing = client
        .call(json!({ "name": "execute", "arguments": { "comand": "ls" } }))
        .await;
    assert_eq!(missing["isError"], true);
    assert!(
        missing["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("command"),
        "{missing}"
    );
    let deep = format!("{}1{}", "[".repeat(70), "]".repeat(70));
    let deep: Value = serde_json::from_str(&deep).unwrap();
    let deep = client
        .call(json!({ "name": "execute", "arguments": { "command": deep } }))
        .await;
    assert!(
        deep["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("64 levels"),
        "{deep}"
    );
    for (key, value) in [
        ("io.toolhost/chat", json!("a b")),
        ("io.toolhost/call", json!(5)),
    ] {
        let mut params = execute("echo > ran");
        params["_meta"] = json!({ key: value });
        let broken = client.request("tools/call", params).await;
        assert_eq!(
            broken["error"]["data"]["code"], "broken_request",
            "{broken}"
        );
    }
    assert!(!client.workspace.path().join("ran").exists());
}

#[tokio::test]
async fn a_call_with_a_name_runs_once() {
    let mut client = Pipes::initialized(&[]).await;
    let named = |command: &str| {
        let mut params = execute(command);
        params["_meta"] = json!({ "io.toolhost/call": "call_1" });
        params
    };
    let first = client.call(named("echo x >> counter; cat counter")).await;
    let again = client.call(named("echo x >> counter; cat counter")).await;
    assert_eq!(first, again);
    assert_eq!(first["structuredContent"]["output"], "x\n");
    let other = client.request("tools/call", named("true")).await;
    assert_eq!(other["error"]["data"]["code"], "input_mismatch", "{other}");
    for _ in 0..2 {
        client.call(execute("echo y >> counter")).await;
    }
    let all = client.call(execute("cat counter")).await;
    assert_eq!(all["structuredContent"]["output"], "x\ny\ny\n");
}

#[tokio::test]
async fn a_closed_pipe_ends_everything() {
    let mut client = Pipes::initialized(&[]).await;
    client.call(json!({ "name": "execute", "arguments": { "command": "echo $$ > one; exec sleep 1000", "run_in_background": true } })).await;
    let call = client
        .begin("tools/call", execute("echo $$ > other; exec sleep 1000"))
        .await;
    let (one, other) = (client.pid("one").await, client.pid("other").await);
    let rest = client.end().await;
    until_dead(one).await;
    until_dead(other).await;
    // The call was cancelled, and says so.
    let reply = rest.iter().find(|message| message["id"] == call).unwrap();
    assert_eq!(
        reply["result"]["_meta"]["io.toolhost/state"], "cancelled",
        "{reply}"
    );
}

#[tokio::test]
async fn what_a_guest_prints_is_on_no_wire() {
    let directory = tempfile::tempdir().unwrap();
    let printer = directory.path().join("printer.wasm");
    std::fs::write(&printer, guest("stdout_printer")).unwrap();
    let mut client = Pipes::initialized(&["--plugin", printer.to_str().unwrap()]).await;
    let result = client.call(json!({ "name": "t", "arguments": {} })).await;
    assert_eq!(
        result["content"],
        json!([{ "type": "text", "text": "hello" }])
    );
    assert_eq!(client.end().await, [] as [Value; 0]);
}

#[tokio::test]
async fn an_id_in_use_is_refused() {
    let mut client = Pipes::initialized(&[]).await;
    let id = client
        .begin(
            "tools/call",
            execute("echo $$ > pid; until [ -e go ]; do sleep 0.01; done; echo done"),
        )
        .await;
    client.pid("pid").await;
    let again = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    client.send(&again).await;
    let refused = client.reply(id).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    std::fs::write(client.workspace.path().join("go"), "").unwrap();
    let reply = client.reply(id).await;
    assert_eq!(
        reply["result"]["structuredContent"]["output"], "done\n",
        "{reply}"
    );
}
