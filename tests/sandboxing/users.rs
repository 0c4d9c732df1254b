//! A host of an ordinary user, where the tests run as root: without a sandbox, its commands may do less than those of root, and
//! the same holds within.

use reqwest::Method;
use toolhost_needs::needs;

use super::site::{Ground, OFF, PLAIN, Site};
use crate::harness::{is_alive, until};

/// Users that nobody is, one for each test.
const READER: u32 = 64_331;
const KILLER: u32 = 64_332;
const TEMPORARY: u32 = 64_333;

/// Attacks on files and processes outside of the sandbox.
const ATTACKS: &[&str] = &[
    "cat @STATE/cache.key > copy",
    "for code in @STATE/cache/*.cwasm; do printf forged > \"$code\" || exit 1; done",
    "cat @STATE/audit/audit.jsonl > copy",
    "ln @STATE/cache.key linked",
    "cat @HOME/.ssh/id > copy",
    "cat @OUTSIDE/secret > copy",
    "echo x > @HOME/.profile",
    "kill -CONT @HOST",
    "kill -CONT @SPAWNER",
    "kill -CONT $PPID",
    "kill -CONT @OTHER",
    "cat /proc/@OTHER/environ > copy",
    "ls /proc/@OTHER/cwd/ > copy",
    "head -c 0 /proc/@OTHER/mem",
];

#[needs(root)]
#[tokio::test]
async fn attacks_of_an_ordinary_user_are_refused() {
    let victim = "export TOKEN=hunter2; exec sleep 1000";
    let off = Ground::of(Some(READER)).serve(OFF);
    let other = off.start_in("other", victim).await.to_string();
    // Yama may refuse the last.
    for attack in ATTACKS.iter().take(ATTACKS.len() - 1) {
        off.works(&attack.replace("@OTHER", &other)).await;
    }
    drop(off);
    let site = Ground::of(Some(READER)).serve(PLAIN);
    let other = site.start_in("other", victim).await;
    for attack in ATTACKS {
        let script = attack.replace("@OTHER", &other.to_string());
        site.fails(&script, "").await;
    }
    assert!(is_alive(other));
    site.works("id -u; echo x > new; f=$(mktemp); test $(stat -c %a $TMPDIR) = 700")
        .await;
}

/// The kernel sends it to all that the sender may signal: without a sandbox, to the host and all commands.
#[needs(root)]
#[tokio::test]
async fn a_signal_to_everything_reaches_the_command_alone() {
    let site = Ground::of(Some(KILLER)).serve(PLAIN);
    let other = site.start_in("other", "exec sleep 1000").await;
    let same = site.start_in("a", "exec sleep 1000").await;
    let spawner = site.spawner();
    site.works("sleep 1000 & own=$!; kill -KILL -1; ! wait $own")
        .await;
    for pid in [other, same, spawner, site.host()] {
        assert!(is_alive(pid), "{pid}");
    }
    assert_eq!(site.spawner(), spawner);
    site.works("true").await;
}

fn names(site: &Site) -> usize {
    std::fs::read_dir(site.path("state/tmp")).unwrap().count()
}

/// Without rights to it, nothing in a directory can be removed.
#[needs(root)]
#[tokio::test]
async fn temporary_directories_without_rights_are_removed() {
    let shut = "mkdir -p $TMPDIR/a/b/c; echo > $TMPDIR/a/b/c/d; chmod 0 $TMPDIR/a/b/c $TMPDIR/a/b $TMPDIR/a $TMPDIR";
    let site = Ground::of(Some(TEMPORARY)).serve(PLAIN);
    site.works(shut).await;
    assert_eq!(names(&site), 1);
    let path = "/v1/chats/a";
    let ended = site.request(Method::DELETE, path).send().await.unwrap();
    assert_eq!(ended.status(), 200);
    until("its directory is gone", || {
        (names(&site) == 0).then_some(())
    })
    .await;
    // The next host removes what a killed one left.
    site.works(shut).await;
    let ground = site.end(nix::sys::signal::Signal::SIGKILL);
    let site = ground.serve(PLAIN);
    assert_eq!(names(&site), 0);
    site.works("echo x > $TMPDIR/works").await;
}
