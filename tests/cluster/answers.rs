//! What a host answers of a chat that another one has, and while the database is away: the same on every route.

use super::*;

/// Returns method and path of each request below the address of a chat, with these parameters.
async fn of_chat(server: &Server, chat: &str, call: &str, process: &str) -> Vec<(Method, String)> {
    let description = server.request(Method::GET, "/openapi.json").send().await;
    let description: Value = description.unwrap().json().await.unwrap();
    let mut requests = Vec::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        if !path.starts_with("/v1/chats/{chat}") {
            continue;
        }
        let path = path.replace("{chat}", chat).replace("{call}", call);
        let path = path.replace("{process}", process);
        let path = path.replace("{notice}", "none").replace("{port}", "1");
        let path = path.replace("{path}", "file");
        assert!(!path.contains('{'), "{path}");
        for method in methods.as_object().unwrap().keys() {
            if let Ok(method) = method.to_uppercase().parse() {
                requests.push((method, path.clone()));
            }
        }
    }
    assert!(requests.len() >= 10, "{requests:?}");
    // What ends the chat is last.
    requests.sort_by_key(|(method, path)| *method == Method::DELETE && !path.contains("/calls"));
    requests
}

/// Sends a request, with the body that it needs.
async fn answer(
    server: &Server,
    (method, path): &(Method, String),
) -> (u16, Value, Option<String>) {
    let mut request = server.request(method.clone(), path);
    if path.ends_with("/signal") {
        request = request.json(&json!({ "signal": "terminate" }));
    } else if path.ends_with("/input") {
        request = request.json(&json!({ "close": true }));
    } else if path.ends_with("/notices") && *method == Method::POST {
        request = request.json(&json!({ "on": "exit" }));
    } else if path.ends_with("/links") {
        request = request.json(&json!({ "path": "file" }));
    } else if path.contains("/calls") && [Method::PUT, Method::POST].contains(method) {
        request = request.json(&here("echo x >> ran"));
    } else if *method == Method::PUT {
        request = request.json(&json!({ "workspace": "default" }));
    }
    let response = tokio::time::timeout(PATIENCE, request.send()).await;
    let response = response.expect("there is an answer").unwrap();
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let header = |name| Some(headers.get(name)?.to_str().ok()?.to_owned());
    let said = header("toolhost-host").or_else(|| header("retry-after"));
    let is_json = header("content-type").is_some_and(|kind| kind.contains("json"));
    let body = match is_json {
        true => response.json().await.unwrap(),
        false => Value::Null,
    };
    (status, body, said)
}

#[needs(postgres)]
#[tokio::test]
async fn every_route_of_a_chat_names_the_host_that_has_it() {
    let cluster = Cluster::new().await;
    let [one, other] = [cluster.node("one").await, cluster.node("other").await];
    let (status, began) = one.server.put("a", "1", here("sleep 1000 &")).await;
    assert_eq!(status, 200, "{began}");
    let process = began["structured"]["background_process_id"].as_str();
    let process = process.unwrap_or_else(|| panic!("{began}"));
    let repeated = other.server.put("a", "1", here("sleep 1000 &")).await;
    assert_eq!(repeated, (200, began.clone()), "the store has the reply");
    for request in of_chat(&other.server, "a", "1", process).await {
        let (method, path) = &request;
        let found = answer(&other.server, &request).await;
        // Of calls that have ended, the store has everything.
        let is_of_store = path.contains("/calls/1") && *method != Method::PUT
            || path.ends_with("/calls") && *method == Method::GET;
        if is_of_store {
            assert!([200, 204].contains(&found.0), "{request:?}: {found:?}");
        } else if *method == Method::PUT && path.contains("/calls") {
            assert_eq!(found.1["code"], "input_mismatch", "{request:?}: {found:?}");
        } else {
            let (status, body, host) = found;
            assert_eq!(
                (status, body["code"].as_str(), host.as_deref()),
                (421, Some("other_host"), Some("https://one.example.com")),
                "{request:?}: {body}"
            );
        }
    }
    // A new call is for the other host.
    let (status, refused) = other.server.put("a", "2", here("true")).await;
    assert_eq!((status, &refused["code"]), (421, &json!("other_host")));
    let path = format!("/v1/chats/a/processes/{process}");
    let running = answer(&one.server, &(Method::GET, path)).await;
    assert_eq!(running.1["status"], "running", "{running:?}");
}

#[needs(postgres)]
#[tokio::test]
async fn nothing_is_unknown_while_the_database_is_away() {
    let mut database = postgres::Server::start();
    let mut cluster = Cluster::new().await;
    cluster.url = database.database();
    let one = cluster.node("one").await;
    let other = cluster.node_with(Config {
        name: "other".to_owned(),
        beat: Some(std::time::Duration::from_millis(200)),
        ..postgres::config(&cluster.url)
    });
    let other = other.await;
    let (status, began) = one.server.put("a", "1", here("true")).await;
    assert_eq!(status, 200, "{began}");
    let requests = of_chat(&other.server, "a", "1", "none").await;
    let lists = ["/v1/chats", "/v1/calls"].map(|path| (Method::GET, path.to_owned()));
    database.stop();
    for request in requests.into_iter().chain(lists) {
        let (status, body, again) = answer(&other.server, &request).await;
        assert_eq!(
            (status, again.as_deref()),
            (503, Some("1")),
            "{request:?}: {body}"
        );
    }
    // The host notices it within two heartbeats, and a balancer sends calls elsewhere.
    let ready = (Method::GET, "/readyz".to_owned());
    until_ready(&other.server, &ready, false).await;
    let health = (Method::GET, "/v1/health".to_owned());
    let (_, health, _) = answer(&other.server, &health).await;
    let checks = health["checks"].as_array().unwrap();
    let store = checks.iter().find(|check| check["name"] == "store");
    assert_eq!(store.unwrap()["status"], "error", "{health}");
    database.run();
    until_ready(&other.server, &ready, true).await;
    let path = (Method::GET, "/v1/chats/a/calls/1".to_owned());
    loop {
        match answer(&other.server, &path).await {
            (200, ..) => break,
            (status, body, _) => assert_eq!(status, 503, "{body}"),
        }
    }
}

async fn until_ready(server: &Server, ready: &(Method, String), is_ready: bool) {
    let begun = std::time::Instant::now();
    while (answer(server, ready).await.0 == 200) != is_ready {
        assert!(begun.elapsed() < PATIENCE, "it is still {}", !is_ready);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
