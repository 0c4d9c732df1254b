//! `toolhost state`, on state directories that real servers wrote.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use nix::sys::signal::Signal;
use reqwest::Method;
use toolhost_needs::needs;

use super::*;
use crate::harness::Mounted;

/// How many calls there are, so that the store has many pages.
const CALLS: usize = 60;

fn serve(workspace: &Path) -> Serving {
    let mut command = server(workspace);
    command.env("TOOLHOST_TOKEN", TOKEN);
    Serving::start(command)
}

/// Runs `toolhost state` with the state directory of [`server`].
fn state(workspace: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = client();
    command.arg("--state-dir").arg(workspace.join(".state"));
    let output = command.arg("state").args(arguments).output().unwrap();
    let text = |bytes: &[u8]| text(bytes).to_owned();
    let code = output.status.code().unwrap();
    (code, text(&output.stdout), text(&output.stderr))
}

/// Puts a call that adds a line to a file, and returns its state.
async fn put(serving: &Serving, id: &str) -> String {
    let arguments = json!({ "command": format!("echo {id} >> counter") });
    let body = json!({ "tool": "execute", "arguments": arguments });
    let path = format!("/v1/chats/c/calls/{id}");
    let request = serving.request(Method::PUT, &path).json(&body);
    let reply: Value = request.send().await.unwrap().json().await.unwrap();
    let state = reply["state"].as_str();
    state.unwrap_or_else(|| panic!("{reply}")).to_owned()
}

/// Runs all calls, and ends the server.
async fn fill(workspace: &Path) {
    let mut serving = serve(workspace);
    for number in 0..CALLS {
        assert_eq!(put(&serving, &format!("call-{number}")).await, "finished");
    }
    serving.signal(Signal::SIGTERM);
}

/// Repeats all calls, checks that none ran twice, and returns how many are unknown.
async fn repeat(workspace: &Path) -> usize {
    let serving = serve(workspace);
    let mut unknown = 0;
    for number in 0..CALLS {
        match &*put(&serving, &format!("call-{number}")).await {
            "finished" => {}
            "unknown" => unknown += 1,
            state => panic!("{number}: {state}"),
        }
    }
    let counter = std::fs::read_to_string(workspace.join("counter")).unwrap();
    assert_eq!(counter.lines().count(), CALLS);
    unknown
}

/// Changes the file of the store, which has everything that its log had.
fn change(workspace: &Path, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    assert_eq!(state(workspace, &["compact"]).0, 0);
    let file = workspace.join(".state/store.db");
    let mut bytes = std::fs::read(&file).unwrap();
    change(&mut bytes);
    std::fs::write(&file, bytes).unwrap();
    file
}

