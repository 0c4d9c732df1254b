//! The examples in the help of commands, each run as it is written.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// The commands whose examples run here; the workspaces of an example need a repository in the network.
const COMMANDS: [&str; 15] = [
    "ps",
    "logs",
    "attach",
    "kill",
    "cancel",
    "top",
    "chats",
    "console",
    "calls",
    "show",
    "call",
    "tools",
    "token",
    "completions",
    "man",
];

/// The server, the process and the call that the examples name.
const ADDRESS: &str = "http://127.0.0.1:7411";
const PROCESS: &str = "7c0e91";
const CALL: &str = "3.call_0";

fn examples(command: &str) -> Vec<String> {
    let help = client()
        .args([command, "--help"])
        .env("COLUMNS", "200")
        .output()
        .unwrap();
    let help = text(&help.stdout);
    let (_, examples) = help
        .split_once("Examples:\n")
        .unwrap_or_else(|| panic!("{command} has no examples: {help}"));
    let examples: Vec<_> = examples
        .lines()
        .map(|line| line.trim().to_owned())
        .collect();
    let own = format!("toolhost {command}");
    assert!(
        !examples.is_empty() && examples.iter().all(|example| example.contains(&own)),
        "{examples:?}"
    );
    examples
}

/// What examples need of a home.
fn furnish(site: &Site) {
    for directory in ["home/project", "bin"] {
        std::fs::create_dir_all(site.path(directory)).unwrap();
    }
    let write = |name: &str, text: &str, mode| {
        std::fs::write(site.path(name), text).unwrap();
        std::fs::set_permissions(site.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    write("home/project/README.md", "# Project\n", 0o644);
    write("token", TOKEN, 0o600);
    write("arguments.json", r#"{"command": "true"}"#, 0o644);
    write("bin/make", "#!/bin/sh\necho made\n", 0o755);
    let program = crate::harness::program();
    std::os::unix::fs::symlink(program, site.path("bin/toolhost")).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_work_as_they_are_written() {
    let site = Site::new();
    furnish(&site);
    let path = format!(
        "{}:{}",
        site.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let mut number = 0;
    for command in COMMANDS {
        for example in examples(command) {
            number += 1;
            let mut line = example.replace(ADDRESS, &site.serving.url);
            let go = site.path(&format!("go-{number}"));
            if example.contains(PROCESS) {
                let wait = format!("seq 30; until [ -e {} ]; do sleep 0.01; done", go.display());
                let id = site.process("support-42", &wait).await;
                site.until_written(&id, 81).await;
                line = line.replace(PROCESS, &id[..8]);
            }
            let mut calling = None;
            if example.contains(CALL) {
                let id = format!("{number}.call_0");
                line = line.replace(CALL, &id);
                let call = site.call("support-42", &id, "exec sleep 1000");
                calling = Some(call.await);
                if command == "show" {
                    site.said(&["cancel", &id]);
                }
            }
            let bare = site.command(&[]);
            let variables = bare
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?)));
            let mut child = Command::new("sh");
            child
                .args(["-c", &line])
                .env_clear()
                .envs(variables)
                .env("PATH", &path)
                .env("HOME", site.path("home"))
                .current_dir(site.workspace.path())
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            let mut child = child.spawn().unwrap();
            let mut said = String::new();
            if command == "attach" {
                let mut lines = std::io::BufReader::new(child.stderr.as_mut().unwrap());
                std::io::BufRead::read_line(&mut lines, &mut said).unwrap();
                assert!(said.contains("attached to process"), "{line}: {said}");
            }
            if example.contains("--follow") || command == "attach" {
                std::fs::write(&go, "").unwrap();
            }
            let output = finished(child).await;
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{line}: {said}{stderr}");
            std::fs::write(&go, "").unwrap();
            if let Some(calling) = calling {
                assert_eq!(calling.await.unwrap()["state"], "cancelled", "{line}");
            }
        }
    }
    assert!(number > 30, "{number} examples");
    assert!(
        site.path("home/.local/share/man/man1/toolhost-ps.1")
            .exists()
    );
}
