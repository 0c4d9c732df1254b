//! Workspaces of agents, over HTTP.

use toolhost_workspace::operation::VERSION;

use super::*;

use std::time::Duration;

use toolhost_link::AgentsConfig;

use toolhost_core::Host;
use toolhost_server::ServerParts;

use super::super::links;
use super::super::openapi::names_problem;
use crate::harness::proxy::Proxy;
use crate::harness::{elsewhere, shared_code, shared_state, spawner, without_namespaces};

/// Starts a host with these agents.
pub(super) async fn host_with(base: &std::path::Path, agents: AgentsConfig) -> Server {
    let host = Host::builder(base)
        .state_dir(shared_state("state"))
        .shared_code(shared_code().join("toolhost"))
        .spawner(spawner())
        .sandbox(without_namespaces())
        .agents(agents);
    let host = host.start().await.unwrap();
    links::publish(&host);
    Server::start(ServerParts::from(host).with_agent()).await
}

/// A host that reaches its agent `one` through a proxy, and does not wait long for it.
struct Behind {
    server: Server,
    proxy: Proxy,
    /// The directory of the agent.
    root: TempDir,
    _agent: Server,
    _base: TempDir,
}

impl Behind {
    async fn new() -> Self {
        let (base, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let local = elsewhere::local(root.path()).await;
        let agent = Server::agent(elsewhere::offer(local)).await;
        let proxy = Proxy::to(&agent.url).await;
        let mut config = elsewhere::agents("one", &proxy.url);
        config.timing.patience = Duration::from_millis(100);
        Self {
            server: host_with(base.path(), config).await,
            proxy,
            root,
            _agent: agent,
            _base: base,
        }
    }
}

/// A host with two agents by name, `one` and `two`, each with a directory.
struct Agents {
    server: Server,
    agents: Vec<(Server, TempDir)>,
    _base: TempDir,
}

impl Agents {
    async fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let (mut agents, mut config) = (Vec::new(), AgentsConfig::default());
        for name in ["one", "two"] {
            let root = tempfile::tempdir().unwrap();
            let local = elsewhere::local(root.path()).await;
            let server = Server::agent(elsewhere::offer(local)).await;
            config
                .named
                .extend(elsewhere::agents(name, &server.url).named);
            agents.push((server, root));
        }
        config.allowed.push(agents[1].0.url.clone());
        Self {
            server: host_with(base.path(), config).await,
            agents,
            _base: base,
        }
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        ask(&self.server, TOKEN, method, path, body).await
    }