#[tokio::test]
async fn a_server_at_work_is_checked_exported_and_copied() {
    let workspace = tempfile::tempdir().unwrap();
    let workspace = workspace.path();
    let mut serving = serve(workspace);
    put(&serving, "1").await;
    let (code, found, said) = state(workspace, &["check"]);
    assert_eq!(code, 0, "{said}");
    assert!(found.contains(": nothing is wrong in "), "{found}");
    let user = format!("a toolhost (pid {}) uses ", serving.child.id());
    assert!(said.starts_with(&user), "{said}");

    let (code, lines, _) = state(workspace, &["export"]);
    assert_eq!(code, 0);
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        lines.iter().any(|line| line["call"]["call"] == "1"),
        "{lines:?}"
    );
    let file = workspace.join("export.jsonl");
    let exported = state(workspace, &["export", file.to_str().unwrap()]);
    assert_eq!(exported.0, 0);
    assert_eq!(
        std::fs::read_to_string(&file).unwrap().lines().count(),
        lines.len()
    );

    let copy = workspace.join("copy.db");
    let backup = || state(workspace, &["backup", copy.to_str().unwrap()]);
    let (code, said, _) = backup();
    assert!(
        code == 0 && said.contains("copy.db: a backup of "),
        "{said}"
    );
    for file in [&file, &copy] {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let (code, _, said) = backup();
    assert!(
        code == 2 && said.contains("exists: name another file"),
        "{said}"
    );
    for command in ["compact", "recover"] {
        let (code, _, said) = state(workspace, &[command]);
        assert!(
            code == 2 && said.contains("end it, or name another"),
            "{said}"
        );
    }

    // The backup is restored after a crash. It does not have the call that began later, which runs again.
    put(&serving, "2").await;
    assert_eq!(state(workspace, &["check"]).0, 0);
    serving.signal(Signal::SIGKILL);
    std::fs::copy(&copy, workspace.join(".state/store.db")).unwrap();
    for command in ["check", "recover"] {
        let (code, _, said) = state(workspace, &[command]);
        assert!(
            code == 2 && said.contains("is the log of another store: remove "),
            "{said}"
        );
    }
    for log in ["store.db-wal", "store.db-shm"] {
        std::fs::remove_file(workspace.join(".state").join(log)).unwrap();
    }
    let serving = serve(workspace);
    assert_eq!(put(&serving, "1").await, "finished");
    assert_eq!(put(&serving, "2").await, "finished");
    let counter = std::fs::read_to_string(workspace.join("counter")).unwrap();
    assert_eq!(counter, "1\n2\n2\n");
}

#[tokio::test]
async fn a_store_at_rest_is_compacted_and_copied() {
    let workspace = tempfile::tempdir().unwrap();
    let workspace = workspace.path();
    let mut serving = serve(workspace);
    put(&serving, "1").await;
    serving.signal(Signal::SIGKILL);
    let copy = workspace.join("copy.db");
    let (code, _, said) = state(workspace, &["backup", copy.to_str().unwrap()]);
    assert_eq!((code, &*said), (0, ""));
    let (code, said, _) = state(workspace, &["compact"]);
    assert!(code == 0 && said.contains(": the store had "), "{said}");
    let file = workspace.join(".state/store.db");
    let bytes = file.metadata().unwrap().len();
    assert!(
        said.ends_with(&format!("and has {bytes} bytes now\n")),
        "{said}"
    );
    let (code, said, _) = state(workspace, &["recover"]);
    assert!(code == 0 && said.contains("nothing was changed"), "{said}");
    assert_eq!(put(&serve(workspace), "1").await, "finished");
    // Nothing but the backup is needed in another directory.
    std::fs::remove_dir_all(workspace.join(".state")).unwrap();
    with_code(workspace.join(".state"), None);
    std::fs::copy(&copy, &file).unwrap();
    assert_eq!(put(&serve(workspace), "1").await, "finished");
}

#[tokio::test]
async fn a_damaged_store_is_refused_and_recovered() {
    let workspace = tempfile::tempdir().unwrap();
    let workspace = workspace.path();
    fill(workspace).await;
    let file = change(workspace, |bytes| {
        // The name of the program in the header, and a leaf of the table of calls.
        bytes[68] ^= 1;
        let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
        let mut pages = bytes.chunks_exact_mut(page);
        let has_call = |page: &[u8]| page.windows(7).any(|text| text == b"call-30");
        let leaf = pages.find(|page| page[0] == 13 && has_call(page));
        leaf.unwrap().fill(0);
    });
    let (code, found, said) = state(workspace, &["check"]);
    assert!(code == 1 && found.contains("header"), "{found}");
    assert!(said.contains("`toolhost state recover`"), "{said}");
    let copy = workspace.join("copy.db");
    let (code, ..) = state(workspace, &["backup", copy.to_str().unwrap()]);
    assert!(code == 2 && !copy.exists());
    let refused = server(workspace)
        .env("TOOLHOST_TOKEN", TOKEN)
        .args(["serve", "--listen", "127.0.0.1:0"])
        .output()
        .unwrap();
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains(file.to_str().unwrap()), "{said}");
    assert!(said.contains("`toolhost state recover`"), "{said}");

    let (code, said, _) = state(workspace, &["recover"]);
    assert_eq!(code, 0, "{said}");
    let of = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    let unknown: usize = of("calls that are unknown and do not run again: ")
        .parse()
        .unwrap();
    let read: usize = of("calls that were read: ").parse().unwrap();
    assert!(unknown > 0 && read + unknown == CALLS, "{said}");
    let aside = of("the damaged store: ");
    assert!(
        Path::new(aside.split_once(' ').unwrap().0).exists(),
        "{said}"
    );
    assert_eq!(state(workspace, &["check"]).0, 0);
    assert_eq!(repeat(workspace).await, unknown);
}

