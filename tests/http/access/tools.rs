//! Tokens that are good for some tools only: what others did is not there for them.

use reqwest::Response;
use toolhost::server::{Principal, Scope, Tokens};

use super::*;
use crate::harness::until_dead;

const LISTER: &str = "token-of-a-lister";
const RUNNER: &str = "token-of-a-runner";

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
    // Ending a chat ends all of it; what that was is not for everybody.
    let delete = ask(LISTER, Method::DELETE, "").send().await.unwrap();
    assert_eq!(
        delete.json::<Value>().await.unwrap(),
        json!({ "ended": [] })
    );
    until_dead(pid).await;
}
