//! `toolhost upgrade --check`, on stores of this version, of an earlier and of a later one.

use rusqlite::Connection;

use super::*;

#[test]
fn the_check_says_what_a_start_would_change() {
    let workspace = tempfile::tempdir().unwrap();
    let state = workspace.path().join(".state");
    let check = || {
        let mut command = client();
        command.arg("--state-dir").arg(&state);
        let output = command.args(["upgrade", "--check", "--json"]).output();
        let output = output.unwrap();
        (output.status.code(), json_of(&output))
    };
    let missing = client()
        .args(["upgrade", "--check", "--state-dir", "/nonexistent/x"])
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(2));
    let mut command = server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    let mut serving = Serving::start(command);
    let (code, while_it_runs) = check();
    let version = while_it_runs["store"]["version"].as_i64().unwrap();
    let current = json!({ "version": version, "known": version });
    assert_eq!((code, &while_it_runs["store"]), (Some(0), &current));
    serving.signal(nix::sys::signal::Signal::SIGTERM);
    for (other, expected) in [(version, 0), (version - 1, 0), (version + 1, 1)] {
        let store = Connection::open(state.join("store.db")).unwrap();
        store.pragma_update(None, "user_version", other).unwrap();
        drop(store);
        let before = std::fs::read(state.join("store.db")).unwrap();
        let (code, object) = check();
        let store = json!({ "version": other, "known": version });
        assert_eq!((code, &object["store"]), (Some(expected), &store));
        assert_eq!(object["usable"], expected == 0);
        assert_eq!(object["kept_commands"], 0);
        assert_eq!(std::fs::read(state.join("store.db")).unwrap(), before);
    }
}
