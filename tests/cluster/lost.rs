//! Hosts that are lost, and those that come back.

use std::path::Path;
use std::time::Duration;

use toolhost_store::Store as _;

use super::*;
use crate::harness::proxy::{Fault, Proxy};

/// Lets the lease of a host run out.
async fn expire(cluster: &Cluster, node: &Node) {
    postgres::expire(&cluster.url, node.store.leases().host).await;
}

/// A host with a heartbeat every 0.4 s.
fn lively(cluster: &Cluster) -> Config {
    Config {
        lease: Duration::from_secs(2),
        ..postgres::config(&cluster.url)
    }
}

#[needs(postgres)]
#[tokio::test]
async fn a_caller_that_waits_elsewhere_hears_that_the_host_was_lost() {
    let cluster = Cluster::with(false).await;
    let one = cluster.node("one").await;
    let other = cluster.node_with(lively(&cluster)).await;
    let body = at_agent("echo x >> ran; while ! [ -e go ]; do sleep 0.05; done");
    let first = one.server.put("a", "1", body.clone());
    let rest = async {
        cluster.begun("ran").await;
        let repeat = other.server.put("a", "1", body.clone());
        let ((status, repeated), ()) = tokio::join!(repeat, expire(&cluster, &one));
        assert_eq!(
            (status, &repeated["state"]),
            (200, &json!("unknown")),
            "{repeated}"
        );
        // The host that was lost still runs it, and knows better than to say so.
        let path = "/v1/chats/a/calls/1";
        let found = one.server.request(Method::GET, path).send().await;
        let found: Value = found.unwrap().json().await.unwrap();
        assert_eq!(found, repeated);
        std::fs::write(cluster.root.path().join("go"), "").unwrap();
        repeated
    };
    // The callers at both hosts hear the same, whatever the first host hears of its command.
    let ((status, ended), repeated) = tokio::join!(first, rest);
    assert_eq!(
        (status, &ended["state"]),
        (200, &json!("unknown")),
        "{ended}"
    );
    assert_eq!(ended["content"], repeated["content"]);
    assert_eq!(cluster.lines("ran"), 1);
}

/// The other host finds the process by its key, and waits for its end.
#[needs(postgres)]
#[tokio::test]
async fn a_call_is_taken_up_again_by_the_host_at_which_somebody_waits() {
    let cluster = Cluster::new().await;
    let one = cluster.node("one").await;
    let other = cluster.node_with(lively(&cluster)).await;
    // Both hosts know that the agent remembers starts once they have its workspace open.
    for (number, node) in [&one, &other].iter().enumerate() {
        let (status, _) = node
            .server
            .put("a", &number.to_string(), at_agent("true"))
            .await;
        assert_eq!(status, 200);
    }
    let body = at_agent("echo x >> ran; while ! [ -e go ]; do sleep 0.05; done; echo done");
    let first = one.server.put("a", "call", body.clone());
    let rest = async {
        cluster.begun("ran").await;
        let before = other.store.leases().taken_over;
        let repeat = other.server.put("a", "call", body.clone());
        let losing = async {
            expire(&cluster, &one).await;
            until("the call is taken over", || {
                (other.store.leases().taken_over > before).then_some(())
            })
            .await;
            std::fs::write(cluster.root.path().join("go"), "").unwrap();
        };
        tokio::join!(repeat, losing).0
    };
    let ((status, ended), (other_status, repeated)) = tokio::join!(first, rest);
    assert_eq!((status, other_status), (200, 200), "{ended} {repeated}");
    assert_eq!(repeated["structured"]["output"], "done\n", "{repeated}");
    assert_eq!(ended, repeated);
    assert_eq!(cluster.lines("ran"), 1);
}

