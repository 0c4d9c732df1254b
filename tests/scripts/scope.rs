//! A script reaches no more than its caller.

use std::time::Duration;

use reqwest::Method;
use toolhost_call::approval::Approval;
use toolhost_core::plugin::Limits;
use toolhost_http::access::{Principal, Scope, Token, Tokens};
use toolhost_local::DirectoriesConfig;
use toolhost_state::workspace_name::WorkspacePattern;

use super::*;
use crate::harness::{Server, TOKEN};

const TRY: &str = "
    const ends = {};
    for (const call of [() => tools.execute({ command: 'echo hi' }), () => tools.read_file({ path: 'a.txt' }), () => tools.run_script({ code: '1' })]) {
        try { await call(); ends[call] = 'ran' } catch (error) { ends[error.tool] = error.kind }
    }
    return [Object.values(ends), (await tools.list()).map(({ name }) => name)]";

#[tokio::test]
async fn a_token_bounds_the_tools_of_its_scripts() {
    let setup = with_scripts().await;
    std::fs::write(setup.root().join("a.txt"), "").unwrap();
    let bounded = Request {
        actor: actor("bounded").with_tools(["run_script", "read_file"].map(str::to_owned).into()),
        ..script(TRY)
    };
    let report = report(&setup.host, bounded).await;
    let expected = json!([["unknown_tool", "ran", "unknown_tool"], ["read_file"]]);
    assert_eq!(report["result"], expected, "{report}");
}

#[tokio::test]
async fn a_script_calls_no_script() {
    let setup = with_scripts().await;
    std::fs::write(setup.root().join("a.txt"), "").unwrap();
    let ends = result(&setup.host, TRY).await;
    assert_eq!(ends[0], json!(["ran", "ran", "unknown_tool"]), "{ends}");
    assert!(
        !ends[1].as_array().unwrap().contains(&json!("run_script")),
        "{ends}"
    );
}

#[tokio::test]
async fn processes_and_files_are_those_of_the_chat() {
    let setup = with_scripts().await;
    let start = "return (await tools.execute({ command: 'sleep 1000', run_in_background: true })).background_process_id";
    let mine = Request {
        chat: "mine".parse().unwrap(),
        ..script(start)
    };
    let started = report(&setup.host, mine).await;
    let process = started["result"].as_str().unwrap();
    let code =
        format!("return (await tools.process_output({{ process_id: '{process}' }})).success");
    let other = Request {
        chat: "other".parse().unwrap(),
        ..script(&code)
    };
    let seen = report(&setup.host, other).await;
    assert_eq!(seen["result"], false, "{seen}");
    let outside = result(&setup.host, "try { await tools.read_file({ path: '/etc/passwd' }); return 'read' } catch (error) { return error.kind }").await;
    assert_ne!(outside, "read");
}

