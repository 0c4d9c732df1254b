//! Flags that bound what a server keeps.

use super::*;

#[tokio::test]
async fn flags_bound_saved_output_and_the_audit_trail() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .args(["serve", "--output-per-process", "1KiB"])
        .args(["--audit-file-size", "1", "--audit-files", "2"]);
    let mut serving = Serving::of(command);
    let output = client()
        .env("TOOLHOST_TOKEN", TOKEN)
        .args(["call", "execute", r#"{"command":"seq 10000"}"#])
        .args(["--server", &serving.url])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    // The server writes the last bytes and lines before it ends.
    serving.signal(nix::sys::signal::Signal::SIGTERM);
    let state = workspace.path().join(".state");
    assert_eq!(sizes(&state.join("output")), [1024]);
    let mut trail: Vec<_> = std::fs::read_dir(state.join("audit"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("audit.jsonl"))
        .collect();
    trail.sort();
    assert_eq!(trail, ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]);
}

/// Returns the sizes of all files below a directory.
fn sizes(directory: &Path) -> Vec<u64> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            found.extend(sizes(&entry.path()));
        } else {
            found.push(metadata.len());
        }
    }
    found
}

#[test]
fn sizes_and_counts_are_checked() {
    for (flag, value) in [
        ("--output-total", "many"),
        ("--audit-files", "0"),
        ("--audit-file-size", "-1"),
        ("--output-retention", "1"),
    ] {
        let output = run(&["serve", &format!("{flag}={value}")]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            text(&output.stderr).contains(flag),
            "{}",
            text(&output.stderr)
        );
    }
}
