//! `toolhost serve`, killed and started again on the same state directory, as a model sees it.

use serde_json::json;

use crate::harness::{file, until};
use crate::resources::Measured;

#[tokio::test]
async fn a_server_that_was_killed_knows_its_processes_when_it_is_back() {
    let state = tempfile::tempdir().unwrap();
    let place = state.path().join("state");
    let mut host = Measured::start_in(tempfile::tempdir().unwrap(), &place);
    let ended = host
        .call("execute", json!({ "command": "seq 1 20000; exit 3" }))
        .await;
    assert_eq!(
        (&ended["exit_code"], &ended["truncated"]["saved"]),
        (&json!(3), &json!(true))
    );
    let lingering = host
        .call(
            "execute",
            json!({ "command": "setsid sleep 1000 & exit 4" }),
        )
        .await;
    assert_eq!(lingering["status"], "lingering", "{lingering}");
    let command = "echo begun; exec 9> lock; flock 9; echo > locked; exec sleep 1000";
    let arguments = json!({ "command": command, "run_in_background": true });
    let running = host.call("execute", arguments).await;
    let workspace = host.workspace.take().unwrap();
    file(&workspace.path().join("locked")).await;
    let lock = std::fs::File::open(workspace.path().join("lock")).unwrap();
    let output: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    let all = (output.len() + "begun\n".len()) as u64;
    until("all of it is on disk", || {
        (super::saved_in(&place) == all).then_some(())
    })
    .await;
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    until("the command has ended", || lock.try_lock().ok()).await;
    let host = Measured::start_in(workspace, &place);
    let read = |id: &serde_json::Value, since: u64| json!({ "process_id": id, "wait_timeout": "0s", "since": since });
    let id = &ended["background_process_id"];
    let again = host.call("process_output", read(id, 60_000)).await;
    assert_eq!(
        (&again["status"], &again["exit_code"]),
        (&json!("exited"), &json!(3)),
        "{again}"
    );
    let text = again["output"].as_str().unwrap();
    assert!(text.len() > 10_000 && output[60_000..].starts_with(text));
    let lost = host
        .call("process_output", read(&running["background_process_id"], 0))
        .await;
    assert_eq!(
        (&lost["status"], &lost["output"]),
        (&json!("lost"), &json!("begun\n")),
        "{lost}"
    );
    // How its shell ended was known, although something outlived it.
    let known = host
        .call(
            "process_output",
            read(&lingering["background_process_id"], 0),
        )
        .await;
    assert_eq!(
        (&known["status"], &known["exit_code"]),
        (&json!("exited"), &json!(4)),
        "{known}"
    );
    let list = host.call("process_list", json!({})).await;
    assert_eq!(list["processes"].as_array().unwrap().len(), 3, "{list}");
}
