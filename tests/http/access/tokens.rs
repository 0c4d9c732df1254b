//! Several tokens, and what each is good for.

use toolhost_http::access::{Principal, Scope, Tokens};
use toolhost_server::ServerParts;

use super::*;

const ADMIN: &str = "token-of-an-admin";
const READER: &str = "token-of-a-reader";
const SUPPORT: &str = "token-of-support";
const AGENT: &str = "token-of-an-agent";
const BOUNDED: &str = "token-of-an-agent-for-some-chats";

fn tokens() -> Tokens {
    let token = |text: &str| Token::new(text).unwrap();
    let support = Some("support-".to_owned());
    let of = |name: &str, scopes: &[Scope], chats: Option<String>| {
        Principal::new(name, scopes.iter().copied(), chats, None)
    };
    Tokens::new([
        (token(ADMIN), of("admin", &[Scope::Admin], None)),
        (token(READER), of("reader", &[Scope::Read], None)),
        (
            token(SUPPORT),
            of("support", &[Scope::Call], support.clone()),
        ),
        (token(AGENT), of("agent", &[Scope::Agent], None)),
        (token(BOUNDED), of("bounded", &[Scope::Agent], support)),
    ])
}

#[tokio::test]
async fn each_token_is_good_for_what_it_says() {
    let setup = Setup::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let tokens = tokens();
    let access = Access {
        tokens: tokens.clone(),
        ..access()
    };
    let surfaces = ServerParts::from(setup.host.clone()).with_agent();
    tokio::spawn(serve(listener, surfaces, access, std::future::pending()));
    let client = crate::harness::client();
    let ask = async |token: &str, method: Method, path: &str| {
        let request = client.request(method, format!("{url}{path}"));
        let response = request.bearer_auth(token).send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json::<Value>().await.unwrap())
    };
    let code = async |token: &str, method: Method, path: &str| {
        let (status, body) = ask(token, method, path).await;
        (status, body["code"].as_str().unwrap_or_default().to_owned())
    };
    let missing = (403, "missing_scope".to_owned());
    let good = (200, String::new());
    for (token, method, path, expected) in [
        (READER, Method::GET, "/v1/tools", &good),
        (READER, Method::DELETE, "/v1/chats/support-1", &missing),
        (SUPPORT, Method::DELETE, "/v1/chats/support-1", &good),
        (
            SUPPORT,
            Method::DELETE,
            "/v1/chats/sales-1",
            &(403, "foreign_chat".to_owned()),
        ),
        (SUPPORT, Method::POST, "/v1/plugins/shell/reload", &missing),
        (ADMIN, Method::DELETE, "/v1/chats/support-1", &missing),
        (
            ADMIN,
            Method::POST,
            "/v1/plugins/nothing/reload",
            &(404, "unknown_plugin".to_owned()),
        ),
    ] {
        assert_eq!(&code(token, method, path).await, expected, "{token} {path}");
    }
    // The agent API knows all chats, and says what is wrong in its own form.
    let list = "/api/v0/processes/list";
    assert_eq!(ask(AGENT, Method::GET, list).await.0, 200);
    for (token, text) in [
        (READER, "lacks the scope \"agent\""),
        (SUPPORT, "lacks the scope \"agent\""),
        (BOUNDED, "for some chats"),
    ] {
        let (status, body) = ask(token, Method::GET, list).await;
        assert_eq!(status, 403);
        let message = body["message"].as_str().unwrap();
        assert!(message.contains(text), "{message}");
    }
    // One that is taken back is refused at once, also on a connection on which it was good.
    tokens.replace([(Token::new("other").unwrap(), Principal::unbounded("other"))]);
    assert_eq!(code(READER, Method::GET, "/v1/tools").await.0, 401);
    assert_eq!(code("other", Method::GET, "/v1/tools").await.0, 200);
}

/// Begins a session of MCP, and returns its id.
async fn session(server: &Server, token: &str) -> String {
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    } });
    let request = server.client.post(format!("{}/mcp", server.url));
    let request = request.header("accept", "application/json, text/event-stream");
    let begun = request.bearer_auth(token).json(&initialize).send().await;
    let begun = begun.unwrap();
    let id = begun.headers()["mcp-session-id"].to_str().unwrap();
    id.to_owned()
}

