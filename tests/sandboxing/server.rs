//! The server and the programs of its machine: a token is a right, whichever process sends it, and no command finds one.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use nix::sys::signal::Signal;
use reqwest::Method;
use serde_json::json;
use toolhost_needs::needs;

use super::site::{DEFAULT, Ground, OFF, PLAIN, Site};
use crate::harness::{TOKEN, until};

/// A user of no other test.
const USER: u32 = 64_334;

/// A command that does not show its descriptors, has many, and has some on their way to another process.
const HOARD: &str =
    "exec python3 -c 'import ctypes, os, socket, time; ctypes.CDLL(None).prctl(4, 0)
ends = socket.socketpair(); socket.send_fds(ends[0], [b\"x\"], [0])
for _ in range(300): os.dup(0)
open(\"full\", \"w\").write(\"full\\n\")
time.sleep(1000)'";

/// Asserts that the programs of the user are served beside a command that hoards descriptors.
async fn serves_own_programs(site: Site) {
    site.start_in("other", HOARD).await;
    site.file("full").await;
    for arguments in [
        &["call", "process_list", "--chat", "support-42"][..],
        &["ps"],
        &["chats"],
    ] {
        let mut command = site.ground.client();
        command.env("TOOLHOST_TOKEN", TOKEN).args(arguments);
        let output = command.args(["--server", &site.serving.url]).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    }
}

#[needs(program = "python3")]
#[tokio::test]
async fn own_programs_are_served() {
    for flags in [OFF, PLAIN, DEFAULT] {
        serves_own_programs(Site::new(flags)).await;
    }
}

#[needs(root, program = "python3")]
#[tokio::test]
async fn own_programs_of_an_ordinary_user_are_served() {
    for flags in [OFF, PLAIN, DEFAULT] {
        serves_own_programs(Ground::of(Some(USER)).serve(flags)).await;
    }
}

#[needs(program = "curl")]
#[tokio::test]
async fn a_command_needs_a_token_like_every_client() {
    let site = Site::new(DEFAULT);
    let url = format!("{}/v1/tools", site.serving.url);
    let ask = "curl -s -o /dev/null -w '%{http_code}'";
    assert_eq!(site.works(&format!("{ask} {url}")).await, "401");
    let right = format!("{ask} -H 'authorization: Bearer {TOKEN}' {url}");
    assert_eq!(site.works(&right).await, "200");
}

#[tokio::test]
async fn no_command_finds_the_token_of_its_server() {
    // Commands of other tests have theirs in their arguments.
    const OWN: &str = "a-token-of-this-test-alone";
    // The environments and arguments of all processes, and the files that can have a token.
    let look = "cat /proc/*/environ /proc/*/cmdline @HOME/.config/toolhost/* @STATE/* @DATA/keys/* 2>/dev/null | \
        tr '\\0' '\\n'; env; true";
    for (flags, is_in_file) in [
        (PLAIN, true),
        (DEFAULT, true),
        (PLAIN, false),
        (DEFAULT, false),
    ] {
        let ground = Ground::new();
        let mut command = ground.command("serve", flags);
        if is_in_file {
            ground.write("data/keys/key", OWN);
            let file = ground.path("data/keys/key");
            std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            command.arg("--token-file").arg(&file);
        } else {
            command.env("TOOLHOST_TOKEN", OWN);
        }
        let site = ground.serve_command_with(command, OWN);
        let found = site.works(look).await;
        assert!(!found.contains(OWN), "{flags:?}, {is_in_file}: {found}");
    }
}

/// A command that outlives its server is no client of the next one at the private socket either.
#[needs(program = "curl")]
#[tokio::test]
async fn a_kept_command_needs_a_token_at_the_private_socket() {
    // Each line of the file is an answer of a server that listens.
    let ask = "while sleep 0.05; do curl -sf -o /dev/null --unix-socket @STATE/toolhost.sock http://localhost/healthz && \\
        answer=$(curl -s -o /dev/null -w '%{http_code}' --unix-socket @STATE/toolhost.sock http://localhost/v1/tools) && \
        echo $answer >> answers; done";
    for flags in [OFF, PLAIN] {
        let flags = [flags, &["--keep"]].concat();
        let mut site = Site::new(&flags);
        let arguments = json!({ "command": site.script(ask), "run_in_background": true });
        let (status, body) = site.put("a", "execute", arguments).await;
        assert_eq!(status, 200, "{body}");
        let answers = async |path: &std::path::Path, what: &str| {
            let answers = until(what, || {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                (text.lines().count() > 2).then_some(text)
            });
            let answers = answers.await;
            assert!(answers.lines().all(|line| line == "401"), "{answers}");
            std::fs::write(path, "").unwrap();
        };
        let path = site.path("work/answers");
        answers(&path, "the command asks").await;
        for signal in [Signal::SIGKILL, Signal::SIGTERM] {
            let ground = site.end(signal);
            site = ground.serve(&flags);
            answers(&path, "the kept command asks").await;
        }
        let ended = site.request(Method::DELETE, "/v1/chats/a").send().await;
        assert_eq!(ended.unwrap().status(), 200);
    }
}
