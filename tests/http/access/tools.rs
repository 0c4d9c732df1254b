//! Tokens that are good for some tools only: what others did is not there for them.

use reqwest::Response;
use toolhost_http::access::{Principal, Scope, Tokens};

use super::*;
use crate::harness::until_dead;

const LISTER: &str = "token-of-a-lister";
const RUNNER: &str = "token-of-a-runner";
const SIGNALLER: &str = "token-of-a-signaller";

fn tokens() -> Tokens {
    let token = |text: &str| Token::new(text).unwrap();
    let of = |name: &str, tool: &str| {
        let tools = Some([tool.to_owned()].into());
        Principal::new(name, [Scope::Call], None, tools)
    };
    Tokens::new([
        (token(TOKEN), Principal::unbounded("all")),
        (token(LISTER), of("lister", "process_list")),
        (token(RUNNER), of("runner", "execute")),
        (token(SIGNALLER), of("signaller", "process_signal")),
    ])
}

/// Reads a stream up to where the call of this id has ended.
async fn heard(mut stream: Response, call: &str) -> String {
    let mut text = String::new();
    let end = |line: &str| line.contains(&format!("\"call\":\"{call}\"")) && line.contains("fini");
    while !text.lines().any(end) {
        let chunk = stream.chunk().await.unwrap().expect("the stream ended");
        text.push_str(&String::from_utf8_lossy(&chunk));
    }
    text
}

/// Metrics are about all tools and chats.
#[tokio::test]
async fn bounded_tokens_get_no_metrics() {
    let setup = Setup::new().await;
    let token = |text: &str| Token::new(text).unwrap();
    let of_chats = Principal::new("chats", [Scope::Read], Some("a-".into()), None);
    let reader = Principal::new("reader", [Scope::Read], None, None);
    let tools = Some(["execute".to_owned()].into());
    let of_tools = Principal::new("tools", [Scope::Call, Scope::Read], None, tools);
    let tokens = Tokens::new([
        (token(TOKEN), reader),
        (token(LISTER), of_chats),
        (token(RUNNER), of_tools),
    ]);
    let server = Server::with_tokens(setup.host.clone(), tokens).await;
    for (token, expected) in [(TOKEN, 200), (LISTER, 403), (RUNNER, 403)] {
        let url = format!("{}/metrics", server.url);
        let response = server
            .client
            .get(url)
            .bearer_auth(token)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), expected);
        let text = response.text().await.unwrap();
        assert_eq!(text.contains("plugin=\"shell\""), expected == 200, "{text}");
        assert_eq!(text.contains("bounded_token"), expected == 403, "{text}");
        // The count of processes is about all chats as well.
        let health = server.client.get(format!("{}/healthz", server.url));
        let health = health.bearer_auth(token).send().await.unwrap();
        let health: Value = health.json().await.unwrap();
        assert_eq!(
            health.get("processes").is_some(),
            expected == 200,
            "{health}"
        );
        assert!(health["version"].is_string());
    }
    server.stop().await;
}

