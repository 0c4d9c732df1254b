//! Tokens of the configuration and of files, and their exchange while a server runs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::cli::{Serving, server as program};

fn write(path: &Path, text: &str, mode: u32) {
    // As operators do it: the new file takes the place of the old one.
    let new = path.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::set_permissions(&new, PermissionsExt::from_mode(mode)).unwrap();
    std::fs::rename(&new, path).unwrap();
}

async fn status(url: &str, token: &str) -> u16 {
    let client = crate::harness::http_client().build().unwrap();
    let request = client.get(format!("{url}/v1/tools")).bearer_auth(token);
    request.send().await.unwrap().status().as_u16()
}

/// Asks until the answer is this one.
async fn until_status(url: &str, token: &str, expected: u16) {
    let begun = std::time::Instant::now();
    while status(url, token).await != expected {
        assert!(begun.elapsed() < PATIENCE, "{token} never gets {expected}");
    }
}

/// Has the program make a token, and returns it and its section.
fn make(arguments: &[&str]) -> (String, String) {
    let output = Command::new(crate::harness::program())
        .arg("token")
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (token, section) = (text(output.stdout), text(output.stderr));
    assert!(!section.contains(token.trim()));
    (token.trim().to_owned(), section)
}

#[tokio::test]
async fn tokens_of_the_configuration_are_exchanged_while_the_server_runs() {
    let workspace = tempfile::tempdir().unwrap();
    let path = workspace.path().join("toolhost.toml");
    let (first, section) = make(&[
        "first", "--scope", "read", "--chats", "a-", "--tool", "execute",
    ]);
    assert!(section.contains("[tokens.first]\n") && section.contains("tools = [\"execute\"]"));
    write(&path, &section, 0o644);
    let mut command = program(workspace.path());
    command.arg("--config").arg(&path).arg("serve");
    let mut serving = Serving::of(command);
    let url = serving.url.clone();
    // Where there is a token, none is made.
    assert!(!serving.stderr.contains("token file"), "{}", serving.stderr);
    assert_eq!(status(&url, &first).await, 200);
    let client = crate::harness::http_client().build().unwrap();
    let delete = client.delete(format!("{url}/v1/chats/a-1"));
    let refused = delete.bearer_auth(&first).send().await.unwrap();
    assert_eq!(refused.status(), 403);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "missing_scope");
    // What others can change is not taken over.
    let open = format!("{section}[tokens.thief]\nfile = 'thief.token'\nscopes = ['admin']\n");
    write(&workspace.path().join("thief.token"), "thief\n", 0o600);
    write(&path, &open, 0o666);
    // Another takes its place.
    let file = workspace.path().join("second.token");
    write(&file, "second-token\n", 0o600);
    let second = "[tokens.second]\nfile = 'second.token'\nscopes = ['call']\n";
    write(&path, second, 0o644);
    until_status(&url, "second-token", 200).await;
    assert_eq!(status(&url, &first).await, 401);
    // What cannot be used changes nothing, and is not repeated in the log.
    let broken = format!("{second}{section}[tokens.third]\nsha256 = 's3cr3t'\n");
    write(&path, &broken, 0o644);
    assert_eq!(status(&url, "second-token").await, 200);
    assert_eq!(status(&url, &first).await, 401);
    write(&path, second, 0o644);
    // A file with a token is followed as well.
    write(&file, "third-token\n", 0o600);
    until_status(&url, "third-token", 200).await;
    assert_eq!(status(&url, "second-token").await, 401);
    // Taken back, it is good for nothing.
    write(&path, "", 0o644);
    until_status(&url, "third-token", 401).await;
    // One that comes where there was none is a change like any other.
    write(&path, second, 0o644);
    until_status(&url, "third-token", 200).await;
    serving.signal(nix::sys::signal::Signal::SIGTERM);
    let log = serving.rest();
    assert!(!log.contains("s3cr3t"), "{log}");
    // The trail has each change, without the tokens.
    let trail = workspace.path().join(".state/audit/audit.jsonl");
    let trail = std::fs::read_to_string(trail).unwrap();
    for secret in [&first, "second-token", "third-token", "s3cr3t"] {
        assert!(!trail.contains(secret), "{trail}");
    }
    let events = trail
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let changes = events.filter(|event: &Value| event["event"] == "tokens_changed");
    let told: Vec<_> = changes
        .map(|event| {
            let names = |key: &str| -> Vec<String> {
                let tokens = event[key].as_array().unwrap().iter();
                tokens
                    .map(|token| token["name"].as_str().unwrap().to_owned())
                    .collect()
            };
            (names("added"), names("removed"), names("changed"))
        })
        .collect();
    let names =
        |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).into()).collect() };
    assert_eq!(
        told,
        [
            (names(&["first"]), names(&[]), names(&[])),
            (names(&["second"]), names(&["first"]), names(&[])),
            (names(&[]), names(&[]), names(&["second"])),
            (names(&[]), names(&["second"]), names(&[])),
            (names(&["second"]), names(&[]), names(&[])),
        ]
    );
    // The log has all but those of the start.
    let logged = log.matches("the tokens have changed").count();
    assert_eq!(logged, told.len() - 1, "{log}");
}

