//! Hosts that are lost, and those that come back.

use std::time::Duration;

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