    async fn done(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let (status, answer) = self.ask(method, path, body).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    async fn run(&self, chat: &str, call: Value) -> Value {
        let path = format!("/v1/chats/{chat}/calls");
        self.done(Method::POST, &path, Some(call)).await
    }
}

#[tokio::test]
async fn the_tools_of_a_chat_are_here_and_its_commands_and_files_there() {
    let agents = Agents::new().await;
    let made = agents
        .done(
            Method::PUT,
            "/v1/workspaces/one",
            Some(json!({ "provider": "agent" })),
        )
        .await;
    assert_eq!(
        (&made["provider"], &made["state"]),
        (&json!("agent"), &json!("closed"))
    );
    let root = agents.agents[0].1.path().canonicalize().unwrap();
    let ran = agents
        .run("a", within("one", "pwd; echo made > file").unwrap())
        .await;
    assert_eq!(ran["structured"]["output"], format!("{}\n", root.display()));
    let read = json!({ "tool": "read_file", "arguments": { "path": "file" } });
    let read = agents.run("a", read).await;
    assert!(read.to_string().contains("made"), "{read}");

    // The same name of a chat at another agent, and processes of other clients, are none of this chat.
    agents
        .run("b", within("two", "sleep 1000 &").unwrap())
        .await;
    let background = json!({ "command": "echo ready; exec sleep 1000", "run_in_background": true });
    let call = json!({ "tool": "execute", "arguments": background });
    let started = agents.run("a", call).await;
    let id = started["structured"]["background_process_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let of_others = json!({ "owner": "b", "command": { "command": "exec sleep 1000" } });
    let other = agents.agents[0]
        .0
        .request(Method::POST, "/api/v0/workspace/start");
    let of_others = json!({ "operation": of_others });
    let other = other
        .header("toolhost-operations", VERSION)
        .json(&of_others);
    assert_eq!(other.send().await.unwrap().status(), 200);

    let all = agents
        .done(Method::GET, "/v1/processes?running=true", None)
        .await;
    let ids: Vec<_> = all["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["id"])
        .collect();
    assert!(ids.contains(&&json!(id)), "{all}");
    let of_a = agents
        .done(Method::GET, "/v1/chats/a/processes", None)
        .await;
    assert!(of_a.to_string().contains(&id), "{of_a}");
    let of_b = agents
        .done(Method::GET, "/v1/chats/b/processes", None)
        .await;
    assert!(!of_b.to_string().contains("exec sleep 1000"), "{of_b}");
    let shown = agents.done(Method::GET, "/v1/workspaces/one", None).await;
    assert_eq!(
        (&shown["state"], &shown["chats"], &shown["processes"]),
        (&json!("open"), &json!(1), &json!(1)),
        "{shown}"
    );

    let path = "/v1/workspaces/one";
    let (status, refused) = agents.ask(Method::DELETE, path, None).await;
    assert_eq!(
        (status, &refused["code"]),
        (409, &json!("workspace_in_use")),
        "{refused}"
    );
    let removed = agents
        .done(Method::DELETE, &format!("{path}?force=true"), None)
        .await;
    assert_eq!(removed["ended"][0]["id"], json!(id), "{removed}");
    let info = json!({ "operation": { "owner": "a", "id": id } });
    let info = agents.agents[0]
        .0
        .request(Method::POST, "/api/v0/workspace/info")
        .header("toolhost-operations", VERSION)
        .json(&info)
        .send()
        .await
        .unwrap();
    let info: Value = info.json().await.unwrap();
    assert!(
        info.to_string().contains("Exited") || info.to_string().contains("NotFound"),
        "{info}"
    );
    assert!(root.join("file").exists(), "the files are the agent's");
    let (status, gone) = agents
        .ask(Method::POST, "/v1/chats/a/calls", Some(execute("true")))
        .await;
    assert_eq!(
        (status, &gone["code"]),
        (404, &json!("unknown_workspace")),
        "{gone}"
    );
}

#[tokio::test]
async fn a_request_names_an_address_that_the_operator_allows() {
    let agents = Agents::new().await;
    let (one, two) = (&agents.agents[0].0.url, &agents.agents[1].0.url);
    let put = async |name: &str, body: Value| {
        agents
            .ask(Method::PUT, &format!("/v1/workspaces/{name}"), Some(body))
            .await
    };
    for (body, status, said) in [
        (
            json!({ "provider": "agent", "url": one, "token": TOKEN }),
            400,
            "agent_urls",
        ),
        (
            json!({ "provider": "agent", "url": format!("{two}.example"), "token": TOKEN }),
            400,
            "agent_urls",
        ),
        (json!({ "provider": "agent", "url": two }), 400, "token"),
        (json!({ "provider": "agent", "token": TOKEN }), 400, "url"),
        (
            json!({ "provider": "agent", "url": two, "agent": "one" }),
            400,
            "leave one out",
        ),
        (
            json!({ "provider": "agent", "template": "small" }),
            400,
            "of directories",
        ),
        (json!({ "provider": "directory" }), 422, "root"),
        (json!({ "provider": "else" }), 400, "there is no provider"),
    ] {
        let (answered, text) = put("w", body.clone()).await;
        assert!(
            answered == status && text.to_string().contains(said),
            "{body}: {answered} {text}"
        );
    }
    let (status, made) = put(
        "w",
        json!({ "provider": "agent", "url": two, "token": "wrong" }),
    )
    .await;
    assert_eq!(
        (status, &made["url"], made.get("token")),
        (200, &json!(two), None),
        "{made}"
    );
    let failed = agents.run("a", within("w", "true").unwrap()).await;
    assert!(
        failed["error"]["message"]
            .as_str()
            .unwrap()
            .contains("does not accept the token"),
        "{failed}"
    );
    let shown = agents.done(Method::GET, "/v1/workspaces/w", None).await;
    assert_eq!(shown["state"], "failed");
    assert!(
        shown["problem"].as_str().unwrap().contains("token"),
        "{shown}"
    );
    // The right token mends it.
    let (status, _) = put(
        "w",
        json!({ "provider": "agent", "url": two, "token": TOKEN }),
    )
    .await;
    assert_eq!(status, 200);
    let ran = agents.run("a", within("w", "echo hi").unwrap()).await;
    assert_eq!(ran["structured"]["output"], "hi\n", "{ran}");
}

/// What did not run has no reply that is kept: the same request runs when the agent is back.
#[tokio::test]
async fn calls_whose_agent_is_away_run_when_it_is_back() {
    let behind = Behind::new().await;
    let (server, proxy, root) = (&behind.server, &behind.proxy, &behind.root);
    let put = async |path: &str, body: &Value| {
        ask(server, TOKEN, Method::PUT, path, Some(body.clone())).await
    };
    let of = |tool: &str, arguments: Value| json!({ "tool": tool, "workspace": "one", "arguments": arguments });
    let calls = [
        of("execute", json!({ "command": "echo ran >> ran" })),
        of("write_file", json!({ "path": "written", "content": "x" })),
        of("read_file", json!({ "path": "written" })),
        of("process_list", json!({})),
    ];
    // First the workspace was never open, and then it is.
    for round in ["1", "2"] {
        proxy.refuse().await;
        for (number, call) in calls.iter().enumerate() {
            let path = format!("/v1/chats/a/calls/{round}.{number}");
            let (status, refused) = put(&path, call).await;
            assert_eq!(status, 503, "{call}: {refused}");
            assert_eq!(
                refused["code"], "workspace_unavailable",
                "{call}: {refused}"
            );
            let (status, unknown) = ask(server, TOKEN, Method::GET, &path, None).await;
            assert_eq!(status, 404, "{call}: {unknown}");
        }
        let health = ask(server, TOKEN, Method::GET, "/v1/health", None);
        let (_, health) = health.await;
        let checks = health["checks"].as_array().unwrap();
        let agents = checks.iter().find(|check| check["name"] == "agents");
        let agents = agents.unwrap();
        assert_eq!(agents["status"], "warning", "{agents}");
        assert_eq!(agents["text"], "no answer from one");
        proxy.accept().await;
        for (number, call) in calls.iter().enumerate() {
            let path = format!("/v1/chats/a/calls/{round}.{number}");
            let ran = loop {
                let (status, answer) = put(&path, call).await;
                match status {
                    503 => tokio::time::sleep(Duration::from_millis(20)).await,
                    _ => break answer,
                }
            };
            assert_eq!(
                (&ran["state"], &ran["is_error"]),
                (&json!("finished"), &json!(false)),
                "{ran}"
            );
        }
    }
    let ran = std::fs::read_to_string(root.path().join("ran")).unwrap();
    assert_eq!(ran, "ran\nran\n");
}

/// Each route says whether it needs the workspace, and tells the truth while that is away.
#[tokio::test]
async fn every_route_tells_that_the_agent_is_away() {
    let behind = Behind::new().await;
    let (server, proxy) = (&behind.server, &behind.proxy);
    let ask = async |method: &Method, path: &str, body| {
        ask(server, TOKEN, method.clone(), path, body).await
    };
    let background = json!({ "command": "exec sleep 1000", "run_in_background": true });
    let call = json!({ "tool": "execute", "workspace": "one", "arguments": background });
    let (status, began) = ask(&Method::PUT, "/v1/chats/a/calls/1", Some(call.clone())).await;
    assert_eq!(status, 200, "{began}");
    let process = began["processes"][0].as_str().unwrap();
    let (_, description) = ask(&Method::GET, "/openapi.json", None).await;
    let mut requests = Vec::new();
    for (route, methods) in description["paths"].as_object().unwrap() {
        if !route.starts_with("/v1/chats/{chat}") {
            continue;
        }
        for (method, operation) in methods.as_object().unwrap() {
            let method: Method = method.to_uppercase().parse().unwrap();
            // A new call, and what there is of the old one.
            let id = if method == Method::PUT { "2" } else { "1" };
            let path = route
                .replace("{chat}", "a")
                .replace("{call}", id)
                .replace("{process}", process)
                .replace("{notice}", "none")
                .replace("{port}", "1")
                .replace("{path}", "file");
            let needs = names_problem(operation, "workspace_unavailable");
            requests.push((method, path, needs));
        }
    }
    requests.sort_by_key(|(method, path, _)| *method == Method::DELETE && !path.contains("/calls"));
    assert!(requests.len() >= 10, "{requests:?}");
    proxy.refuse().await;
    for (method, path, needs) in requests {
        if path.ends_with("/events") {
            // It goes on, and has the rest when the agent is back.
            continue;
        }
        if path.ends_with("/input") {
            let body = Some(json!({ "close": true }));
            let (status, answer) = ask(&method, &path, body).await;
            assert_eq!(
                (status, &answer["code"]),
                (503, &json!("workspace_unavailable"))
            );
            continue;
        }
        let is_notice = method == Method::POST && path.ends_with("/notices");
        let body = match (path.ends_with("/signal"), path.contains("/calls"), &method) {
            _ if path.ends_with("/links") => Some(json!({ "path": "file" })),
            _ if is_notice => Some(json!({ "on": "exit" })),
            (true, ..) => Some(json!({ "signal": "terminate" })),
            (_, true, &Method::PUT | &Method::POST) => Some(call.clone()),
            (_, _, &Method::PUT) => Some(json!({ "workspace": "one" })),
            _ => None,
        };
        let (status, answer) = ask(&method, &path, body).await;
        let is_of_store =
            path.contains("/calls/1") || path.ends_with("/calls") && method == Method::GET;
        let is_file = path.contains("/files");
        let is_binding = method == Method::PUT && !path.contains("/calls") && !is_file;
        // This host has the notices.
        let is_here = path.contains("/notices") && !is_notice;
        if is_of_store || is_binding || is_here {
            let unknown = if is_here { 404 } else { 200 };
            assert!(
                [200, 204, unknown].contains(&status),
                "{method} {path}: {status} {answer}"
            );
        } else {
            assert!(needs, "{method} {path}: {status} {answer}");
            assert_eq!(
                (status, answer["code"].as_str()),
                (503, Some("workspace_unavailable")),
                "{method} {path}: {answer}"
            );
        }
    }
    // The lists of all chats say what they do not have.
    let (status, listed) = ask(&Method::GET, "/v1/processes", None).await;
    assert_eq!((status, &listed["unanswered"]), (200, &json!(["one"])));
    let now = server.request(Method::GET, "/v1/events").send().await;
    let mut now = now.unwrap();
    let mut said = String::new();
    while !said.contains("event: now") || !said.ends_with("\n\n") {
        said += std::str::from_utf8(&now.chunk().await.unwrap().unwrap()).unwrap();
    }
    assert!(said.contains(r#""unanswered":["one"]"#), "{said}");
}

#[tokio::test]
async fn a_tool_call_of_the_agent_api_runs_when_its_agent_is_back() {
    let behind = Behind::new().await;
    let (server, chat) = (&behind.server, "11111111-2222-4333-8444-555555555555");
    let made = json!({ "provider": "agent" });
    let path = format!("/v1/chats/{chat}");
    for (path, body) in [
        ("/v1/workspaces/one", made),
        (&path, json!({ "workspace": "one" })),
    ] {
        let (status, answer) = ask(server, TOKEN, Method::PUT, path, Some(body)).await;
        assert!([200, 204].contains(&status), "{path}: {answer}");
    }
    let start = async || {
        let request = server.request(Method::POST, "/api/v0/processes/start");
        let request = request.header("Coder-Chat-Id", chat);
        let request = request.header("Coder-Tool-Call-Id", "call");
        let body = json!({ "command": "echo x >> ran" });
        let answer = request.json(&body).send().await.unwrap();
        (
            answer.status().as_u16(),
            answer.json::<Value>().await.unwrap(),
        )
    };
    behind.proxy.refuse().await;
    let (status, refused) = start().await;
    assert_eq!(status, 503, "{refused}");
    behind.proxy.accept().await;
    let begun = std::time::Instant::now();
    let (status, started) = loop {
        match start().await {
            // The host tries again after a while.
            (503, refused) => assert!(begun.elapsed() < PATIENCE, "{refused}"),
            started => break started,
        }
    };
    assert_eq!(status, 200, "{started}");
    assert_eq!(start().await, (200, started));
    // It is a call of the ledger.
    let path = format!("/v1/chats/{chat}/calls/call");
    let (status, call) = ask(server, TOKEN, Method::GET, &path, None).await;
    assert_eq!(
        (status, &call["tool"]),
        (200, &json!("agent-api/start")),
        "{call}"
    );
    let ran = crate::harness::file(&behind.root.path().join("ran")).await;
    assert_eq!(ran, "x\n");
}

#[tokio::test]
async fn a_link_shows_a_file_of_the_agent_of_its_chat() {
    let agents = Agents::new().await;
    for (chat, name) in [("a", "one"), ("b", "two")] {
        let call = within(name, &format!("echo {name} > file")).unwrap();
        agents.run(chat, call).await;
    }
    let share = async |chat: &str, path: &str| {
        let call = json!({ "tool": "share_file", "arguments": { "path": path } });
        agents.run(chat, call).await
    };
    let open = async |url: &str| {
        let url = format!("{}{}", agents.server.url, links::path_of(url));
        let answer = agents.server.client.get(url).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    for (chat, content) in [("a", "one\n"), ("b", "two\n")] {
        let shared = share(chat, "file").await;
        let url = shared["structured"]["url"].as_str();
        let url = url.unwrap_or_else(|| panic!("{shared}"));
        assert_eq!(open(url).await, (200, content.to_owned()));
        let asked = json!({ "path": "file" });
        let path = format!("/v1/chats/{chat}/links");
        let (status, made) = agents.ask(Method::POST, &path, Some(asked)).await;
        assert_eq!(status, 201, "{made}");
        let url = made["url"].as_str().unwrap();
        assert_eq!(open(url).await, (200, content.to_owned()));
    }
    // The file of another chat, by its path there.
    let other = agents.agents[1].1.path().canonicalize().unwrap();
    let other = other.join("file").display().to_string();
    let refused = share("a", &other).await;
    assert_eq!(refused["is_error"], true, "{refused}");
    let asked = json!({ "path": other });
    let (status, refused) = agents
        .ask(Method::POST, "/v1/chats/a/links", Some(asked))
        .await;
    assert_eq!(
        (status, &refused["code"]),
        (403, &json!("file_refused")),
        "{refused}"
    );
}
