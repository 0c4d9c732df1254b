//! Webhooks: every notice arrives, signed, in order for a process, also if the server is killed and the receiver fails.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use nix::sys::signal::Signal;
use sha2::Sha256;

use super::*;
use crate::harness::serving::{Serving, with_state};
use crate::harness::{TOKEN, until};

const SECRET: &str = "a secret of at least 16 bytes";

/// What a receiver has got.
#[derive(Debug, Default)]
struct Got {
    /// How often it was asked.
    attempts: usize,
    /// The bodies that it took, in order.
    taken: Vec<Value>,
}

/// A receiver, and the rule by which it answers the attempts.
#[derive(Clone)]
struct Receiver {
    got: Arc<Mutex<Got>>,
    answers: fn(usize) -> StatusCode,
    url: String,
}

impl Receiver {
    async fn start(answers: fn(usize) -> StatusCode) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receiver = Self {
            got: Arc::default(),
            answers,
            url: format!("http://{}/hook", listener.local_addr().unwrap()),
        };
        let routes = Router::new().route("/hook", post(take));
        let routes = routes.with_state(receiver.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        receiver
    }

    fn taken(&self) -> Vec<Value> {
        self.got.lock().unwrap().taken.clone()
    }
}

async fn take(State(receiver): State<Receiver>, headers: HeaderMap, body: String) -> StatusCode {
    let text = |name: &str| headers[name].to_str().unwrap();
    let signed = format!(
        "{}.{}.{body}",
        text("webhook-id"),
        text("webhook-timestamp")
    );
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(signed.as_bytes());
    let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    assert_eq!(text("webhook-signature"), expected);
    assert_eq!(text("content-type"), "application/json");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["data"]["id"], text("webhook-id"));
    let mut got = receiver.got.lock().unwrap();
    got.attempts += 1;
    let status = (receiver.answers)(got.attempts);
    if status.is_success() {
        got.taken.push(body);
    }
    status
}

/// Starts a server with a webhook, which keeps its processes.
fn serve(base: &Path, url: &str, more: &str) -> Serving {
    let (work, secret) = (base.join("work"), base.join("secret"));
    std::fs::create_dir_all(&work).unwrap();
    std::fs::write(&secret, SECRET).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&secret, private).unwrap();
    let config = base.join("toolhost.toml");
    let text = format!("[webhooks.chat]\nurl = '{url}'\nsecret_file = 'secret'\n{more}");
    std::fs::write(&config, text).unwrap();
    let mut command = with_state(&work, &base.join("state"));
    command.env("TOOLHOST_TOKEN", TOKEN);
    command.arg("--config").arg(&config);
    command.args(["serve", "--keep"]);
    Serving::of(command)
}

async fn put(serving: &Serving, chat: &str, call: &str, body: &Value) -> Value {
    let path = format!("/v1/chats/{chat}/calls/{call}");
    let request = serving.request(Method::PUT, &path).json(body);
    let response = request.send().await.unwrap();
    let status = response.status();
    let reply: Value = response.json().await.unwrap();
    assert_eq!(status, 200, "{reply}");
    reply
}

/// Starts a command in the background, with a notice about its output, and another one about its end. Returns both.
async fn start(serving: &Serving, chat: &str, call: &str, command: &str) -> [String; 2] {
    let mut body = execute(command);
    body["arguments"]["run_in_background"] = true.into();
    body["arguments"]["notify"] = json!({ "on": "output", "pattern": "ready" });
    let reply = put(serving, chat, call, &body).await;
    let process = reply["processes"][0].as_str().unwrap();
    let path = format!("/v1/chats/{chat}/processes/{process}/notices");
    let asked = serving.request(Method::POST, &path);
    let asked = asked.json(&json!({ "on": "exit" })).send().await.unwrap();
    assert_eq!(asked.status(), 201);
    let asked: Value = asked.json().await.unwrap();
    [&reply["structured"]["notice"], &asked["id"]].map(|id| id.as_str().unwrap().to_owned())
}

