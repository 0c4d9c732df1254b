//! The home of a workspace in which commands of an earlier host still run.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use toolhost_needs::needs;

use super::super::site::{DEFAULT, Ground, Site};
use super::{THEIRS, binds, ends, ground, made, no_mounts, serve, works_in};
use crate::harness::file;

/// Keeps the commands of a host.
fn keeping<'a>(flags: &[&'a str]) -> Vec<&'a str> {
    [DEFAULT, &["--keep"], flags].concat()
}

/// Starts a command in a chat of the workspace `a`, which makes the file `begun` there.
async fn start(site: &Site, chat: &str, command: &str) {
    let arguments = json!({ "command": command, "run_in_background": true });
    let (status, body) = site.put(chat, "execute", arguments).await;
    assert_eq!(status, 200, "{body}");
    file(&site.path("data/spaces/a/begun")).await;
}

/// Writes into the layers, waits for the file `go`, and writes again.
const WRITER: &str = "work=$PWD; cd ~/.cargo/registry; echo before > before; echo > $work/begun; \
    until test -e $work/go; do sleep 0.05; done; \
    rm src/index/semver-1.0.0/src/lib.rs && ls > after; echo $? > $work/ended";

/// Lets the writer go on, and waits until it has ended.
async fn go(site: &Site) {
    std::fs::write(site.path("data/spaces/a/go"), "").unwrap();
    assert_eq!(file(&site.path("data/spaces/a/ended")).await, "0\n");
    ends(site, "a1").await;
}

/// Ends the chats that began with the later hosts, and checks in a new one what they left in the home.
async fn ends_and_begins(site: &Site, script: &str) {
    for chat in ["a2", "a3"] {
        ends(site, chat).await;
    }
    no_mounts(site).await;
    binds(site, "a4").await;
    works_in(site, "a4", script).await;
}

async fn again(ground: Ground, flags: &[&str], chats: &[&str]) -> Site {
    made(ground.serve(flags), chats).await
}

/// All chats and the command share one mount of each layer, whichever host they began with.
#[needs(namespaces)]
#[tokio::test]
async fn a_command_that_outlives_two_hosts_shares_its_layers() {
    let flags = keeping(&[]);
    let site = serve(ground(), &flags, &["a1"]).await;
    start(&site, "a1", WRITER).await;
    let site = again(site.end(Signal::SIGKILL), &flags, &["a2"]).await;
    let read = "cd ~/.cargo/registry; cat before; echo $CODER_CHAT_ID > $CODER_CHAT_ID";
    for chat in ["a1", "a2"] {
        assert_eq!(works_in(&site, chat, read).await, "before\n", "{chat}");
    }
    // A chat is lent what is new as well.
    let new = site.path("home/.nvm/theirs");
    std::fs::create_dir(new.parent().unwrap()).unwrap();
    std::fs::write(&new, THEIRS).unwrap();
    let site = again(site.end(Signal::SIGTERM), &flags, &["a3"]).await;
    for chat in ["a1", "a2", "a3"] {
        let seen = works_in(
            &site,
            chat,
            "cd ~/.cargo/registry; cat before a1 a2 ~/.nvm/theirs",
        );
        assert_eq!(seen.await, format!("before\na1\na2\n{THEIRS}"), "{chat}");
    }
    go(&site).await;
    let after =
        "cd ~/.cargo/registry; paste -sd ' ' after; ! test -e src/index/semver-1.0.0/src/lib.rs";
    assert_eq!(
        works_in(&site, "a3", after).await,
        "a1 a2 after before cached src\n"
    );
    ends_and_begins(&site, "cd ~/.cargo/registry; cat a1 a2 after").await;
}

/// Its layers show a path that is closed since. So new chats see them without that path, and write into others.
#[needs(namespaces)]
#[tokio::test]
async fn a_path_that_is_closed_since_a_command_began_is_closed_to_new_chats() {
    let site = serve(ground(), &keeping(&[]), &["a1"]).await;
    start(&site, "a1", WRITER).await;
    let closed = "--sandbox-never=@HOME/.cargo/registry/cached";
    let site = again(site.end(Signal::SIGKILL), &keeping(&[closed]), &["a2"]).await;
    let script = "cd ~/.cargo/registry; cat before; ! cat cached; echo own > own";
    let seen = works_in(&site, "a2", script).await;
    assert!(
        seen.starts_with("before\n") && !seen.contains("\ncached\n"),
        "{seen}"
    );
    go(&site).await;
    // Once the command has ended, the chats that begin then write into the layers of the home.
    binds(&site, "a3").await;
    let script = "cd ~/.cargo/registry; cat before after; echo own > own; ! test -e cached";
    assert_eq!(
        works_in(&site, "a3", script).await,
        "before\nafter\nbefore\ncached\nsrc\n"
    );
    ends_and_begins(&site, "test -e ~/.cargo/registry/own").await;
}

/// Swaps a directory and a link, again and again, for as long as the workspace is there. What chats put into the directory meanwhile gets
/// another name.
const SWAPPER: &str = "import os\n\
    def swap(path):\n\
    \x20   try: os.mkdir(path); os.mkdir(path + \"/deep\")\n\
    \x20   except OSError: pass\n\
    \x20   try: os.rmdir(path + \"/deep\"); os.rmdir(path)\n\
    \x20   except OSError: os.rename(path, path + os.urandom(4).hex())\n\
    \x20   try: os.symlink(\"/etc\", path); os.unlink(path)\n\
    \x20   except OSError: pass\n\
    open(\"begun\", \"w\").write(\"\\n\")\n\
    while os.path.exists(\"begun\"):\n\
    \x20   for path in [os.environ[\"HOME\"] + \"/shared\", \"dir\"]:\n\
    \x20       try: swap(path)\n\
    \x20       except OSError: pass";

/// A path is granted, and another one closed, where a kept command can still put anything: a chat starts, or is told why it cannot.
#[needs(namespaces, program = "python3")]
#[tokio::test]
async fn a_kept_command_that_swaps_what_is_granted_since_makes_nothing_busy() {
    let ground = ground();
    ground.write("home/shared/deep/data", THEIRS);
    let site = serve(ground, &keeping(&[]), &["a1"]).await;
    start(&site, "a1", &format!("exec python3 -c '{SWAPPER}'")).await;
    let flags = keeping(&[
        "--sandbox-write=@HOME/shared/deep/data",
        "--sandbox-never=@DATA/spaces/a/dir/deep/key",
    ]);
    let site = again(site.end(Signal::SIGKILL), &flags, &[]).await;
    let mut started = 0;
    for number in 0..40 {
        let chat = format!("a-{number}");
        binds(&site, &chat).await;
        let (status, body) = site
            .put(&chat, "execute", json!({ "command": "echo runs" }))
            .await;
        if body["structured"]["output"] == "runs\n" {
            started += 1;
        } else {
            assert_told(status, &body);
        }
        ends(&site, &chat).await;
    }
    assert!(started > 0);
    ends(&site, "a1").await;
}

/// Asserts that a start says what is in its way, and not that a repeat helps.
fn assert_told(status: u16, body: &Value) {
    let said = body.to_string();
    assert!(said.contains("again and again"), "{status}: {said}");
    assert_ne!(status, 429, "{said}");
}
