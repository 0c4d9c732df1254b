//! Readers of a chat whose calls run at other hosts.

use toolhost_plugin::{Limits, Options};

use super::*;
use crate::guest::guest;
use crate::http::events::stream::{Event, Stream, names, output};

/// Returns whether an event is the end of this call.
fn ends(call: &str) -> impl Fn(&Event) -> bool {
    move |event| event.is("call", "call", call) && event.data["state"] != "running"
}

/// Removes the event by which a host says, when it begins to listen, that it may have been told of others before.
fn of_the_chat(events: Vec<Event>) -> Vec<Event> {
    let is_of_chat = |event: &Event| !event.is("reset", "reason", "cut_off");
    events.into_iter().filter(is_of_chat).collect()
}

#[needs(postgres)]
#[tokio::test]
async fn a_reader_hears_of_calls_at_other_hosts() {
    let cluster = Cluster::new().await;
    let [one, other] = [cluster.node("one").await, cluster.node("other").await];
    let mut stream = Stream::open(&one.server, "a", "").await;
    let (status, ran) = other
        .server
        .put("a", "1", at_agent("echo hi; exit 3"))
        .await;
    assert_eq!(status, 200, "{ran}");
    // The end of the call and that of its process take different ways.
    let mut events = of_the_chat(stream.until(ends("1")).await);
    let has_exited = |event: &Event| event.is("process", "status", "exited");
    if !events.iter().any(has_exited) {
        events.extend(of_the_chat(stream.until(has_exited).await));
    }
    let mut heard = names(&events);
    heard.sort_unstable();
    assert_eq!(
        heard,
        ["call", "call", "output", "process", "process_started"]
    );
    let calls: Vec<_> = events.iter().filter(|event| event.name == "call").collect();
    assert_eq!(
        [&calls[0].data, &calls[1].data],
        [
            &json!({ "call": "1", "tool": "execute", "state": "running" }),
            &json!({ "call": "1", "tool": "execute", "state": "finished", "is_error": false }),
        ]
    );
    assert_eq!(output(&events).0, b"hi\n");
    // Calls at its own host are told once.
    one.server.put("a", "2", here("true")).await;
    other.server.put("a", "3", here("true")).await;
    let events = of_the_chat(stream.until(ends("3")).await);
    let of = |call: &str| {
        let is_of = |event: &&Event| event.is("call", "call", call);
        events.iter().filter(is_of).count()
    };
    assert_eq!((of("2"), of("3")), (2, 2), "{events:?}");
    // A call that only reads is told at its end.
    let read = json!({ "tool": "read_file", "arguments": { "path": "nothing" } });
    other.server.put("a", "4", read).await;
    stream.until(ends("4")).await;
    let ended = other.server.request(Method::DELETE, "/v1/chats/a");
    assert_eq!(ended.send().await.unwrap().status(), 200);
    let rest = stream.rest().await;
    assert_eq!(rest.last().unwrap().data, json!({ "chat": "a" }));
}

#[needs(postgres)]
#[tokio::test]
async fn a_reader_that_comes_back_has_missed_no_call_at_other_hosts() {
    let cluster = Cluster::new().await;
    let [one, other] = [cluster.node("one").await, cluster.node("other").await];
    let mut stream = Stream::open(&one.server, "a", "").await;
    other.server.put("a", "1", at_agent("true")).await;
    let last = stream.until(ends("1")).await.pop().unwrap();
    drop(stream);
    until("the reader has left", || {
        (one.host.events().stats().readers == 0).then_some(())
    })
    .await;
    other.server.put("a", "2", at_agent("true")).await;
    let mut stream = Stream::resume(&one.server, "a", "", &last.id).await;
    let events = of_the_chat(stream.until(ends("2")).await);
    assert!(
        events.iter().all(|event| event.name != "reset"),
        "{events:?}"
    );
    assert!(events.iter().any(|event| event.data["state"] == "running"));
}

#[needs(postgres)]
#[tokio::test]
async fn progress_at_other_hosts_is_heard() {
    let cluster = Cluster::new().await;
    let one = cluster.node("one").await;
    let mut options = Options::new("flood");
    options.limits = Limits {
        guest_time: std::time::Duration::from_millis(500),
        ..options.limits
    };
    let config = Config {
        name: "other".to_owned(),
        ..postgres::config(&cluster.url)
    };
    let other = cluster
        .node_of(config, |builder| {
            builder.plugin(guest("progress_flood"), options)
        })
        .await;
    let mut stream = Stream::open(&one.server, "a", "").await;
    let call = json!({ "tool": "t", "workspace": "agent" });
    assert_eq!(other.server.put("a", "1", call).await.0, 200);
    let is_progress = |event: &Event| event.is("progress", "call", "1");
    let progress = stream.until(is_progress).await.pop().unwrap();
    assert_eq!(progress.data["done"], 1e308);
}

#[needs(postgres)]
#[tokio::test]
async fn a_reader_hears_that_its_host_was_cut_off_and_follows_again() {
    // The connections of a role, but for this one.
    const CUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity          WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let cluster = Cluster::new().await;
    let [one, other] = [cluster.node("one").await, cluster.node("other").await];
    let mut stream = Stream::open(&one.server, "a", "").await;
    other.server.put("a", "1", at_agent("true")).await;
    stream.until(ends("1")).await;
    // The host listens now, so a chat that is read from here on is told of all calls.
    let mut stream = Stream::open(&one.server, "b", "").await;
    other.server.put("b", "1", at_agent("true")).await;
    let events = stream.until(ends("1")).await;
    assert!(
        events.iter().all(|event| event.name != "reset"),
        "{events:?}"
    );
    let database = postgres::connect(&cluster.url).await;
    database.query(CUT, &[]).await.unwrap();
    stream
        .until(|event| event.is("reset", "reason", "cut_off"))
        .await;
    // The other host may still have connections that were cut.
    while other.server.put("b", "2", at_agent("true")).await.0 != 200 {}
    stream.until(ends("2")).await;
}
