//! Clients hear when the tools change, and how calls go on.

use toolhost::config::{Config, follow};
use toolhost_call::events::Event;

use super::*;
use crate::guest::guest;
use crate::harness::until;

const CHANGED: &str = "notifications/tools/list_changed";

/// A configuration without plugins in a directory, and what adds one to it.
struct Configured(TempDir);

impl Configured {
    fn new() -> Self {
        let configured = Self(tempfile::tempdir().unwrap());
        std::fs::write(configured.path("guest.wasm"), guest("well_behaved")).unwrap();
        configured.write("[plugins.t]\ncomponent = 'guest.wasm'\nenabled = false\n");
        configured
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, text: &str) {
        std::fs::write(self.path("new"), text).unwrap();
        std::fs::rename(self.path("new"), self.path("toolhost.toml")).unwrap();
    }

    fn turn_on(&self) {
        self.write("[plugins.t]\ncomponent = 'guest.wasm'\n");
    }
}

fn has_t(listed: &Value) -> bool {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().any(|tool| tool["name"] == "t")
}

#[tokio::test]
async fn a_session_of_pipes_is_told() {
    let configured = Configured::new();
    let file = configured.path("toolhost.toml");
    let mut client = Pipes::initialized(&["--config", file.to_str().unwrap()]).await;
    assert!(!has_t(&client.request("tools/list", json!({})).await));
    configured.turn_on();
    client.notification(CHANGED).await;
    assert!(has_t(&client.request("tools/list", json!({})).await));
}

#[tokio::test]
async fn a_subscription_over_pipes_is_told() {
    let configured = Configured::new();
    let file = configured.path("toolhost.toml");
    let mut client = Pipes::start(&["--config", file.to_str().unwrap()]);
    let filter =
        json!({ "notifications": { "toolsListChanged": true, "promptsListChanged": true } });
    let id = client
        .begin("subscriptions/listen", with_meta(filter, json!({})))
        .await;
    let taken = client
        .notification("notifications/subscriptions/acknowledged")
        .await;
    assert_eq!(
        taken["params"]["notifications"],
        json!({ "toolsListChanged": true }),
        "{taken}"
    );
    configured.turn_on();
    let told = client.notification(CHANGED).await;
    assert_eq!(
        told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id,
        "{told}"
    );
    // At the end, it is told that nothing follows.
    let rest = client.end().await;
    assert!(rest.iter().any(|message| message["id"] == id), "{rest:?}");
}

#[tokio::test]
async fn sessions_and_subscriptions_of_http_are_told_and_end_with_the_server() {
    let configured = Configured::new();
    let read = || Config::read(&configured.path("toolhost.toml")).unwrap();
    let set = read().plugins().unwrap();
    let http = Http::of(Setup::with(|builder| builder.configured(set)).await).await;
    let _watcher = follow(read(), http.host().clone()).unwrap();
    let session = http.session().await;
    let stream = http
        .server
        .request(reqwest::Method::GET, "/mcp")
        .header("mcp-session-id", &session)
        .header("accept", "text/event-stream")
        .send();
    let mut stream = Events::of(stream.await.unwrap());
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let mut subscription = http.send("subscriptions/listen", filter, json!({})).await;
    let taken = subscription.next().await.unwrap();
    assert_eq!(taken["method"], "notifications/subscriptions/acknowledged");
    configured.turn_on();
    assert_eq!(stream.next().await.unwrap()["method"], CHANGED);
    assert_eq!(subscription.next().await.unwrap()["method"], CHANGED);
    assert!(has_t(&http.ask(&session, "tools/list", json!({})).await));
    assert!(has_t(
        &http.request("tools/list", json!({}), json!({})).await
    ));

    let stopped = tokio::spawn(http.server.stop());
    let last = subscription.reply(1).await;
    assert!(last.get("result").is_some(), "{last}");
    assert_eq!(subscription.next().await, None);
    assert_eq!(stream.next().await, None);
    stopped.await.unwrap();
}

#[tokio::test]
async fn progress_of_a_call_is_passed_on_and_always_grows() {
    let http = Http::start().await;
    let command = "echo $$ > pid; until [ -e go ]; do sleep 0.01; done";
    let meta =
        json!({ "progressToken": "p", "io.toolhost/call": "call_1", "io.toolhost/chat": "c" });
    let call = http.send("tools/call", execute(command), meta);
    let told = async {
        pid(http.setup.root().join("pid")).await;
        let publish = |call: &str, done: f64| {
            let event = Event::Progress {
                call: call.parse().unwrap(),
                done,
                total: Some(4.0),
                message: Some("a quarter".into()),
            };
            http.host().events().publish(&"c".parse().unwrap(), event);
        };
        publish("call_2", 3.0);
        publish("call_1", 1.0);
        publish("call_1", 1.0);
    };
    let (mut stream, ()) = tokio::join!(call, told);
    let told = stream.next().await.unwrap();
    assert_eq!(told["method"], "notifications/progress");
    assert_eq!(
        told["params"],
        json!({ "progressToken": "p", "progress": 1.0, "total": 4.0, "message": "a quarter" })
    );
    // Then the host says that the call still runs, as the tool says nothing more.
    let told = stream.next().await.unwrap();
    let progress = told["params"]["progress"].as_f64().unwrap();
    assert!(1.0 < progress && progress < 1.1, "{told}");
    assert!(
        told["params"]["message"]
            .as_str()
            .unwrap()
            .starts_with("running for "),
        "{told}"
    );
    std::fs::write(http.setup.root().join("go"), "").unwrap();
    let reply = stream.reply(1).await;
    assert_eq!(reply["result"]["isError"], false, "{reply}");
    until("no call runs", || {
        (http.host().running_calls() == 0).then_some(())
    })
    .await;
}
