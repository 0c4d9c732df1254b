//! A state directory on a full disk.

use toolhost_needs::needs;

use super::*;
use crate::harness::Mounted;

/// Mounts a full file system at the state directory of [`server`], before its first use.
fn full_state(workspace: &Path) -> Mounted {
    let state = workspace.join(".state");
    std::fs::create_dir(&state).unwrap();
    let disk = Mounted::in_memory(&state, "size=1m");
    disk.fill();
    disk
}

#[needs(mount)]
#[test]
fn commands_run_as_the_doctor_says() {
    let workspace = tempfile::tempdir().unwrap();
    let disk = full_state(workspace.path());
    let mut doctor = server(workspace.path());
    let doctor = doctor.args(["doctor"]).output().unwrap();
    let said = text(&doctor.stdout);
    assert_eq!(doctor.status.code(), Some(0), "{said}");
    let state = disk.path().to_str().unwrap();
    let full = format!("nothing can be written in {state}: No space left on device\n");
    assert!(said.contains(&full), "{said}");
    assert!(said.contains("commands run, but"), "{said}");

    let mut call = server(workspace.path());
    call.args(["call", "execute", r#"{"command":"echo hi"}"#]);
    let called = call.output().unwrap();
    let warned = text(&called.stderr);
    assert_eq!(json_of(&called)["output"], "hi\n", "{warned}");
    let key = disk.path().join("cache.key");
    assert!(
        warned.contains("compiled code is not kept: the disk is full")
            && warned.contains(key.to_str().unwrap()),
        "{warned}"
    );

    // A server needs room for a new token, and names the file.
    let mut serve = server(workspace.path());
    let served = serve.args(["serve", "--listen", "127.0.0.1:0"]);
    let served = served.output().unwrap();
    let said = text(&served.stderr);
    assert_eq!(served.status.code(), Some(2), "{said}");
    let names_the_file =
        |line: &str| line.contains(state) && line.contains("No space left on device");
    assert!(said.lines().any(names_the_file), "{said}");

    // A token from elsewhere needs no room.
    let mut serve = server(workspace.path());
    serve.env("TOOLHOST_TOKEN", TOKEN);
    let mut serving = Serving::start(serve);
    assert_eq!(
        serving.signal(nix::sys::signal::Signal::SIGTERM).code(),
        Some(0)
    );
}
