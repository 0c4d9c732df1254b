//! Hosts whose disk is full or turns read-only.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::future::join_all;
use serde_json::json;
use toolhost_needs::needs;

use super::hosts::{Event, Hosts, call_during, persist};
use crate::harness::Mounted;
use crate::http::execute;

/// Runs the calls on a disk that fills up and gets space again, twice.
async fn call_on_full(mount: fn(&std::path::Path) -> Mounted) {
    use Event::{Empty, Fill, Kill, KillStopped, Stop};
    let events = [
        Fill,
        Kill,
        Fill,
        Stop,
        Kill,
        Empty,
        Kill,
        Fill,
        KillStopped,
        Empty,
        Kill,
    ];
    let (_, forgotten, refused) = call_during(Hosts::start(Some(mount)), &events).await;
    // The store has room of its own on the full disk.
    assert_eq!((forgotten, refused), (0, 0));
}

#[needs(mount)]
#[tokio::test(flavor = "multi_thread")]
async fn no_command_runs_twice_though_the_disk_in_memory_is_full() {
    call_on_full(|state| Mounted::in_memory(state, "size=64m")).await;
}

#[needs(mount, program = "mkfs.ext4")]
#[tokio::test(flavor = "multi_thread")]
async fn no_command_runs_twice_though_the_disk_of_ext4_is_full() {
    call_on_full(Mounted::ext4).await;
}

#[needs(mount, program = "mkfs.ext4")]
#[tokio::test(flavor = "multi_thread")]
async fn no_command_runs_twice_though_the_disk_turns_read_only() {
    use Event::{Fail, Kill, KillStopped, Stop};
    let hosts = Hosts::start(Some(Mounted::ext4));
    let (_, _, refused) = call_during(hosts, &[Kill, KillStopped, Fail, Stop]).await;
    // All calls that began later.
    assert!(refused > 100, "{refused}");
}

#[needs(mount, program = "mkfs.ext4")]
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_refused_on_a_read_only_disk_runs_once_later() {
    let mut hosts = Hosts::start(Some(Mounted::ext4));
    let (client, url) = (crate::harness::client(), hosts.urls.subscribe());
    let ask = async |id: &str| {
        let body = execute(&format!("echo {id} >> counter; echo {id}"));
        persist(&client, &url, id, &body).await
    };
    let first = ask("first").await;
    hosts.disk().fail();
    assert_eq!(ask("first").await, first);
    let store = hosts.disk().path().join("store.db");
    let said = format!(
        "the call was not started, because it cannot be recorded ({} cannot be written: make its file system writable); repeat it once \
         that is repaired",
        store.display()
    );
    for _ in 0..2 {
        let refused = ask("second").await;
        assert_eq!(refused["detail"], said, "{refused}");
    }
    let read = json!({ "tool": "process_list", "arguments": {} });
    let read = persist(&client, &url, "read", &read).await;
    assert_eq!(read["state"], "finished", "{read}");
    hosts.move_to_another_disk().await;
    assert_eq!(ask("first").await, first);
    let second = ask("second").await;
    assert_eq!(second["state"], "finished", "{second}");
    assert_eq!(ask("second").await, second);
    let once = ["first", "second"].map(|id| (id.to_owned(), 1));
    assert_eq!(hosts.runs(), HashMap::from(once));
}

/// Callers wait for the disk for a bounded time. Health checks do not wait.
#[needs(mount, program = "mkfs.ext4", program = "fsfreeze")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_hangs_stops_no_health_check() {
    let hosts = Hosts::start(Some(Mounted::ext4));
    let (client, url) = (crate::harness::client(), hosts.urls.subscribe());
    let ask = async |id: &str| {
        let body = execute(&format!("echo {id} >> counter; echo {id}"));
        persist(&client, &url, id, &body).await
    };
    let first = ask("first").await;
    let hanging = hosts.disk().hang();
    let refusals = join_all((0..20).map(async |number| ask(&format!("late-{number}")).await));
    let (are_refused, checks) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (refusals, ()) = tokio::join!(
        async {
            let refusals = refusals.await;
            are_refused.store(true, Ordering::SeqCst);
            refusals
        },
        async {
            while !are_refused.load(Ordering::SeqCst) {
                for path in ["healthz", "readyz"] {
                    let url = format!("{}/{path}", *url.borrow());
                    client.get(url).send().await.unwrap();
                }
                checks.fetch_add(1, Ordering::SeqCst);
            }
        }
    );
    for refused in refusals {
        assert_eq!(refused["code"], "unrecorded", "{refused}");
        let said = refused["detail"].as_str().unwrap();
        assert!(said.contains("does not answer"), "{said}");
    }
    // A check takes milliseconds, and the disk had ten seconds.
    let checks = checks.into_inner();
    assert!(checks > 50, "{checks}");
    let ready = async || {
        let url = format!("{}/readyz", *url.borrow());
        client.get(url).send().await.unwrap().status().as_u16()
    };
    assert_eq!(ready().await, 503);
    drop(hanging);
    assert_eq!(ask("first").await, first);
    let late = ask("late-0").await;
    assert_eq!(late["state"], "finished", "{late}");
    // Other lookups than those of this call may take a moment longer.
    while ready().await != 200 {}
    let once = ["first", "late-0"].map(|id| (id.to_owned(), 1));
    assert_eq!(hosts.runs(), HashMap::from(once));
}