#[tokio::test]
async fn streams_end_when_their_token_is_taken_back() {
    let setup = Setup::new().await;
    let entry = |text: &str, name| (Token::new(text).unwrap(), Principal::unbounded(name));
    let (stays, goes) = (entry(TOKEN, "stays"), entry("goes", "goes"));
    let tokens = Tokens::new([stays, goes]);
    let surfaces = ServerParts::from(setup.host.clone()).with_agent();
    let server = Server::with_tokens(surfaces, tokens.clone()).await;
    let sleep = json!({ "command": "sleep 1000", "run_in_background": true });
    let sleep = json!({ "tool": "execute", "arguments": sleep });
    let (_, reply) = server.put("a", "1", sleep).await;
    let process = reply["processes"][0].as_str().unwrap();
    let session = session(&server, "goes").await;
    let open = async |token: &str, path: &str| {
        let request = server.client.get(format!("{}{path}", server.url));
        let request = request.header("accept", "text/event-stream");
        let request = request.header("mcp-session-id", &session);
        let response = request.bearer_auth(token).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        response
    };
    let agent = format!("/api/v0/processes/{process}/events");
    let mut over = Vec::new();
    for path in ["/v1/chats/a/events", &agent, "/mcp"] {
        over.push(open("goes", path).await);
    }
    let mut goes_on = open(TOKEN, "/v1/chats/a/events").await;
    // As the configuration is read again: what it says of one is as it was.
    tokens.replace([entry(TOKEN, "stays")]);
    for response in over {
        // A whole reply, with its end.
        response.bytes().await.unwrap();
    }
    assert_eq!(server.put("a", "2", execute("echo heard")).await.0, 200);
    let mut text = String::new();
    while !text.contains("finished") {
        let chunk = goes_on.chunk().await.unwrap().expect("the stream ended");
        text.push_str(&String::from_utf8_lossy(&chunk));
    }
    // Also one that is good for something else now.
    let reader = Principal::new("stays", [Scope::Read], None, None);
    tokens.replace([(Token::new(TOKEN).unwrap(), reader)]);
    while goes_on.chunk().await.unwrap().is_some() {}
}

#[tokio::test]
async fn nothing_is_reachable_without_a_token() {
    let (_setup, server) = server().await;
    for (method, path) in [
        (Method::GET, "/metrics"),
        (Method::GET, "/v1/tools"),
        (Method::PUT, "/v1/chats/a/calls/1"),
        (Method::GET, "/v1/plugins"),
        (Method::POST, "/v1/plugins/shell/disable"),
        (Method::DELETE, "/v1/chats/a"),
        (Method::GET, "/v1/nothing"),
        (Method::POST, "/v1/tools"),
        (Method::GET, "/api/v0/processes/list"),
        (Method::GET, "/mcp"),
        (Method::POST, "/mcp"),
    ] {
        let url = format!("{}{path}", server.url);
        for header in [None, Some("Bearer wrong")] {
            let mut request = server.client.request(method.clone(), &url);
            if let Some(header) = header {
                request = request.header("authorization", header);
            }
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), 401, "{method} {path}");
        }
        // Two of them are none.
        let request = server.client.request(method.clone(), &url);
        let twice = request.bearer_auth(TOKEN).bearer_auth("x");
        assert_eq!(twice.send().await.unwrap().status(), 401, "{path}");
    }
}

/// What SECURITY.md says is open is what answers without a token, of all that the server describes and serves.
#[tokio::test]
async fn what_is_open_is_what_is_documented() {
    let (_setup, server) = server().await;
    let description = server.client.get(format!("{}/openapi.json", server.url));
    let description: Value = description
        .bearer_auth(TOKEN)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let described = description["paths"].as_object().unwrap().keys().cloned();
    let others = [
        "/",
        "/docs",
        "/docs/",
        "/mcp",
        "/api/v0/processes/list",
        "/v1",
    ];
    let mut open = std::collections::BTreeSet::new();
    let stays = reqwest::redirect::Policy::none();
    let client = crate::harness::http_client()
        .redirect(stays)
        .build()
        .unwrap();
    for path in described.chain(others.map(str::to_owned)) {
        let url = format!("{}{}", server.url, path.replace(['{', '}'], ""));
        if client.get(url).send().await.unwrap().status() != 401 {
            open.insert(path);
        }
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let promises = std::fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let promise = promises
        .lines()
        .find(|line| line.contains("Without a token, a client gets only"))
        .unwrap();
    let documented = promise.split('`').filter(|word| word.starts_with('/'));
    assert_eq!(open, documented.map(str::to_owned).collect());
}