/// Sends a call of a tool with a token, and returns the status and the answer.
async fn put(server: &Server, token: &str, path: &str, body: Value) -> (u16, Value) {
    let url = format!("{}/v1/chats/{path}", server.url);
    let request = server.client.put(url).bearer_auth(token).json(&body);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

/// The body of a call of a script.
fn run(code: &str) -> Value {
    json!({ "tool": "run_script", "arguments": { "code": code } })
}

#[tokio::test]
async fn a_token_of_some_chats_reaches_no_other_chat_by_a_script() {
    const CHATS: &str = "token-of-some-chats";
    let setup = with_scripts().await;
    let token = |text: &str| Token::new(text).unwrap();
    let scopes = [Scope::Call, Scope::Read];
    let tokens = Tokens::new([
        (token(TOKEN), Principal::unbounded("all")),
        (
            token(CHATS),
            Principal::new("chats", scopes, Some("a-".into()), None),
        ),
    ]);
    let server = Server::with_tokens(setup.host.clone(), tokens).await;
    let start = "return (await tools.execute({ command: 'exec sleep 1000', run_in_background: true })).background_process_id";
    let (_, started) = put(&server, TOKEN, "b/calls/1", run(start)).await;
    let process = started["structured"]["result"].as_str().unwrap();
    let (status, problem) = put(&server, CHATS, "b/calls/2", run("return 1")).await;
    assert_eq!(
        (status, &problem["code"]),
        (403, &json!("foreign_chat")),
        "{problem}"
    );
    let code = format!(
        "const process_id = '{process}';
        const kinds = [];
        for (const call of [() => tools.process_list({{ chat: 'b' }}), () => tools.execute({{ command: 'true', chat: 'b' }})]) {{
            try {{ await call(); kinds.push('ran') }} catch ({{ kind }}) {{ kinds.push(kind) }}
        }}
        const output = await tools.process_output({{ process_id }}).catch(() => ({{ success: false }}));
        const signal = await tools.process_signal({{ process_id, signal: 'kill' }}).catch(() => ({{ success: false }}));
        return [kinds, output.success, signal.success, (await tools.process_list()).total];"
    );
    let (_, tried) = put(&server, CHATS, "a-1/calls/1", run(&code)).await;
    let refused = ["invalid_arguments"; 2];
    assert_eq!(
        tried["structured"]["result"],
        json!([refused, false, false, 0]),
        "{tried}"
    );
    // The calls of the script are calls of its chat, and the process of the other chat still runs.
    let calls = server.request(Method::GET, "/v1/chats/b/calls").send();
    let calls: Value = calls.await.unwrap().json().await.unwrap();
    let listed = calls["calls"].as_array().unwrap().iter();
    let ids: Vec<_> = listed.map(|call| &call["id"]).collect();
    assert_eq!(ids, ["1/1", "1"], "{calls}");
    let look = "return (await tools.process_list()).processes.map(({ running }) => running)";
    let (_, seen) = put(&server, TOKEN, "b/calls/3", run(look)).await;
    assert_eq!(seen["structured"]["result"], json!([true]), "{seen}");
}

/// Ways from one workspace to the file `secret` of another, of which `{other}` is the directory.
const WAYS: &str = "
    const ways = [
        () => tools.read_file({ path: '{other}/secret' }),
        () => tools.read_file({ path: '../team-b+web/secret' }),
        () => tools.execute({ command: 'cat {other}/secret' }),
        () => tools.execute({ command: 'cat ../team-b+web/secret' }),
        () => tools.execute({ command: 'cat secret', workdir: '{other}' }),
        () => tools.execute({ command: 'ln -s {other} link && cat link/secret' }),
        () => tools.read_file({ path: 'link/secret' }),
        () => tools.write_file({ path: '{other}/secret', content: 'forged' }),
        () => tools.write_file({ path: 'link/secret', content: 'forged' }),
        () => tools.edit_files({ files: [{ path: '{other}/secret', edits: [{ old_text: 'hidden', new_text: 'forged' }] }] }),
        () => tools.execute({ command: 'echo forged > {other}/secret' }),
    ];
    const replies = [];
    for (const way of ways) {
        try {
            const reply = await way();
            replies.push(reply.success === false ? 'failed' : reply);
        } catch ({ kind }) {
            replies.push(kind);
        }
    }
    return [(await tools.execute({ command: 'pwd' })).output.trim(), replies];";

#[tokio::test]
async fn a_script_reaches_no_other_workspace() {
    const TEAM: &str = "token-of-a-team";
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap().join("root");
    let directories = DirectoriesConfig {
        root: root.clone(),
        templates: [].into(),
    };
    let setup = changed(|builder| builder.directories(directories)).await;
    let token = |text: &str| Token::new(text).unwrap();
    let pattern: WorkspacePattern = "team-a/*".parse().unwrap();
    let team = Principal::new("team", [Scope::Call], None, None).with_workspaces([pattern]);
    let tokens = Tokens::new([
        (token(TOKEN), Principal::unbounded("all")),
        (token(TEAM), team),
    ]);
    let server = Server::with_tokens(setup.host.clone(), tokens).await;
    let within = |workspace: &str, code: &str| {
        let mut call = run(code);
        call["workspace"] = json!(workspace);
        call
    };
    let hide = "await tools.write_file({ path: 'secret', content: 'hidden' }); return (await tools.execute({ command: 'cat secret' })).output";
    let (_, hidden) = put(&server, TOKEN, "b/calls/1", within("team-b/web", hide)).await;
    assert_eq!(hidden["structured"]["result"], "hidden", "{hidden}");
    let (own, other) = (root.join("team-a+web"), root.join("team-b+web"));
    let code = WAYS.replace("{other}", other.to_str().unwrap());
    // Whether the token reaches all workspaces or the own ones of the team: a script reaches that of its chat.
    for (token, chat) in [(TOKEN, "a"), (TEAM, "c")] {
        let body = within("team-a/web", &code);
        let (_, tried) = put(&server, token, &format!("{chat}/calls/1"), body).await;
        let result = &tried["structured"]["result"];
        assert_eq!(result[0], own.to_str().unwrap(), "{tried}");
        let replies = result[1].as_array().unwrap();
        assert_eq!(replies.len(), 11, "{tried}");
        assert!(
            replies.iter().all(|reply| reply == "failed"),
            "{token}: {tried}"
        );
        assert!(!tried.to_string().contains("hidden\""), "{tried}");
        std::fs::remove_file(own.join("link")).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(other.join("secret")).unwrap(),
        "hidden"
    );
    // Nor does the token of the team run a script elsewhere.
    for (path, body) in [
        ("b/calls/2", run("return 1")),
        ("new/calls/1", run("return 1")),
        ("new/calls/2", within("team-b/web", "return 1")),
    ] {
        let (status, problem) = put(&server, TEAM, path, body).await;
        assert_eq!(
            (status, &problem["code"]),
            (403, &json!("foreign_workspace")),
            "{path}: {problem}"
        );
    }
}

#[tokio::test]
async fn a_script_that_promises_to_be_read_only_changes_nothing() {
    const TRIES: &str = "
        const files = [{ path: 'a.txt', edits: [{ old_text: 'kept', new_text: 'changed' }] }];
        const tries = [
            () => tools.execute({ command: 'echo changed > a.txt' }),
            () => tools.write_file({ path: 'a.txt', content: 'changed' }),
            () => tools.edit_files({ files }),
            () => tools.process_signal({ process_id: '1', signal: 'kill' }),
            () => tools.call('write_file', { path: 'b.txt', content: '' }),
            () => tools.read_file({ path: 'a.txt' }),
            () => tools.process_list(),
        ];
        const ends = [];
        for (const call of tries) {
            try { await call(); ends.push('ran') } catch ({ kind }) { ends.push(kind) }
        }
        return ends;";
    let look = format!("/**\n * Looks.\n * @readonly\n */{TRIES}");
    let act = format!("/** Acts. */{TRIES}");
    let setup = with_library(&json!({ "look": look, "act": act })).await;
    let path = setup.root().join("a.txt");
    std::fs::write(&path, "kept").unwrap();
    let looked = setup.call("look", json!({})).await;
    let denied = "denied";
    assert_eq!(
        looked["result"],
        json!([denied, denied, denied, denied, denied, "ran", "ran"]),
        "{looked}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
    assert!(!setup.root().join("b.txt").exists());
    // It is the promise that denies them: the same script without it changes the file.
    let acted = setup.call("act", json!({})).await;
    assert_eq!(acted["result"][0], "ran", "{acted}");
    assert!(setup.root().join("b.txt").exists());
}

/// Runs a script whose first call the hook delays, and whose second call it refuses.
async fn delayed(seconds: u64, guest_time: Duration) {
    let hook = format!(
        r#"case "$(cat)" in
        *'/1"'*) sleep {seconds};;
        *forbidden*'"execute"'* | *'"execute"'*forbidden*) echo not that one; exit 1;;
    esac"#
    );
    let patience = Duration::from_hours(1);
    let approval = Approval::command("sh", vec!["-c".into(), hook], patience).unwrap();
    let options = Options {
        grants: Grants::default().with_calls(["*"]),
        limits: Limits {
            guest_time,
            ..Limits::default()
        },
        ..Options::new("script")
    };
    let setup = Setup::with(|builder| builder.plugin(SCRIPT, options).approval(approval)).await;
    let code = "
        const first = await tools.execute({ command: 'echo one' });
        const command = 'echo for' + 'bidden';
        try {
            await tools.execute({ command });
        } catch (error) {
            return [first.output, error.kind, error.message];
        }";
    let ends = result(&setup.host, code).await;
    assert_eq!(
        (&ends[0], &ends[1]),
        (&json!("one\n"), &json!("denied")),
        "{ends}"
    );
    assert!(ends[2].as_str().unwrap().contains("not that one"), "{ends}");
}

#[tokio::test]
async fn a_refusal_of_the_hook_is_caught_and_its_delay_costs_no_computing_time() {
    // Ten times what the script may compute.
    delayed(3, Duration::from_millis(300)).await;
}

#[tokio::test]
#[ignore = "waits for half a minute"]
async fn a_long_delay_of_the_hook_costs_no_computing_time() {
    delayed(30, Duration::from_millis(300)).await;
}