/// A hundred processes of ten chats. Each is ready and ends in one of eleven rounds; the server is killed between the rounds, and the
/// receiver refuses every other delivery.
#[tokio::test(flavor = "multi_thread")]
async fn every_notice_arrives_though_the_server_is_killed_and_the_receiver_fails() {
    const KILLS: usize = 10;
    let receiver = Receiver::start(|attempt| match attempt % 2 {
        0 => StatusCode::NO_CONTENT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    });
    let receiver = receiver.await;
    let base = tempfile::tempdir().unwrap();
    let mut serving = serve(base.path(), &receiver.url, "");
    let work = base.path().join("work");
    // Each process reads two lines from a pipe, which the test holds open at both ends, so that no line is lost.
    let pipe = |number: usize| {
        let path = work.join(format!("pipe-{number}"));
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        File::options().read(true).write(true).open(path).unwrap()
    };
    let mut pipes: Vec<_> = (0..100).map(pipe).collect();
    let mut release = |round: usize| {
        for pipe in pipes.iter_mut().skip(round).step_by(KILLS + 1) {
            writeln!(pipe).unwrap();
        }
    };
    let mut asked = HashMap::new();
    for number in 0..100 {
        let round = number % (KILLS + 1);
        let command =
            format!("exec 3<pipe-{number}; read _ <&3; echo ready; read _ <&3; exit {round}");
        let chat = format!("chat-{}", number / 10);
        let ids = start(&serving, &chat, &format!("call-{number}"), &command).await;
        for (id, event) in ids.into_iter().zip(["matched", "exited"]) {
            asked.insert(id, (event, round));
        }
    }
    assert_eq!(asked.len(), 200, "each notice has an id of its own");
    for round in 0..=KILLS {
        release(round);
        let matched = || {
            let taken = receiver.taken();
            let of_round = taken.iter().filter(|body| {
                let id = body["data"]["id"].as_str().unwrap();
                asked[id] == ("matched", round)
            });
            (of_round.count() > 0).then_some(())
        };
        until("something of the round was delivered", matched).await;
        release(round);
        if round < KILLS {
            serving.signal(Signal::SIGKILL);
            serving = serve(base.path(), &receiver.url, "");
        }
    }
    until("all notices were delivered", || {
        let taken = receiver.taken();
        let ids: std::collections::HashSet<_> = taken
            .iter()
            .map(|body| body["data"]["id"].as_str())
            .collect();
        (ids.len() == asked.len()).then_some(())
    })
    .await;
    let mut heard = BTreeMap::<_, Vec<_>>::new();
    for body in receiver.taken() {
        let data = &body["data"];
        let (event, round) = asked[data["id"].as_str().unwrap()];
        assert_eq!(body["type"], format!("process.{event}"), "{body}");
        if event == "exited" {
            assert_eq!(data["told"]["exit_code"], round, "{body}");
        }
        let process = data["process"].as_str().unwrap().to_owned();
        heard.entry(process).or_default().push(event);
    }
    assert_eq!(heard.len(), 100);
    for (process, mut events) in heard {
        // What was delivered twice was delivered before the next one.
        events.dedup();
        assert_eq!(events, ["matched", "exited"], "{process}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_wants_no_more_gets_no_more() {
    let receiver = Receiver::start(|_| StatusCode::GONE).await;
    let base = tempfile::tempdir().unwrap();
    let serving = serve(base.path(), &receiver.url, "");
    start(&serving, "a", "1", "echo ready").await;
    until("both notices are given up", || {
        (receiver.got.lock().unwrap().attempts == 2).then_some(())
    })
    .await;
    let given_up = async || {
        let listed = serving.request(Method::GET, "/v1/chats/a/notices");
        let listed: Value = listed.send().await.unwrap().json().await.unwrap();
        let notices = listed["notices"].as_array().unwrap().clone();
        notices
            .iter()
            .all(|notice| notice["delivery"] == "given_up")
    };
    while !given_up().await {
        crate::harness::a_moment().await;
    }
    // They are counted a moment later.
    let metrics = async || {
        let metrics = serving.request(Method::GET, "/metrics").send().await;
        metrics.unwrap().text().await.unwrap()
    };
    for line in [
        "toolhost_notices_total{event=\"matched\"} 1",
        "toolhost_notices_total{event=\"exited\"} 1",
        "toolhost_notice_deliveries_total{result=\"given_up\"} 2",
    ] {
        while !metrics().await.contains(line) {
            crate::harness::a_moment().await;
        }
    }
}

/// A receiver that is away does not let what waits for it grow without bound, and a webhook that is gone leaves nothing undelivered.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_delivered_is_bounded_and_ends_with_its_webhook() {
    let receiver = Receiver::start(|_| StatusCode::SERVICE_UNAVAILABLE).await;
    let base = tempfile::tempdir().unwrap();
    let mut serving = serve(base.path(), &receiver.url, "");
    let reply = put(&serving, "a", "1", &execute("true")).await;
    let process = reply["processes"][0].as_str().unwrap();
    let path = format!("/v1/chats/a/processes/{process}/notices");
    let ask = async || {
        let asked = serving.request(Method::POST, &path);
        let asked = asked.json(&json!({ "on": "exit" })).send().await;
        asked.unwrap().status()
    };
    for _ in 0..64 {
        assert_eq!(ask().await, 201);
    }
    assert_eq!(ask().await, 429);
    serving.signal(Signal::SIGKILL);
    let config = base.path().join("toolhost.toml");
    std::fs::write(&config, "").unwrap();
    let mut command = with_state(&base.path().join("work"), &base.path().join("state"));
    command.env("TOOLHOST_TOKEN", TOKEN);
    command.arg("--config").arg(&config);
    command.args(["serve", "--keep"]);
    let serving = Serving::of(command);
    loop {
        let listed = serving.request(Method::GET, "/v1/chats/a/notices");
        let listed: Value = listed.send().await.unwrap().json().await.unwrap();
        let notices = listed["notices"].as_array().unwrap();
        assert_eq!(notices.len(), 64);
        if notices
            .iter()
            .all(|notice| notice["delivery"] == "given_up")
        {
            break;
        }
        crate::harness::a_moment().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_without_a_webhook_has_nothing_delivered() {
    let receiver = Receiver::start(|_| StatusCode::OK).await;
    let base = tempfile::tempdir().unwrap();
    let serving = serve(base.path(), &receiver.url, "tokens = ['another']\n");
    start(&serving, "a", "1", "echo ready").await;
    loop {
        let listed = serving.request(Method::GET, "/v1/chats/a/notices");
        let listed: Value = listed.send().await.unwrap().json().await.unwrap();
        let notices = listed["notices"].as_array().unwrap();
        if notices.iter().all(|notice| notice["told"].is_object()) {
            assert!(
                notices
                    .iter()
                    .all(|notice| notice.get("delivery").is_none())
            );
            break;
        }
        crate::harness::a_moment().await;
    }
    assert_eq!(receiver.got.lock().unwrap().attempts, 0);
}

#[test]
fn a_secret_that_others_can_read_keeps_the_server_from_starting() {
    let base = tempfile::tempdir().unwrap();
    let config = base.path().join("toolhost.toml");
    let text = "[webhooks.chat]\nurl = 'http://127.0.0.1:9/'\nsecret_file = 'secret'\n";
    std::fs::write(&config, text).unwrap();
    let secret = base.path().join("secret");
    std::fs::write(&secret, SECRET).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&secret, open).unwrap();
    let work = base.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let mut command = with_state(&work, &base.path().join("state"));
    command.arg("--config").arg(&config);
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("webhooks.chat") && said.contains("secret"),
        "{said}"
    );
}
