//! Slow readers, floods, and too many of either.

use std::time::Instant;

use toolhost_local::process::{Config, SaveLimits};

use super::*;
use crate::guest::{guest, limited};
use crate::harness::{shared_code, shared_state, spawner, until, without_namespaces};

/// A host that saves so many bytes of an output.
async fn saving(bytes: u64) -> (Setup, Server) {
    let workspace = tempfile::tempdir().unwrap();
    let processes = Config {
        spawner: Some(spawner()),
        sandbox: without_namespaces(),
        save_limits: SaveLimits {
            per_process: bytes,
            ..SaveLimits::default()
        },
        ..Config::new(workspace.path())
    };
    let host = toolhost_core::Host::builder(workspace.path())
        .state_dir(shared_state("state"))
        .shared_code(shared_code().join("toolhost"))
        .processes(processes);
    let host = host.start().await.unwrap();
    let server = Server::start(host.clone()).await;
    (Setup::of(host, workspace), server)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_stops_holds_up_nothing_and_gets_exact_gaps() {
    const FLOOD: usize = 100_000_000;
    let (setup, server) = saving(4 << 20).await;
    let mut stream = Stream::open(&server, "a", "").await;
    // It reads nothing while this runs.
    let reply = run(&server, "1", &format!("yes | head -c {FLOOD}; echo end")).await;
    assert_eq!(reply["structured"]["exit_code"], 0, "{reply}");
    // Should the machine be so slow that the server gave the reader up, it comes back.
    let mut events = Vec::new();
    while !events.last().is_some_and(ended) {
        match stream.next().await {
            Some(event) => events.push(event),
            None => {
                let last = events.last().map_or("", |event: &Event| event.id.as_str());
                stream = Stream::resume(&server, "a", "", last).await;
            }
        }
    }
    let (bytes, missing) = output(&events);
    assert_eq!(bytes.len(), FLOOD + 4);
    assert!(bytes.ends_with(b"end\n"));
    let expected = b"y\n".iter().cycle();
    let same = bytes.iter().zip(expected).take(FLOOD);
    let different = same.filter(|(one, other)| one != other).count();
    assert_eq!(different as u64, missing);
    // At least the saved bytes came, and the end from memory.
    assert!(
        missing > 0 && missing <= (FLOOD - (4 << 20)) as u64,
        "{missing}"
    );
    let stats = setup.host.events().stats();
    assert!(stats.gap_bytes >= missing && stats.gaps > 0, "{stats:?}");
    assert_eq!((stats.resets, stats.dropped), (0, 0));
    assert!(stats.bytes < 100_000, "{stats:?}");
}

#[tokio::test]
async fn everything_that_is_saved_is_delivered() {
    let (_setup, server) = server().await;
    let mut stream = Stream::open(&server, "a", "").await;
    run(&server, "1", "seq 200000").await;
    let events = stream.until(ended).await;
    let expected: String = (1..=200_000).map(|n| format!("{n}\n")).collect();
    assert!(output(&events) == (expected.into_bytes(), 0));
}

/// Output that is no longer kept when a reader comes to it is a gap, which covers all of it.
#[tokio::test]
async fn output_of_an_ended_chat_is_a_gap() {
    let (_setup, server) = server().await;
    let ready = Stream::open(&server, "a", "")
        .await
        .until_ready(&server)
        .await;
    run(&server, "1", "echo hello").await;
    let delete = server.request(Method::DELETE, "/v1/chats/a");
    assert_eq!(delete.send().await.unwrap().status(), 200);
    let stream = Stream::resume(&server, "a", "", &ready).await;
    let events = stream.rest().await;
    let expected = [
        "call",
        "process_started",
        "gap",
        "process",
        "call",
        "chat_ended",
    ];
    assert_eq!(names(&events), expected);
    assert_eq!(output(&events), (vec![0; 6], 6));
}

#[tokio::test]
async fn readers_are_bounded() {
    let (setup, server) = server().await;
    let mut streams = Vec::new();
    for _ in 0..16 {
        streams.push(Stream::open(&server, "a", "").await);
    }
    let ask = || server.request(Method::GET, "/v1/chats/a/events").send();
    let refused = ask().await.unwrap();
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "busy");
    // Others are not meant.
    streams.push(Stream::open(&server, "b", "").await);
    assert_eq!(setup.host.events().stats().refused, 1);
    drop(streams);
    until("the readers are gone", || {
        (setup.host.events().stats().readers == 0).then_some(())
    })
    .await;
    assert_eq!(ask().await.unwrap().status(), 200);
}

#[tokio::test]
async fn the_readers_of_one_token_are_half_of_all() {
    let setup = Setup::with(|builder| {
        builder.event_limits(toolhost_call::events::Limits {
            readers: 4,
            ..Default::default()
        })
    })
    .await;
    let server = Server::start(setup.host.clone()).await;
    let _streams = [
        Stream::open(&server, "a", "").await,
        Stream::open(&server, "b", "").await,
    ];
    let ask = server.request(Method::GET, "/v1/chats/c/events").send();
    let refused = ask.await.unwrap();
    assert_eq!(refused.status(), 429);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(
        problem["detail"],
        "2 readers of this token follow chats, and no more can: close one first"
    );
}

#[tokio::test]
async fn no_token_no_events() {
    let (_setup, server) = server().await;
    for path in ["events", "processes", "processes/x", "processes/x/output"] {
        let url = format!("{}/v1/chats/a/{path}", server.url);
        let response = server.client.get(url).send().await.unwrap();
        assert_eq!(response.status(), 401, "{path}");
    }
}

/// How many reports of a call are not held back.
const AS_THEY_COME: u128 = 16;

#[tokio::test]
async fn a_flood_of_progress_is_bounded() {
    let plugin = guest("progress_flood");
    let limits = toolhost_plugin::Limits {
        guest_time: std::time::Duration::from_millis(500),
        ..Default::default()
    };
    let options = limited("flood", limits);
    let setup = Setup::with(|builder| builder.without_shell().plugin(plugin, options)).await;
    let server = Server::start(setup.host.clone()).await;
    let mut stream = Stream::open(&server, "a", "").await;
    let begun = Instant::now();
    assert_eq!(server.put("a", "1", json!({ "tool": "t" })).await.0, 200);
    let events = stream.until(ended).await;
    let intervals = begun.elapsed().as_millis() / 100;
    let reports = events
        .iter()
        .filter(|event| event.name == "progress")
        .count();
    // The first as they come, then one in each interval, and the last.
    let most = intervals + AS_THEY_COME + 2;
    assert!(
        reports >= 1 && reports as u128 <= most,
        "{reports} in {intervals}"
    );
    assert_eq!(events.last().unwrap().data["state"], "failed");
    let published = setup.host.events().stats().published;
    assert!(published as usize >= reports && u128::from(published) <= most + 4);
}