#[tokio::test]
async fn a_store_that_cannot_be_recovered_is_left_as_it_is() {
    let workspace = tempfile::tempdir().unwrap();
    let workspace = workspace.path();
    fill(workspace).await;
    let file = change(workspace, |bytes| {
        bytes.iter_mut().skip(100).for_each(|byte| *byte = 0)
    });
    let before = std::fs::read(&file).unwrap();
    assert_eq!(state(workspace, &["check"]).0, 1);
    let (code, _, said) = state(workspace, &["recover"]);
    assert!(
        code == 2 && said.contains("replace its files by a backup"),
        "{said}"
    );
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn a_store_of_a_later_version_is_left_alone() {
    let workspace = tempfile::tempdir().unwrap();
    let workspace = workspace.path();
    serve(workspace).signal(Signal::SIGTERM);
    // The bytes of the header that have the version.
    let file = change(workspace, |bytes| bytes[63] = 99);
    let before = std::fs::read(&file).unwrap();
    let copy = workspace.join("copy.db");
    for command in [
        &["check"][..],
        &["export"],
        &["compact"],
        &["recover"],
        &["backup", copy.to_str().unwrap()],
    ] {
        let (code, _, said) = state(workspace, command);
        assert!(
            code == 2 && said.contains("has version 99"),
            "{command:?}: {said}"
        );
    }
    assert!(!copy.exists());
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn there_may_be_nothing_to_look_after() {
    let workspace = tempfile::tempdir().unwrap();
    let workspace = workspace.path();
    for command in ["check", "export", "compact", "recover"] {
        let (code, _, said) = state(workspace, &[command]);
        assert!(
            code == 2 && said.contains("there is no state directory"),
            "{said}"
        );
    }
    assert!(!workspace.join(".state").exists());
    with_code(workspace.join(".state"), None);
    for command in ["check", "export", "compact", "recover"] {
        let (code, _, said) = state(workspace, &[command]);
        assert!(code == 2 && said.contains("there is no store in"), "{said}");
    }
    assert!(!workspace.join(".state/store.db").exists());
}

#[needs(mount)]
#[tokio::test]
async fn a_read_only_directory_is_told() {
    let workspace = tempfile::tempdir().unwrap();
    let workspace = workspace.path();
    std::fs::create_dir(workspace.join(".state")).unwrap();
    let disk = Mounted::in_memory(&workspace.join(".state"), "size=64m");
    serve(workspace).signal(Signal::SIGTERM);
    disk.make_read_only();
    for command in ["check", "compact", "recover"] {
        let (code, _, said) = state(workspace, &[command]);
        assert!(
            code == 2 && said.contains("Read-only file system"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn the_doctor_knows_the_store() {
    let workspace = tempfile::tempdir().unwrap();
    let workspace = workspace.path();
    serve(workspace).signal(Signal::SIGTERM);
    let check = || {
        let output = server(workspace)
            .args(["doctor", "--json"])
            .output()
            .unwrap();
        let checks = json_of(&output)["checks"].clone();
        let checks = checks.as_array().unwrap().iter();
        let mut store = checks.filter(|check| check["name"] == "store");
        store.next().unwrap().clone()
    };
    assert_eq!(check()["status"], "ok");
    change(workspace, |bytes| bytes[68] ^= 1);
    assert_eq!(check()["status"], "failed");
}
