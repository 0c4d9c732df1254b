//! Two chats of one host, in one workspace: their processes and temporary files.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use reqwest::Method;
use toolhost_needs::needs;

use super::site::{Ground, OFF, PLAIN, SECRET, Site, escaped, tracing_is_open};
use crate::harness::{is_alive, until};

/// A command with a secret in its environment and an open file.
const VICTIM: &str = "exec 8< @OUTSIDE/secret; export TOKEN=hunter2; exec sleep 1000";

/// The same where it may not read that file.
const CONFINED: &str = "echo hunter2 > $TMPDIR/secret; exec 8< $TMPDIR/secret; rm $TMPDIR/secret; \
    export TOKEN=hunter2; exec sleep 1000";

/// Ways into the process `@OTHER`.
const WAYS: &[&str] = &[
    "cat /proc/@OTHER/environ > copy",
    "cat /proc/@OTHER/fd/8 > copy",
    "readlink /proc/@OTHER/fd/8 > copy",
    "ls /proc/@OTHER/root/ > copy",
    "ls /proc/@OTHER/cwd/ > copy",
    "cat /proc/@OTHER/maps | grep . > copy",
    "head -c 0 /proc/@OTHER/mem",
    "echo 1000 > /proc/@OTHER/oom_score_adj",
    "kill -CONT @OTHER",
];

#[tokio::test]
async fn no_process_of_another_command_can_be_read_changed_or_signalled() {
    let off = Site::new(OFF);
    let other = off.start_in("other", VICTIM).await.to_string();
    for way in WAYS {
        if tracing_is_open() || !way.ends_with("/mem") {
            off.works(&way.replace("@OTHER", &other)).await;
        }
    }
    let site = Site::new(PLAIN);
    // A command of the same chat has a sandbox of its own as well.
    for chat in ["other", "a"] {
        let other = site.start_in(chat, CONFINED).await;
        for way in WAYS {
            let script = way.replace("@OTHER", &other.to_string());
            site.fails(&script, "").await;
        }
        assert!(is_alive(other));
    }
    // The host still reaches it.
    let listed = site
        .request(Method::DELETE, "/v1/chats/other")
        .send()
        .await
        .unwrap();
    assert_eq!(listed.status(), 200);
}

/// Memory is read by calls, too.
#[needs(program = "python3")]
#[tokio::test]
async fn no_memory_of_another_command_can_be_read_or_written() {
    let script = |call: &str, other: u32| {
        format!(
            "python3 -c 'import ctypes, struct; libc = ctypes.CDLL(None, use_errno=True); \
             own = ctypes.create_string_buffer(8); \
             one = struct.pack(\"LL\", ctypes.addressof(own), 8); \
             address = int(open(\"/proc/{other}/stat\").read().rsplit(\") \", 1)[1].split()[25]); \
             other = struct.pack(\"LL\", address or 4096, 8); \
             libc.{call}({other}, one, 1, other, 1, 0); print(ctypes.get_errno())'"
        )
    };
    let calls = ["process_vm_readv", "process_vm_writev"];
    let off = Site::new(OFF);
    let other = off.start_in("other", VICTIM).await;
    for call in calls.into_iter().filter(|_| tracing_is_open()) {
        assert_eq!(off.works(&script(call, other)).await, "0", "{call}");
    }
    let site = Site::new(PLAIN);
    let other = site.start_in("other", CONFINED).await;
    for call in calls {
        assert_eq!(site.works(&script(call, other)).await, "1", "{call}");
    }
}

async fn temporary(site: &Site, chat: &str) -> PathBuf {
    let reply = site.run_in(chat, "echo $TMPDIR").await;
    PathBuf::from(reply.output.trim())
}