#[tokio::test]
async fn what_other_tools_did_is_not_there() {
    let setup = Setup::new().await;
    let server = Server::with_tokens(setup.host.clone(), tokens()).await;
    let ask = |token: &str, method: Method, path: &str| {
        let url = format!("{}/v1/chats/a{path}", server.url);
        server.client.request(method, url).bearer_auth(token)
    };
    let get = async |token: &str, path: &str| {
        let response = ask(token, Method::GET, path).send().await.unwrap();
        (
            response.status().as_u16(),
            response.json::<Value>().await.unwrap(),
        )
    };
    let streams = [LISTER, RUNNER, TOKEN].map(|token| ask(token, Method::GET, "/events").send());
    let streams = futures_util::future::try_join_all(streams).await.unwrap();
    // Of a call that runs, of one that has ended, and of the background.
    let secret = "echo secret; echo $$ > pid; exec sleep 1000";
    let arguments = json!({ "command": secret, "run_in_background": true });
    let body = json!({ "tool": "execute", "arguments": arguments });
    let (status, reply) = server.put("a", "1", body).await;
    assert_eq!(status, 200, "{reply}");
    let id = reply["processes"][0].as_str().unwrap();
    let pid = setup.file("pid").await.trim().parse().unwrap();
    let process = format!("/processes/{id}");
    let unknown = (404, json!("unknown_process"));
    for path in [&process, &format!("{process}/output")] {
        let (status, body) = get(LISTER, path).await;
        assert_eq!((status, body["code"].clone()), unknown, "{path}");
        assert_eq!(get(RUNNER, path).await.0, 200);
    }
    // In the same words as where there is nothing.
    let nothing = get(LISTER, "/processes/nothing").await.1["detail"].clone();
    let detail = get(LISTER, &process).await.1["detail"].clone();
    let nothing = nothing.as_str().unwrap().replace("nothing", id);
    assert_eq!(detail, nothing);
    let none = json!({ "processes": [], "total": 0 });
    assert_eq!(get(LISTER, "/processes").await, (200, none));
    let (_, listed) = get(RUNNER, "/processes?limit=0").await;
    assert_eq!(listed, json!({ "processes": [], "total": 1 }));
    let (_, listed) = get(RUNNER, "/processes").await;
    assert_eq!(listed["processes"][0]["id"], id);
    let signal = ask(LISTER, Method::POST, &format!("{process}/signal"));
    let refused = signal.json(&json!({ "signal": "kill" })).send().await;
    assert_eq!(refused.unwrap().status(), 404);
    let input = ask(RUNNER, Method::POST, &format!("{process}/input"));
    let refused = input.json(&json!({ "text": "x" })).send().await.unwrap();
    let (status, body): (_, Value) = (refused.status(), refused.json().await.unwrap());
    assert_eq!(
        (status.as_u16(), &body["code"]),
        (403, &json!("bounded_token")),
        "not its tool"
    );
    assert!(is_alive(pid));
    // Each hears of its own calls, and of all that those did.
    let list = ask(LISTER, Method::PUT, "/calls/2").json(&json!({ "tool": "process_list" }));
    assert_eq!(list.send().await.unwrap().status(), 200);
    let run = ask(RUNNER, Method::PUT, "/calls/3").json(&execute("echo mine"));
    assert_eq!(run.send().await.unwrap().status(), 200);
    let [lister, runner, all] = <[Response; 3]>::try_from(streams).unwrap();
    let lister = heard(lister, "2").await;
    assert!(
        !lister.contains("secret") && !lister.contains("\"1\""),
        "{lister}"
    );
    assert!(!lister.contains("process\":"), "{lister}");
    let runner = heard(runner, "3").await;
    assert!(
        runner.contains("echo secret") && runner.contains("mine\\n"),
        "{runner}"
    );
    assert!(!runner.contains("process_list"), "{runner}");
    let all = heard(all, "3").await;
    assert!(
        all.contains("echo secret") && all.contains("process_list"),
        "{all}"
    );
    // Ending a chat ends what is its own.
    let end = async |token: &str| {
        let response = ask(token, Method::DELETE, "").send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.json::<Value>().await.unwrap()["ended"].clone()
    };
    assert_eq!(end(LISTER).await, json!([]));
    assert!(is_alive(pid));
    assert_eq!(end(RUNNER).await, json!([{ "id": id, "command": secret }]));
    until_dead(pid).await;
}

/// A server, and what asks it for a chat with the token of a call.
async fn asked(
    server: &Server,
    token: &str,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let url = format!("{}/v1/chats/a{path}", server.url);
    let request = server.client.request(method, url).bearer_auth(token);
    let request = match body {
        Some(body) => request.json(&body),
        None => request,
    };
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}

