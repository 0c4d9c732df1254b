//! The server that commands find by the state directory.

use toolhost_needs::needs;

use super::*;

#[test]
fn a_server_that_is_missing_is_told_with_what_to_do() {
    let base = tempfile::tempdir().unwrap();
    let said = |more: &[&str]| {
        let mut command = client();
        command.env("TOOLHOST_STATE_DIR", base.path().join("none"));
        let output = command.args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr).replace(base.path().to_str().unwrap(), "DIR")
    };
    for command in [
        &["ps"][..],
        &["logs", "x"],
        &["attach", "x"],
        &["kill", "x"],
        &["cancel", "x"],
        &["top"],
        &["chats"],
        &["workspaces", "delete", "x"],
        &["call", "process_list", "--server", "local"],
    ] {
        assert_eq!(said(command), said(&["ps"]), "{command:?}");
    }
    insta::assert_snapshot!(said(&["ps"]), @"toolhost: no server runs with the state directory DIR/none: start one with `toolhost serve`, or name another with --server or --state-dir");
    assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
    let mut nowhere = client();
    let output = nowhere.arg("ps").output().unwrap();
    assert!(
        text(&output.stderr).contains("name the server with --server"),
        "{output:?}"
    );
}

#[test]
fn a_server_without_the_socket_is_told_from_none() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .args(["serve", "--no-local-socket"]);
    let serving = Serving::of(command);
    let site = Site { serving, workspace };
    let output = site.run(&["ps"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    let pid = format!("a toolhost (pid {})", site.serving.child.id());
    assert!(
        said.contains(&pid) && said.contains("--no-local-socket"),
        "{said}"
    );
    assert!(!site.path(".state/toolhost.sock").exists());
    // Its address works.
    let mut command = site.command(&["ps", "--server", &site.serving.url]);
    let output = command.env("TOOLHOST_TOKEN", TOKEN).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[tokio::test]
async fn the_socket_is_for_the_user_alone_and_goes_with_the_server() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    let mut site = Site::new();
    let socket = site.path(".state/toolhost.sock");
    let found = std::fs::metadata(&socket).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    // A token of another server in a variable changes nothing.
    let mut command = site.command(&["ps"]);
    let output = command
        .env("TOOLHOST_TOKEN", "of-another")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // One that is named is used.
    let token = site.path("token");
    std::fs::write(&token, "wrong").unwrap();
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    let refused = site.run(&["ps", "--token-file", token.to_str().unwrap()]);
    assert!(text(&refused.stderr).contains("401"), "{refused:?}");
    // A socket that a killed server left is none that answers.
    site.serving.signal(nix::sys::signal::Signal::SIGKILL);
    assert!(socket.exists());
    let output = site.run(&["ps"]);
    assert!(
        text(&output.stderr).contains("no server runs"),
        "{output:?}"
    );
    let mut command = server(site.workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    site.serving = Serving::start(command);
    assert_eq!(site.said(&["ps"]), "");
    site.serving.signal(nix::sys::signal::Signal::SIGTERM);
    assert!(!socket.exists());
}

/// With an approval hook, every client needs a token.
#[test]
fn a_server_with_a_hook_asks_for_the_token() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .args(["serve", "--approval-command", "/bin/true"]);
    let serving = Serving::of(command);
    let site = Site { serving, workspace };
    let refused = site.run(&["ps"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("401"), "{refused:?}");
    let mut command = site.command(&["ps"]);
    let output = command.env("TOOLHOST_TOKEN", TOKEN).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Commands run as the user whom the socket trusts.
#[needs(program = "curl")]
#[tokio::test(flavor = "multi_thread")]
async fn no_command_is_let_in_without_a_token() {
    let workspace = tempfile::tempdir().unwrap();
    for sandbox in ["--sandbox=workspace", "--sandbox=off"] {
        let mut command = server(workspace.path());
        command
            .env("TOOLHOST_TOKEN", TOKEN)
            .args(["serve", sandbox]);
        let serving = Serving::of(command);
        let socket = workspace.path().join(".state/toolhost.sock");
        let ask = format!(
            "curl --silent --output /dev/null --write-out '%{{http_code}}' --unix-socket {} http://localhost/v1/tools",
            socket.display()
        );
        for ask in [ask.clone(), format!("setsid --wait {ask}")] {
            let body = json!({ "tool": "execute", "arguments": { "command": ask } });
            let request = serving
                .request(reqwest::Method::POST, "/v1/chats/a/calls")
                .json(&body);
            let reply: Value = request.send().await.unwrap().json().await.unwrap();
            let status = reply["structured"]["output"].as_str().unwrap().to_owned();
            // Where the sandbox hides the state directory, there is no connection at all.
            assert!(
                ["401", "000"].contains(&status.as_str()),
                "{sandbox}: {reply}"
            );
        }
    }
}
