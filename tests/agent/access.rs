//! Access: clients without a token, and paths that name nothing.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Agent, refused, reply};
use crate::harness::Setup;

#[tokio::test]
async fn nobody_gets_in_without_the_token() {
    let agent = Agent::new().await;
    let id = agent.start("sleep 300").await;
    for (method, path) in [
        (Method::POST, "/start".to_owned()),
        (Method::GET, "/list".to_owned()),
        (Method::GET, format!("/{id}/output")),
        (Method::POST, format!("/{id}/signal")),
        (Method::GET, format!("/{id}/events")),
    ] {
        let url = format!("{}/api/v0/processes{path}", agent.server.url);
        for token in [None, Some("wrong")] {
            let mut request = agent.server.client.request(method.clone(), &url);
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), 401, "{path}");
            assert_eq!(response.headers()["www-authenticate"], "Bearer");
            let body: Value = response.json().await.unwrap();
            assert!(body["message"].is_string(), "{body}");
        }
    }
}

#[tokio::test]
async fn health_has_details_for_those_with_the_token() {
    let agent = Agent::new().await;
    agent.start("sleep 300").await;
    let url = format!("{}/healthz", agent.server.url);
    let health = async |token: Option<&str>| {
        let mut request = agent.server.client.get(&url);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.json::<Value>().await.unwrap()
    };
    for token in [None, Some("wrong"), Some("")] {
        assert_eq!(health(token).await, json!({ "status": "ok" }));
    }
    let details = health(Some(crate::harness::TOKEN)).await;
    assert_eq!(details["status"], "ok");
    assert_eq!(details["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(details["containment"]["kind"], "process_group");
    assert!(details["containment"]["reason"].is_string());
    assert_eq!(details["workspace"], json!(agent.root()));
    assert_eq!(details["processes"]["live"], 1);
}

#[tokio::test]
async fn foreign_names_are_refused() {
    let agent = Agent::new().await;
    let request = agent.get("/list").header("host", "evil.example");
    refused(request, 403, "the host \"evil.example\" is not known here").await;
    let request = agent.get("/list").header("origin", "http://evil.example");
    refused(request, 403, "may not use this server").await;
}

/// Whatever refuses a request below the API of the reference, its client finds the text where it looks.
#[tokio::test]
async fn what_is_refused_before_it_gets_here_has_a_message() {
    let agent = Agent::new().await;
    let large = agent.get("/list").header("x-large", "x".repeat(65 << 10));
    refused(large, 431, "the headers have").await;
    for path in ["", "/", "/nothing/at/all"] {
        refused(
            agent.get(path),
            404,
            "there is nothing at /api/v0/processes",
        )
        .await;
    }
    let bare = agent
        .server
        .client
        .get(format!("{}/api/v0/nothing", agent.server.url));
    let response = bare.send().await.unwrap();
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
    let body: Value = response.json().await.unwrap();
    assert!(body["message"].as_str().unwrap().contains("Bearer"));
    // Elsewhere the form is that of the rest.
    let other = agent.server.request(Method::GET, "/v1/nothing");
    let other = other.send().await.unwrap();
    assert_eq!(other.headers()["content-type"], "application/problem+json");
}

#[tokio::test]
async fn a_hostile_id_names_nothing() {
    let agent = Agent::new().await;
    agent.start("sleep 300").await;
    for id in [
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "%ff",
        "%00",
        "%1b%5b31m",
        "%3Cscript%3E",
        "list",
        &"x".repeat(10_000),
    ] {
        let body = refused(agent.get(&format!("/{id}/output")), 404, "Process \"").await;
        let message = body["message"].as_str().unwrap();
        assert!(
            message.ends_with(" not found.") && message.len() < 500,
            "{message}"
        );
        assert!(!message.contains(char::is_control), "{message}");
        let signal = agent.post(&format!("/{id}/signal"), &json!({ "signal": "kill" }));
        refused(signal, 404, " not found.").await;
    }
}

#[tokio::test]
async fn other_methods_and_paths_are_refused() {
    let agent = Agent::new().await;
    let (status, body) = reply(agent.request(Method::DELETE, "/list")).await;
    assert_eq!(
        (status, &body["message"]),
        (405, &json!("DELETE is not possible here."))
    );
    for path in ["/api/v0/processes", "/api/v0/nothing", "/v1/tools", "/"] {
        let response = agent
            .server
            .request(Method::GET, path)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 404, "{path}");
    }
}

/// Each route that the page describes is there, with its method.
#[tokio::test]
async fn the_page_describes_what_there_is() {
    let agent = Agent::new().await;
    let id = agent.start("sleep 300").await;
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/agent-api.md");
    let page = std::fs::read_to_string(page).unwrap();
    let headings = page.lines().filter_map(|line| line.strip_prefix("### `"));
    let routes = headings.filter_map(|line| line.strip_suffix('`')?.split_once(' '));
    let mut described = 0;
    for (method, path) in routes {
        described += 1;
        let method: Method = method.parse().unwrap();
        let path = path.replace("{id}", &id);
        // A request without parameters or a body is refused for lack of these, and not for its route or its method.
        let response = agent.server.request(method, &path).send().await.unwrap();
        let status = response.status().as_u16();
        assert!(status == 200 || status == 400, "{path}: {status}");
    }
    assert_eq!(described, 12);
}

#[tokio::test]
async fn a_host_offers_it_only_if_it_is_told_to() {
    use toolhost_server::ServerParts;
    let setup = Setup::new().await;
    let server = crate::harness::Server::start(setup.host.clone()).await;
    let path = "/api/v0/processes/list";
    let response = server.request(Method::GET, path).send().await.unwrap();
    assert_eq!(response.status(), 404);
    let surfaces = ServerParts::from(setup.host.clone()).with_agent();
    let server = crate::harness::Server::start(surfaces).await;
    setup.execute("echo hello").await;
    let (status, body) = reply(server.request(Method::GET, path)).await;
    assert_eq!(
        (status, &body["processes"][0]["command"]),
        (200, &json!("echo hello"))
    );
    // And the tools are still there.
    let response = server
        .request(Method::GET, "/v1/tools")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
}
