//! Tokens that are bounded: lists have what a token may name and use, and nothing that tells of the rest.

use toolhost_http::access::{Principal, Scope, Tokens};

use super::*;

const CHATS: &str = "token-of-some-chats";
const TOOLS: &str = "token-of-some-tools";
const AGENT: &str = "token-of-an-agent";

#[tokio::test]
async fn a_bounded_token_learns_of_nothing_else() {
    let setup = Setup::new().await;
    let token = |text: &str| Token::new(text).unwrap();
    let tools = Some(["read_file".to_owned()].into());
    let tokens = Tokens::new([
        (token(TOKEN), Principal::unbounded("all")),
        (
            token(CHATS),
            Principal::new("chats", [Scope::Read], Some("a-".into()), None),
        ),
        (
            token(TOOLS),
            Principal::new("tools", [Scope::Call], None, tools),
        ),
        (
            token(AGENT),
            Principal::new("agent", [Scope::Agent], None, None),
        ),
    ]);
    let server = Server::with_tokens(setup.host.clone(), tokens).await;
    let read = || json!({ "tool": "read_file", "arguments": { "path": "nothing" } });
    server.put("a-1", "execute", execute("echo secret")).await;
    server.put("a-1", "read", read()).await;
    server.put("b-1", "execute", execute("echo secret")).await;
    server.put("b-1", "read", read()).await;
    let running = sleeper(&server, "b-2", "runs");
    setup.file("runs").await;

    let get = async |token: &str, path: &str| {
        let request = server.client.get(format!("{}{path}", server.url));
        let response = request.bearer_auth(token).send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json::<Value>().await.unwrap())
    };
    let listed = async |token: &str, path: &str| -> Vec<String> {
        let (status, page) = get(token, path).await;
        assert_eq!(status, 200, "{page}");
        assert!(page.get("next").is_none(), "{page}");
        let calls = page["calls"].as_array().unwrap().iter();
        let name = |call: &Value| {
            assert!(call.get("token").is_none(), "{call}");
            format!(
                "{}/{}",
                call["chat"].as_str().unwrap(),
                call["id"].as_str().unwrap()
            )
        };
        calls.map(name).collect()
    };
    let refused = async |token: &str, path: &str, code: &str| {
        let (status, problem) = get(token, path).await;
        assert_eq!((status, &problem["code"]), (403, &json!(code)), "{path}");
    };

    assert_eq!(
        listed(CHATS, "/v1/calls").await,
        ["a-1/read", "a-1/execute"]
    );
    assert_eq!(listed(CHATS, "/v1/calls?prefix=a").await.len(), 2);
    assert_eq!(listed(CHATS, "/v1/calls?prefix=a-1").await.len(), 2);
    assert_eq!(
        listed(CHATS, "/v1/calls?text=secret").await,
        ["a-1/execute"]
    );
    assert_eq!(listed(CHATS, "/v1/chats/a-1/calls").await.len(), 2);
    for path in [
        "/v1/calls?prefix=b-",
        "/v1/chats/b-1/calls",
        "/v1/chats?prefix=b",
        "/v1/processes?prefix=b",
    ] {
        refused(CHATS, path, "foreign_chat").await;
    }
    let (_, chats) = get(CHATS, "/v1/chats").await;
    assert_eq!(chats["chats"].as_array().unwrap().len(), 1, "{chats}");
    assert!(chats["chats"][0].get("token").is_none(), "{chats}");
    // A place in a list of another token names a chat, and does not lead there.
    let (_, chats) = get(CHATS, "/v1/chats?after=b-b-1").await;
    assert_eq!(chats["chats"][0]["chat"], "a-1", "{chats}");
    let (_, processes) = get(CHATS, "/v1/processes").await;
    let processes = processes["processes"].as_array().unwrap();
    assert!(
        processes.iter().all(|process| process["chat"] == "a-1"),
        "{processes:?}"
    );
    assert_eq!(processes.len(), 1);

    assert_eq!(listed(TOOLS, "/v1/calls").await, ["b-1/read", "a-1/read"]);
    for path in [
        "/v1/calls?tool=execute",
        "/v1/calls?text=secret",
        "/v1/calls?state=running",
        "/v1/chats/b-2/calls",
    ] {
        assert_eq!(listed(TOOLS, path).await, [""; 0], "{path}");
    }
    let (status, problem) = get(TOOLS, "/v1/chats/b-1/calls/execute/arguments").await;
    assert_eq!((status, &problem["code"]), (404, &json!("unknown_call")));
    for path in ["/v1/chats", "/v1/processes"] {
        refused(TOOLS, path, "bounded_token").await;
    }
    for path in [
        "/v1/calls",
        "/v1/chats",
        "/v1/processes",
        "/v1/chats/a-1/calls",
        "/v1/chats/a-1/calls/read/arguments",
    ] {
        refused(AGENT, path, "missing_scope").await;
    }
    server.stop().await;
    running.await.unwrap();
}