/// A start is found again by its key. A signal has none.
#[needs(postgres)]
#[tokio::test]
async fn a_call_that_is_taken_up_again_sends_no_signal_twice() {
    let cluster = Cluster::new().await;
    let proxy = Proxy::to(&cluster.agent.url).await;
    let through = elsewhere::agents("agent", &proxy.url);
    let one = cluster
        .node_of(postgres::config(&cluster.url), |builder| {
            builder.agents(through)
        })
        .await;
    let other = cluster.node_with(lively(&cluster)).await;
    let mut target = at_agent(
        "trap 'echo x >> first' USR1; trap 'echo y >> second' USR2; echo x > ready; while :; do sleep 0.05; done",
    );
    target["arguments"]["run_in_background"] = json!(true);
    let (status, started) = one.server.put("a", "start", target).await;
    assert_eq!(status, 200, "{started}");
    let process = &started["structured"]["background_process_id"];
    cluster.begun("ready").await;
    let signal = |name: &str| {
        let arguments = json!({ "process_id": process, "signal": name });
        json!({ "tool": "process_signal", "arguments": arguments })
    };
    // Both hosts know that the agent remembers starts once they have its workspace open.
    let (status, _) = other.server.put("a", "look", at_agent("true")).await;
    assert_eq!(status, 200);
    // The first host gets no answer of the agent, which has sent the signal.
    proxy.inject("/signal ", Fault::Mute);
    let first = one.server.put("a", "signal", signal("user1"));
    let rest = async {
        cluster.begun("first").await;
        let repeat = other.server.put("a", "signal", signal("user1"));
        let (repeated, ()) = tokio::join!(repeat, expire(&cluster, &one));
        proxy.cut();
        repeated
    };
    let ((status, ended), (other_status, repeated)) = tokio::join!(first, rest);
    assert_eq!((status, other_status), (200, 200), "{ended} {repeated}");
    let error = repeated["structured"]["error"].as_str();
    assert!(
        error.is_some_and(|error| error.contains("does not send it again")),
        "{repeated}"
    );
    assert_eq!(ended, repeated);
    // The shell handles the signals that it got in the order of their numbers.
    let (status, sent) = other.server.put("a", "last", signal("user2")).await;
    assert_eq!(
        (status, &sent["structured"]["success"]),
        (200, &json!(true))
    );
    cluster.begun("second").await;
    assert_eq!(cluster.lines("first"), 1);
    let ended = other.server.request(Method::DELETE, "/v1/chats/a").send();
    assert_eq!(ended.await.unwrap().status(), 200);
}

#[needs(postgres)]
#[tokio::test]
async fn a_host_that_shuts_down_keeps_no_caller_waiting() {
    let cluster = Cluster::new().await;
    let one = cluster.node("one").await;
    let other = cluster.node_with(lively(&cluster)).await;
    let body = at_agent("echo x >> ran; exec sleep 1000");
    let first = one.server.put("a", "1", body.clone());
    let rest = async {
        cluster.begun("ran").await;
        let repeat = other.server.put("a", "1", body.clone());
        let (repeated, _) = tokio::join!(repeat, one.host.shutdown());
        repeated
    };
    let ((status, ended), (other_status, repeated)) = tokio::join!(first, rest);
    assert_eq!((status, other_status), (200, 200));
    assert_eq!(ended, repeated);
    assert_eq!(cluster.lines("ran"), 1);
}

/// Between the loss of a lease and its return, a host refuses calls, and then takes them again.
#[needs(postgres)]
#[tokio::test]
async fn a_host_that_comes_back_takes_calls_again() {
    let cluster = Cluster::new().await;
    let one = cluster.node_with(lively(&cluster)).await;
    let (status, _) = one.server.put("a", "1", at_agent("echo x >> ran")).await;
    assert_eq!(status, 200);
    let before = one.store.leases().host;
    expire(&cluster, &one).await;
    until("it has another lease", || {
        (one.store.leases().host != before).then_some(())
    })
    .await;
    let begun = std::time::Instant::now();
    loop {
        let (status, body) = one.server.put("a", "2", at_agent("echo x >> ran")).await;
        match status {
            200 => break,
            503 => assert_eq!(body["code"], "unrecorded"),
            _ => panic!("{status} {body}"),
        }
        assert!(begun.elapsed() < PATIENCE);
    }
    assert_eq!(cluster.lines("ran"), 2);
}

