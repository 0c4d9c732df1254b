//! A service that says where agents are.

use super::*;

use std::sync::Mutex;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;
use toolhost_link::{AgentsConfig, Lookup, TlsFiles};
use toolhost_state::secret::Secret;

use crate::harness::TOKEN;

/// What the service answers, and how often it was asked.
#[derive(Clone, Default)]
struct Service(Arc<Mutex<(u16, String, usize)>>);

async fn answer(
    State(service): State<Service>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    assert_eq!(query.as_deref(), Some("workspace=agent"));
    assert_eq!(headers["authorization"], "Bearer lookup-token");
    let mut state = service.0.lock().unwrap();
    state.2 += 1;
    let status = StatusCode::from_u16(state.0).unwrap();
    (status, state.1.clone()).into_response()
}

impl Service {
    async fn start(&self) -> AgentsConfig {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/agents", listener.local_addr().unwrap());
        let routes = Router::new()
            .route("/agents", get(answer))
            .with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        AgentsConfig {
            lookup: Some(Lookup {
                url,
                token: Some(Secret::new("lookup-token")),
                tls: TlsFiles::default(),
            }),
            timing: patient(),
            ..AgentsConfig::default()
        }
    }

    fn set(&self, status: u16, text: impl Into<String>) {
        let mut state = self.0.lock().unwrap();
        (state.0, state.1) = (status, text.into());
    }

    fn says(&self, url: &str) {
        let found = json!({ "url": url, "token": TOKEN, "valid_seconds": 3600 });
        self.set(200, found.to_string());
    }

    fn asked(&self) -> usize {
        self.0.lock().unwrap().2
    }
}

#[tokio::test]
async fn an_agent_that_moved_is_found_where_it_is() {
    let root = tempfile::tempdir().unwrap();
    let local = elsewhere::local(root.path()).await;
    let first = Server::agent(elsewhere::offer(local.clone())).await;
    let second = Server::agent(elsewhere::offer(local)).await;
    let old = Proxy::to(&first.url).await;
    let service = Service::default();
    service.says(&old.url);
    let workspace = elsewhere::opened(service.start().await).await.unwrap();
    let start = async |text: &str| {
        let started = workspace.start(Some(&chat("a")), command(text)).await;
        started.unwrap()
    };
    for _ in 0..3 {
        start("true").await;
    }
    assert_eq!(service.asked(), 1, "its answer holds");
    service.says(&second.url);
    old.refuse().await;
    let owner = chat("a");
    assert_eq!(workspace.list(Some(&owner), false, 10).await.unwrap().1, 3);
    start("true").await;
    assert_eq!(service.asked(), 2, "it is asked after a failure");
}

#[tokio::test]
async fn what_the_service_gets_wrong_is_said() {
    let service = Service::default();
    for (status, text, said) in [
        (404, "", "knows no such workspace"),
        (401, "", "correct its token"),
        (200, "garbage", "has not the form"),
        (200, r#"{"url": "ftp://x", "token": "t"}"#, "names no agent"),
    ] {
        service.set(status, text);
        let error = elsewhere::opened(service.start().await).await.unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
