//! Commands as agents run them, whose replies must say how things stand.

use serde_json::{Value, json};
use toolhost_needs::needs;

use crate::harness::Setup;

/// Asserts that a reply speaks of processes that outlive the command only if it names them.
#[track_caller]
fn is_true(reply: &Value) {
    let lingers = reply["status"] == "lingering";
    let named = reply["survivors"]
        .as_array()
        .is_some_and(|all| !all.is_empty());
    assert_eq!(lingers, named, "{reply}");
    let note = reply["note"].as_str().unwrap_or_default();
    assert_eq!(lingers, note.contains("The command has ended"), "{reply}");
}

/// Git tidies the repository after a commit, in a process of its own.
#[needs(program = "git")]
#[tokio::test]
async fn a_commit_leaves_nothing_to_end() {
    let setup = Setup::new().await;
    let begun = setup.execute("git init -q && git config user.email a@b && git config user.name a");
    assert_eq!(begun.await["exit_code"], 0);
    for _ in 0..30 {
        let reply = setup.execute("git commit -q --allow-empty -m x").await;
        assert_eq!(reply["exit_code"], 0, "{reply}");
        is_true(&reply);
        let text = reply.to_string();
        assert!(!text.contains("process_signal"), "{reply}");
    }
    setup.host.shutdown().await;
}

#[tokio::test]
async fn what_ends_soon_is_no_survivor() {
    let setup = Setup::new().await;
    for command in [
        "sleep 0.02 & echo hi",
        "sleep 0.02 >/dev/null 2>&1 & echo hi",
        "sleep 1000 >/dev/null 2>&1 & kill $!; echo hi",
        "(sleep 0.01; echo late) & echo hi",
    ] {
        for _ in 0..10 {
            let reply = setup.execute(command).await;
            assert!(
                reply["output"].as_str().unwrap().starts_with("hi\n"),
                "{reply}"
            );
            is_true(&reply);
        }
    }
    // What stays is told.
    let reply = setup.execute("sleep 1000 >/dev/null 2>&1 & echo hi").await;
    assert_eq!(reply["status"], "lingering", "{reply}");
    is_true(&reply);
    setup.host.shutdown().await;
}

/// The text of the command is in no argument of its own shell.
#[needs(program = "pgrep")]
#[tokio::test]
async fn a_command_does_not_find_itself() {
    let setup = Setup::new().await;
    for (command, output) in [
        ("pkill -f no_such_server || true; echo next", "next\n"),
        ("pgrep -f no_such_server >/dev/null && echo RUNNING", ""),
        ("ps -ef | grep [n]o_such_server; echo next", "next\n"),
        ("cd . &&\npgrep -fl no_such_server\necho $?", "1\n"),
    ] {
        let reply = setup.execute(command).await;
        assert_eq!(
            reply["output"].as_str().unwrap_or_default(),
            output,
            "{reply}"
        );
        assert_eq!(reply["signal"], Value::Null, "{reply}");
    }
    setup.host.shutdown().await;
}

#[tokio::test]
async fn a_question_that_finds_no_answer_is_explained() {
    let setup = Setup::new().await;
    let command = r#"printf 'package name: (work) '; read answer || exit 1"#;
    let reply = setup.execute(command).await;
    assert_eq!(reply["exit_code"], 1, "{reply}");
    let note = reply["note"].as_str().unwrap_or_default();
    assert!(note.contains("standard input is empty"), "{reply}");
    let arguments = json!({ "command": "exec sleep 1000", "run_in_background": true });
    let started = setup.call("execute", arguments).await;
    let arguments = json!({ "process_id": started["background_process_id"], "wait_timeout": "0s" });
    let looked = setup.call("process_output", arguments).await;
    assert_eq!(looked["running"], true, "{looked}");
    assert_eq!(looked.get("exit_code"), None, "{looked}");
    setup.host.shutdown().await;
}