#[tokio::test]
async fn a_token_file_is_read_again_when_it_changes() {
    let workspace = tempfile::tempdir().unwrap();
    let file = workspace.path().join("token");
    write(&file, "one\n", 0o600);
    let mut command = program(workspace.path());
    command.arg("serve").arg("--token-file").arg(&file);
    let serving = Serving::of(command);
    assert_eq!(status(&serving.url, "one").await, 200);
    write(&file, "two\n", 0o600);
    until_status(&serving.url, "two", 200).await;
    assert_eq!(status(&serving.url, "one").await, 401);
    // An empty one is no token, and the last one stays.
    write(&file, "", 0o600);
    write(&file, "three\n", 0o600);
    until_status(&serving.url, "three", 200).await;
}

#[test]
fn tokens_that_cannot_be_used_end_the_program() {
    let workspace = tempfile::tempdir().unwrap();
    let path = workspace.path().join("toolhost.toml");
    let refused = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let mut command = program(workspace.path());
        command.arg("--config").arg(&path);
        let output = command.args(["serve", "--listen", "127.0.0.1:0"]).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8(output.stderr).unwrap();
        text.replace(workspace.path().to_str().unwrap(), "DIR")
    };
    insta::assert_snapshot!(refused("[tokens.a]\nsha256 = 'my-secret-token'\nscopes = ['call']").trim(), @"toolhost: the configuration DIR/toolhost.toml is not valid: line 2, column 1: tokens.a.sha256: it has 64 hexadecimal digits, as `toolhost token` and `sha256sum` print them");
    std::fs::write(workspace.path().join("t"), "x").unwrap();
    insta::assert_snapshot!(refused("[tokens.a]\nfile = 't'\nscopes = ['call']").trim(), @"toolhost: the configuration DIR/toolhost.toml is not valid: line 2, column 1: tokens.a.file: others may use DIR/t (mode 644): run `chmod 600` on it");
}

#[test]
fn no_token_is_made_that_the_configuration_refuses() {
    for (name, problem) in [
        ("local", "this name is taken"),
        ("token", "this name is taken"),
        ("a.b", "1 to 64 ASCII letters"),
    ] {
        let mut command = Command::new(crate::harness::program());
        let output = command.args(["token", name]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn a_token_file_of_others_ends_the_program() {
    let workspace = tempfile::tempdir().unwrap();
    let file = workspace.path().join("token");
    let refused = |arguments: &[&str]| {
        let mut command = match arguments.contains(&"--server") {
            true => crate::cli::client(),
            false => program(workspace.path()),
        };
        command.args(arguments).arg("--token-file").arg(&file);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        text.replace(workspace.path().to_str().unwrap(), "DIR")
    };
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    // Readable, or writable, by others. Nobody listens at that port: it does not come to that.
    for (mode, arguments) in [
        (0o644, &serve[..]),
        (0o620, &serve),
        (0o644, &["tools", "--server", "http://127.0.0.1:1"]),
    ] {
        write(&file, "t0ken\n", mode);
        let text = refused(arguments);
        let expected = format!("others may use DIR/token (mode {mode:o}): run `chmod 600` on it");
        assert!(text.contains(&expected), "{text}");
    }
    std::fs::remove_file(&file).unwrap();
    nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRUSR).unwrap();
    let text = refused(&serve);
    assert!(text.contains("it is no file"), "{text}");
}
