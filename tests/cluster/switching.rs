//! Clients that switch hosts.

use std::time::Duration;

use super::*;

/// The table of the ledger, with the requests of each test at three hosts in turns.
#[needs(postgres)]
#[tokio::test]
async fn the_table_of_the_ledger_holds_whichever_host_is_asked() {
    if !elsewhere::is_elsewhere() {
        let passed = crate::workspace::kinds::passed(cluster::KIND, &["http::once::"]).await;
        assert!(passed >= 11, "{passed}");
    }
}

#[needs(postgres)]
#[tokio::test]
async fn a_chat_keeps_its_workspace_at_other_hosts() {
    let cluster = Cluster::new().await;
    let [one, other] = [cluster.node("one").await, cluster.node("other").await];
    let (status, ran) = one
        .server
        .put("a", "1", at_agent("pwd; echo x >> ran"))
        .await;
    assert_eq!(status, 200, "{ran}");
    // The other host was there before, and did not know the chat.
    let (status, ran) = other.server.put("a", "2", here("pwd; echo x >> ran")).await;
    assert_eq!(status, 200, "{ran}");
    let root = cluster.root.path().canonicalize().unwrap();
    assert_eq!(ran["structured"]["output"], format!("{}\n", root.display()));
    assert_eq!(cluster.lines("ran"), 2);
    // A host that starts later knows it as well.
    let later = cluster.node("later").await;
    assert_eq!(
        later.host.workspace_of(&"a".parse().unwrap()).as_str(),
        "agent"
    );
    let (status, repeated) = later.server.put("a", "2", here("pwd; echo x >> ran")).await;
    assert_eq!((status, repeated), (200, ran));
    let (status, refused) = other.server.put("a", "1", here("another command")).await;
    assert_eq!((status, &refused["code"]), (409, &json!("input_mismatch")));
    assert_eq!(cluster.lines("ran"), 2);
}

#[needs(postgres)]
#[tokio::test]
async fn the_end_of_a_chat_ends_what_runs_at_other_hosts() {
    let cluster = Cluster::new().await;
    let [one, other] = [cluster.node("one").await, cluster.node("other").await];
    let call = one
        .server
        .put("a", "1", at_agent("echo x > begun; exec sleep 1000"));
    let ending = async {
        cluster.begun("begun").await;
        let ended = other.server.request(Method::DELETE, "/v1/chats/a");
        ended.send().await.unwrap().status().as_u16()
    };
    let ((status, body), ended) = tokio::join!(call, ending);
    assert_eq!(
        (status, &body["state"], ended),
        (200, &json!("cancelled"), 200)
    );
}

/// Both hosts may find that the call is new, and only one begins it.
#[needs(postgres)]
#[tokio::test]
async fn a_call_that_two_hosts_get_at_once_is_cancelled_at_either() {
    let cluster = Cluster::new().await;
    let [one, other] = [cluster.node("one").await, cluster.node("other").await];
    for round in 0..10 {
        let id = format!("call-{round}");
        let body = at_agent("echo x >> begun; exec sleep 1000");
        let cancelling = async {
            until("the command runs", || {
                (cluster.lines("begun") == round + 1).then_some(())
            })
            .await;
            let node = if round % 2 == 0 { &one } else { &other };
            let path = format!("/v1/chats/a/calls/{id}");
            let cancelled = node.server.request(Method::DELETE, &path).send().await;
            cancelled.unwrap().status().as_u16()
        };
        let (first, second, cancelled) = tokio::join!(
            one.server.put("a", &id, body.clone()),
            other.server.put("a", &id, body.clone()),
            cancelling,
        );
        assert_eq!(cancelled, 200);
        for (status, answer) in [first, second] {
            // A repeat that came to wait after the cancellation is refused.
            let is_cancelled = status == 200 && answer["state"] == "cancelled"
                || status == 409 && answer["code"] == "cancelled";
            assert!(is_cancelled, "{status} {answer}");
        }
        assert_eq!(cluster.lines("begun"), round + 1);
    }
}

#[needs(postgres)]
#[tokio::test]
async fn a_workspace_that_another_host_has_just_made_is_there() {
    // Without a notification, as if it were still under way.
    const MADE: &str = "INSERT INTO toolhost.workspaces \
         SELECT 'copy', spec, principal, created, used, removed FROM toolhost.workspaces WHERE name = 'agent'";
    let mut cluster = Cluster::new().await;
    cluster.agents.timing.patience = Duration::from_millis(100);
    let one = cluster.node("one").await;
    let (status, ran) = one.server.put("a", "1", at_agent("true")).await;
    assert_eq!(status, 200, "{ran}");
    let database = postgres::connect(&cluster.url).await;
    let get = async |name: &str| {
        let path = format!("/v1/workspaces/{name}");
        let answer = one.server.request(Method::GET, &path).send().await.unwrap();
        (
            answer.status().as_u16(),
            answer.json::<Value>().await.unwrap(),
        )
    };
    let (status, missing) = get("copy").await;
    assert_eq!(
        (status, &missing["code"]),
        (404, &json!("unknown_workspace"))
    );
    assert_eq!(database.execute(MADE, &[]).await.unwrap(), 1);
    // A call that names it does not make another one in its place.
    let call =
        json!({ "tool": "execute", "workspace": "copy", "arguments": { "command": "true" } });
    let (_, answer) = one.server.put("b", "1", call).await;
    assert_ne!(answer["code"], "no_provider", "{answer}");
    let (status, made) = get("copy").await;
    assert_eq!(
        (status, &made["provider"]),
        (200, &json!("agent")),
        "{made}"
    );
}
