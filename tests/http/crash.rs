//! A host that is killed or stopped while it works for many callers.

mod disks;
mod hosts;
mod keep;

use nix::sys::signal::Signal;
use tokio::sync::watch;

use super::*;
use hosts::{Event, Hosts, call_during, persist, start};

#[tokio::test(flavor = "multi_thread")]
async fn no_command_runs_twice_though_the_host_is_killed_and_no_caller_is_left_alone() {
    let (_, _, refused) = call_during(Hosts::start(None), &[Event::Kill; 9]).await;
    assert_eq!(refused, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_runs_twice_though_the_host_is_stopped() {
    use Event::{KillStopped, Stop};
    let events = [
        Stop,
        KillStopped,
        Stop,
        Stop,
        KillStopped,
        KillStopped,
        Stop,
        KillStopped,
    ];
    let (_, _, refused) = call_during(Hosts::start(None), &events).await;
    assert_eq!(refused, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_call_says_what_its_process_wrote() {
    let workspace = tempfile::tempdir().unwrap();
    let mut serving = start(workspace.path());
    let (_urls, url) = watch::channel(serving.url.clone());
    let client = crate::harness::client();
    let body = execute("echo as far as it came; echo > begun; exec sleep 1000");
    let mut call = Box::pin(persist(&client, &url, "1", &body));
    let begun = crate::harness::until("the command runs", || {
        workspace.path().join("begun").exists().then_some(())
    });
    tokio::select! {
        outcome = &mut call => panic!("{outcome}"),
        () = begun => {}
    }
    drop(call);
    // The process is known by what it wrote once that is saved.
    crate::harness::until("the output is saved", || {
        saved(workspace.path()).then_some(())
    })
    .await;
    serving.signal(Signal::SIGKILL);
    let serving = start(workspace.path());
    let (_urls, url) = watch::channel(serving.url.clone());
    let outcome = persist(&client, &url, "1", &body).await;
    assert_eq!(outcome["state"], "unknown", "{outcome}");
    let text = outcome["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("as far as it came\n"), "{text}");
    assert!(
        text.contains("Look at what it has done before you run it again"),
        "{text}"
    );
    let [process] = outcome["processes"].as_array().unwrap().as_slice() else {
        panic!("{outcome}");
    };
    assert!(text.contains(process.as_str().unwrap()), "{text}");
}

/// Whether any saved output has the line.
fn saved(workspace: &std::path::Path) -> bool {
    fn any(directory: &std::path::Path) -> bool {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| {
            let path = entry.path();
            let is_it = std::fs::read(&path).is_ok_and(|bytes| bytes.starts_with(b"as far as it"));
            is_it || path.is_dir() && any(&path)
        })
    }
    any(&workspace.join(".state"))
}
