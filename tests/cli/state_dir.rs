//! Where the program keeps what it keeps.

use toolhost_needs::needs;

use super::*;
use crate::harness::Mounted;

#[test]
fn a_default_state_directory_is_not_needed() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    // The directory can be made, and the cache in it cannot.
    let state = home.path().join(".local/state/toolhost");
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&state)
        .unwrap();
    std::fs::write(state.join("cache"), "").unwrap();
    let call = |variable: &str, value: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolhost"));
        let command = command.env_clear().env(variable, value);
        command
            .env("TOOLHOST_WORKSPACE_ANYWAY", "1")
            .current_dir(home.path())
            .args(["call", "--files", "none", "process_list"])
            .output()
            .unwrap()
    };
    for home in [file.as_path(), home.path()] {
        let output = call("HOME", home);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert!(stderr.contains("no code cache"), "{stderr}");
    }
    assert_eq!(call("TOOLHOST_STATE_DIR", &file).status.code(), Some(2));
}

/// Mounts a file system that has a lock, and maybe a directory for outputs, and in which nothing can be made.
fn crowded(place: &Path, has_outputs: bool) -> Mounted {
    let files = 2 + u8::from(has_outputs);
    let mounted = Mounted::in_memory(place, &format!("nr_inodes={files}"));
    std::fs::write(mounted.path().join("lock"), "").unwrap();
    if has_outputs {
        std::fs::create_dir(mounted.path().join("output")).unwrap();
    }
    mounted
}

/// The default directory is a convenience, also when it is there, is ours and has no space.
#[needs(mount)]
#[tokio::test]
async fn a_default_state_directory_without_space_is_done_without() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("toolhost");
    std::fs::create_dir(&state).unwrap();
    let without_outputs = [
        "the next start will know neither the processes nor the calls",
        "No space left",
    ];
    let without_store = [
        "calls and processes are forgotten with this host",
        "store.db is full: free some space there",
    ];
    for (has_outputs, told) in [(false, without_outputs), (true, without_store)] {
        let _crowded = crowded(&state, has_outputs);
        let program = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_toolhost"));
            command
                .env_clear()
                .env("XDG_STATE_HOME", home.path())
                .env("TOOLHOST_TOKEN", TOKEN)
                .env("TOOLHOST_WORKSPACE_ANYWAY", "1")
                .current_dir(home.path())
                .args(arguments);
            command
        };
        let mut serving = Serving::of(program(&["agent"]));
        for told in told {
            assert!(serving.stderr.contains(told), "{}", serving.stderr);
        }
        serving.signal(nix::sys::signal::Signal::SIGTERM);
        let named = state.to_str().unwrap();
        let mut named = program(&["agent", "--listen", "127.0.0.1:0", "--state-dir", named]);
        let refused = named.output().unwrap();
        assert!(text(&refused.stderr).contains("No space left"));
        assert_eq!(refused.status.code(), Some(2));
    }
}

/// What a server would refuse is no directory to be content with.
#[test]
fn the_doctor_says_what_a_server_would_refuse() {
    let workspace = tempfile::tempdir().unwrap();
    let state = workspace.path().join("state");
    let doctor = || {
        let mut command = with_state(workspace.path(), &state);
        command.args(["doctor", "--json"]).output().unwrap()
    };
    let check = |output: &Output| {
        let checks = json_of(output)["checks"].clone();
        let all = checks.as_array().unwrap().iter();
        let mut of_state = all.filter(|check| check["name"] == "state");
        of_state.next().unwrap().clone()
    };
    assert_ne!(check(&doctor())["status"], "failed");
    std::fs::remove_file(state.join("lock")).unwrap();
    std::os::unix::fs::symlink("/nowhere", state.join("lock")).unwrap();
    let output = doctor();
    assert_eq!(check(&output)["status"], "failed", "{output:?}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_directory_that_is_no_state_directory_is_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let output = run(&["tools", "--state-dir", directory.path().to_str().unwrap()]);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("chmod 700"), "{stderr}");
    assert_eq!(output.status.code(), Some(2));
    let mode = directory.path().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}
