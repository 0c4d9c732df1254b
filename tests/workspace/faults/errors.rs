//! Servers that are no agents for this host: each error says what to do.

use super::*;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::{Value, json};
use toolhost_state::secret::Secret;
use toolhost_workspace::operation::VERSION;

use crate::harness::serving;

/// Serves these routes, and returns where.
async fn serve(routes: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    url
}

fn identity(change: impl FnOnce(&mut Value)) -> Router {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let mut identity = json!({
        "operations": VERSION, "toolhost": "9.9.9", "instance": "i", "root": "/", "files": "Write",
        "remembers_starts": true, "time_unix_ms": u64::try_from(now.as_millis()).unwrap(),
    });
    change(&mut identity);
    let answer = identity.to_string();
    Router::new().route("/api/v0/workspace", get(async move || answer))
}

#[tokio::test]
async fn each_error_says_what_to_do() {
    let unused = Proxy::to("http://127.0.0.1:1").await;
    unused.refuse().await;
    let quick = Timing {
        patience: Duration::ZERO,
        ..patient()
    };
    let error = open(&unused.url, quick).await.unwrap_err();
    assert!(error.contains("start the agent"), "{error}");

    let place = tempfile::tempdir().unwrap();
    let server = Server::agent(elsewhere::offer(elsewhere::local(place.path()).await)).await;
    let mut config = elsewhere::agents("agent", &server.url);
    for address in config.named.values_mut() {
        address.token = Secret::new("another");
    }
    let error = elsewhere::opened(config).await.unwrap_err();
    assert!(error.contains("does not accept the token"), "{error}");

    let plain = Router::new().fallback(async || "hello");
    let newer = identity(|identity| identity["operations"] = json!(VERSION + 1));
    let upgrade = Router::new().fallback(async || {
        let said = json!({ "message": "This agent has version 2." });
        (StatusCode::UPGRADE_REQUIRED, said.to_string())
    });
    let old = Router::new().fallback(async || {
        let said = json!({ "message": "Route not found." });
        (StatusCode::NOT_FOUND, said.to_string())
    });
    for (routes, said) in [
        (plain, "none of Toolhost"),
        (newer, "update the older one"),
        (upgrade, "update the older one"),
        (old, "offers no workspace"),
    ] {
        let error = open(&serve(routes).await, patient()).await.unwrap_err();
        assert!(error.contains(said), "{said}: {error}");
    }
    let error = open("https://localhost", quick).await.unwrap_err();
    assert!(!error.is_empty());
}

/// TLS where there is none, and none where there is TLS.
#[tokio::test]
async fn schemes_that_do_not_fit_are_told() {
    let place = tempfile::tempdir().unwrap();
    let certificate = crate::harness::Certificate::new(place.path());
    let [cert, key] = &certificate.files;
    let mut command = serving::server(place.path());
    command
        .env("TOOLHOST_TOKEN", crate::harness::TOKEN)
        .arg("agent")
        .arg("--tls-cert")
        .arg(cert)
        .arg("--tls-key")
        .arg(key);
    let tls = Serving::of(command);
    let plain = open(&tls.url.replace("https://", "http://"), patient()).await;
    assert!(plain.unwrap_err().contains("write https://"));
    let untrusted = open(&tls.url, patient()).await.unwrap_err();
    assert!(untrusted.contains("TLS with"), "{untrusted}");
    let mut config = elsewhere::agents("agent", &tls.url);
    for address in config.named.values_mut() {
        address.tls.authorities = Some(cert.clone());
    }
    elsewhere::opened(config).await.unwrap();
    let server = Server::agent(elsewhere::offer(elsewhere::local(place.path()).await)).await;
    let plain = open(&server.url.replace("http://", "https://"), patient()).await;
    assert!(plain.unwrap_err().contains("write http://"));
}