/// Cancels a call at a host, and returns the status and the outcome.
async fn cancel(node: &Node, path: &str) -> (u16, Value) {
    let cancelled = node.server.request(Method::DELETE, path).send();
    let cancelled = cancelled.await.unwrap();
    (cancelled.status().as_u16(), cancelled.json().await.unwrap())
}

/// Returns whether the command that wrote its process id to a file of the agent still runs.
fn runs(cluster: &Cluster, file: &str) -> bool {
    let id = std::fs::read_to_string(cluster.root.path().join(file)).unwrap();
    Path::new("/proc").join(id.trim()).exists()
}

/// The command runs at the agent, which the other host reaches, and the first one no longer.
#[needs(postgres)]
#[tokio::test]
async fn a_cancellation_ends_the_command_of_a_host_that_is_lost() {
    let cluster = Cluster::new().await;
    let proxy = Proxy::to(&cluster.agent.url).await;
    let through = elsewhere::agents("agent", &proxy.url);
    let one = cluster
        .node_of(postgres::config(&cluster.url), |builder| {
            builder.agents(through)
        })
        .await;
    let other = cluster.node_with(lively(&cluster)).await;
    let first = one
        .server
        .put("a", "1", at_agent("echo $$ > ran; exec sleep 1000"));
    let rest = async {
        cluster.begun("ran").await;
        proxy.freeze_all();
        let cancelling = cancel(&other, "/v1/chats/a/calls/1");
        let (cancelled, ()) = tokio::join!(cancelling, expire(&cluster, &one));
        let runs = runs(&cluster, "ran");
        proxy.thaw();
        (cancelled, runs)
    };
    let (_, ((status, cancelled), runs)) = tokio::join!(first, rest);
    assert_eq!(
        (status, &cancelled["state"]),
        (200, &json!("unknown")),
        "{cancelled}"
    );
    assert!(!runs, "{cancelled}");
}

/// The outcome was unknown before, and so nobody waits for the command.
#[needs(postgres)]
#[tokio::test]
async fn a_cancellation_ends_what_a_call_of_unknown_outcome_left() {
    let cluster = Cluster::new().await;
    let proxy = Proxy::to(&cluster.agent.url).await;
    let through = elsewhere::agents("agent", &proxy.url);
    let one = cluster.node("one").await;
    let other = cluster
        .node_of(lively(&cluster), |builder| builder.agents(through))
        .await;
    let kept = json!({
        "tool": "execute", "workspace": "agent",
        "arguments": { "command": "echo $$ > kept; exec sleep 1000", "run_in_background": true },
    });
    let (status, _) = one.server.put("a", "kept", kept).await;
    assert_eq!(status, 200);
    let first = one
        .server
        .put("a", "1", at_agent("echo $$ > ran; exec sleep 1000"));
    let rest = async {
        cluster.begun("ran").await;
        expire(&cluster, &one).await;
        let path = "/v1/chats/a/calls/1";
        until("the call is taken over", || {
            (other.store.leases().taken_over > 0).then_some(())
        })
        .await;
        let told = other
            .store
            .settled("a".parse().unwrap(), "1".parse().unwrap());
        told.await.unwrap();
        assert!(runs(&cluster, "ran"));
        // An agent that cannot be reached is no end of the command.
        proxy.refuse().await;
        let (status, refused) = cancel(&other, path).await;
        assert_eq!(
            (status, &refused["code"]),
            (503, &json!("workspace_unavailable")),
            "{refused}"
        );
        assert!(runs(&cluster, "ran"));
        proxy.accept().await;
        loop {
            match cancel(&other, path).await {
                (200, cancelled) => break cancelled,
                (status, refused) => assert_eq!(status, 503, "{refused}"),
            }
        }
    };
    let (_, cancelled) = tokio::join!(first, rest);
    assert_eq!(cancelled["state"], "unknown", "{cancelled}");
    assert!(!runs(&cluster, "ran"), "{cancelled}");
    assert!(runs(&cluster, "kept"), "it is in the background");
}