#[tokio::test]
async fn calls_of_other_tools_are_neither_cancelled_nor_stopped_nor_told_of() {
    let setup = Setup::new().await;
    let server = Server::with_tokens(setup.host.clone(), tokens()).await;
    let ask = async |token: &str, method, path: &str, body| {
        asked(&server, token, method, path, body).await
    };
    // A future call.
    let tombstone = ask(LISTER, Method::DELETE, "/calls/future", None).await;
    assert_eq!(tombstone.0, 204);
    let list = json!({ "tool": "process_list" });
    let stopped = ask(LISTER, Method::PUT, "/calls/future", Some(list.clone())).await;
    assert_eq!((stopped.0, &stopped.1["code"]), (409, &json!("cancelled")));
    let (status, reply) = server.put("a", "future", execute("echo ran")).await;
    assert_eq!(status, 200, "{reply}");
    // One that runs.
    let running = tokio::spawn({
        let host = setup.host.clone();
        let request = toolhost_core::Request {
            id: "running".parse().unwrap(),
            ..crate::harness::request(
                "a",
                "execute",
                &json!({ "command": "echo $$ > pid; exec sleep 1000" }),
            )
        };
        async move { host.call(request).await }
    });
    let pid = setup.file("pid").await.trim().parse().unwrap();
    for id in ["future", "running", "nothing"] {
        let path = format!("/calls/{id}");
        let path = path.as_str();
        let seen = ask(LISTER, Method::GET, path, None).await;
        assert_eq!(
            (seen.0, &seen.1["code"]),
            (404, &json!("unknown_call")),
            "{id}"
        );
        assert_eq!(ask(LISTER, Method::DELETE, path, None).await.0, 204, "{id}");
    }
    assert!(is_alive(pid));
    // An id is taken or it is not; by what is not told.
    for id in ["future", "running"] {
        let taken = ask(
            LISTER,
            Method::PUT,
            &format!("/calls/{id}"),
            Some(list.clone()),
        )
        .await;
        assert_eq!(
            (taken.0, &taken.1["code"]),
            (409, &json!("input_mismatch")),
            "{id}"
        );
    }
    let cancelled = ask(RUNNER, Method::DELETE, "/calls/running", None).await;
    assert_eq!(
        (cancelled.0, &cancelled.1["state"]),
        (200, &json!("cancelled"))
    );
    until_dead(pid).await;
    assert!(running.await.unwrap().unwrap().cancelled);
    let (status, again) = server.put("a", "future", execute("echo ran")).await;
    assert_eq!((status, &again["id"]), (200, &reply["id"]));
}

#[tokio::test]
async fn tools_show_no_processes_of_other_tools() {
    let setup = Setup::new().await;
    let server = Server::with_tokens(setup.host.clone(), tokens()).await;
    let body = json!({
        "tool": "execute", "arguments": { "command": "echo secret; exec sleep 1000", "run_in_background": true },
    });
    let (status, reply) = server.put("a", "1", body).await;
    assert_eq!(status, 200, "{reply}");
    let list = |token, id: &str| {
        let path = format!("/calls/{id}");
        let server = &server;
        async move {
            asked(
                server,
                token,
                Method::PUT,
                &path,
                Some(json!({ "tool": "process_list" })),
            )
            .await
        }
    };
    let all = list(TOKEN, "2").await.1.to_string();
    assert!(all.contains("secret"), "{all}");
    let bounded = list(LISTER, "3").await;
    assert_eq!(bounded.0, 200);
    assert!(!bounded.1.to_string().contains("secret"), "{}", bounded.1);
    // Nor is one ended by a tool that the token may use.
    let id = reply["processes"][0].as_str().unwrap();
    let signal =
        json!({ "tool": "process_signal", "arguments": { "process_id": id, "signal": "kill" } });
    let signaller = asked(&server, SIGNALLER, Method::PUT, "/calls/4", Some(signal)).await;
    assert_eq!(
        (signaller.0, &signaller.1["structured"]["success"]),
        (200, &json!(false)),
        "{}",
        signaller.1
    );
    assert_eq!(setup.host.local().unwrap().processes().live(), 1);
}