#[tokio::test]
async fn each_chat_has_temporary_files_of_its_own() {
    let site = Site::new(PLAIN);
    let directory = temporary(&site, "other").await;
    assert!(directory.starts_with(site.path("state/tmp")));
    assert_eq!(directory.metadata().unwrap().mode() & 0o7777, 0o700);
    let written = site.run_in("other", "echo hunter2 > $TMPDIR/secret").await;
    assert_eq!(written.code, Some(0), "{written:?}");
    // Its next command has the same.
    let read = site.run_in("other", "cat $TMPDIR/secret").await;
    assert_eq!(read.output.trim(), SECRET);
    assert_ne!(temporary(&site, "a").await, directory);
    let other = &escaped(directory.to_str().unwrap());
    for way in [
        "cat @OTHER/secret",
        "ls @OTHER",
        "ls @OTHER/..",
        "cat $TMPDIR/../$(basename @OTHER)/secret",
        "ln -s @OTHER $TMPDIR/other && cat $TMPDIR/other/secret",
        "ln @OTHER/secret $TMPDIR/hard",
        "echo x > @OTHER/new",
        "rm @OTHER/secret",
        "mv @OTHER $TMPDIR/taken",
        "rmdir @OTHER",
    ] {
        site.fails(&way.replace("@OTHER", other), "").await;
    }
    let read = site.run_in("other", "cat $TMPDIR/secret").await;
    assert_eq!(read.output.trim(), SECRET);
    let left = std::fs::read_dir(&directory).unwrap().count();
    assert_eq!(left, 1);
    // Programs use it.
    site.works("case $(mktemp) in $TMPDIR/*) ;; *) exit 1;; esac; echo x | sort -S 1 | cat <<E\nE")
        .await;
}

fn names(directory: &Path) -> usize {
    match std::fs::read_dir(directory) {
        Ok(entries) => entries.count(),
        Err(_) => 0,
    }
}

#[tokio::test]
async fn temporary_files_go_with_their_chat() {
    let site = Site::new(PLAIN);
    let [one, other] = [
        temporary(&site, "one").await,
        temporary(&site, "other").await,
    ];
    for chat in ["one", "other"] {
        site.start_in(
            chat,
            "mkdir -p $TMPDIR/a/b; echo > $TMPDIR/a/b/c; exec sleep 1000",
        )
        .await;
    }
    let path = "/v1/chats/one";
    let ended = site.request(Method::DELETE, path).send().await.unwrap();
    assert_eq!(ended.status(), 200);
    until("its directory is gone", || (!one.exists()).then_some(())).await;
    assert!(other.is_dir());
    // A chat can be used again, with a new one.
    let again = temporary(&site, "one").await;
    assert!(again.is_dir() && again != one);
    let ground = site.end(Signal::SIGTERM);
    assert_eq!(names(&ground.path("state/tmp")), 0);
}

#[tokio::test]
async fn temporary_files_of_a_killed_host_are_removed_by_the_next() {
    let site = Site::new(PLAIN);
    let directory = temporary(&site, "a").await;
    site.works("echo > $TMPDIR/left").await;
    let ground = site.end(Signal::SIGKILL);
    assert!(directory.join("left").exists());
    let site = ground.serve(PLAIN);
    assert_eq!(names(&site.path("state/tmp")), 0);
    site.works("test -d $TMPDIR").await;
}

/// No descriptor and no stack can be had for each of them.
#[needs(program = "python3")]
#[tokio::test]
async fn directories_of_any_depth_are_removed_as_well() {
    let dig = "python3 -c 'import os; os.chdir(os.environ[\"TMPDIR\"]); \
               [(os.mkdir(\"d\"), os.chdir(\"d\")) for _ in range(3000)]'";
    let site = Site::new(PLAIN);
    let directory = temporary(&site, "a").await;
    site.works(dig).await;
    let path = "/v1/chats/a";
    let ended = site.request(Method::DELETE, path).send().await.unwrap();
    assert_eq!(ended.status(), 200);
    until("its directory is gone", || {
        (!directory.exists()).then_some(())
    })
    .await;
}

/// Without a sandbox commands use the directory of the system.
#[tokio::test]
async fn without_a_sandbox_there_is_none() {
    let site = Ground::new().serve(OFF);
    assert_eq!(site.works("echo ${TMPDIR-none}").await, "none");
    assert!(!site.path("state/tmp").exists());
}
