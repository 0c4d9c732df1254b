//! Approval by a URL.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use toolhost_call::approval::Header;
use toolhost_http::Listener;

use super::*;
use crate::harness::Certificate;

/// A URL is asked over TLS if the system trusts its certificate.
#[tokio::test(flavor = "multi_thread")]
async fn a_url_is_asked_over_tls() {
    let workspace = tempfile::tempdir().unwrap();
    let certificate = Certificate::new(workspace.path());
    let listener = Listener::tcp("127.0.0.1:0".parse().unwrap(), Some(certificate.tls())).await;
    let listener = listener.unwrap();
    let url = listener.url().unwrap();
    let routes = Router::new().route("/", post(async || r#"{"approved":true}"#));
    tokio::spawn(async move {
        let metrics = Metrics::default();
        toolhost_http::serve(listener, routes, &metrics, std::future::pending::<()>()).await
    });
    let call = |trusted: bool| {
        let mut command = crate::harness::serving::server(workspace.path());
        command.args(["call", "execute", r#"{"command":"echo hi"}"#]);
        command.args(["--approval-url", &url]);
        if trusted {
            command.env("SSL_CERT_FILE", &certificate.files[0]);
        }
        let output = command.output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let said = call(true);
    assert!(said.contains(r#""output":"hi\n""#), "{said}");
    let said = call(false);
    assert!(said.contains(FAILED), "{said}");
    assert!(said.contains("invalid peer certificate"), "{said}");
}

/// What a server was asked: headers and body of each request.
type Asked = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

async fn remember(State(asked): State<Asked>, headers: HeaderMap, body: String) -> &'static str {
    let body = serde_json::from_str(&body).unwrap();
    asked.lock().unwrap().push((headers, body));
    r#"{"approved":true}"#
}

/// A server that answers in another way at each path. Returns its address, and what it was asked at `/yes`.
async fn server() -> (String, Asked) {
    async fn hang() -> Response {
        std::future::pending().await
    }
    let text = |text: &'static str| post(async move || text);
    let asked = Asked::default();
    let routes = Router::new()
        .route("/yes", post(remember))
        .route(
            "/no",
            text(r#"{"approved":false,"reason":"ask Ada first"}"#),
        )
        .route("/garbage", text("yes"))
        .route("/neither", text("{}"))
        .route("/text", text(r#"{"approved":"true"}"#))
        .route("/error", post(async || StatusCode::INTERNAL_SERVER_ERROR))
        .route(
            "/elsewhere",
            post(async || Redirect::temporary("/yes").into_response()),
        )
        .route(
            "/huge",
            post(async || " ".repeat(1 << 20) + r#"{"approved":true}"#),
        )
        .route("/hang", post(hang))
        .with_state(Arc::clone(&asked));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (url, asked)
}

fn at(url: &str) -> Approval {
    Approval::url(Url::new(url, &[], None).unwrap(), PATIENCE)
}

#[tokio::test]
async fn a_url_approves() {
    let (url, asked) = server().await;
    let secret = tempfile::tempdir().unwrap();
    let token = secret.path().join("token");
    std::fs::write(&token, "t0ken\n").unwrap();
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    let headers = [Header {
        name: "X-Team".into(),
        value: "tools".into(),
    }];
    let hook = Url::new(&format!("{url}/yes"), &headers, Some(token.clone())).unwrap();
    let asking = Asking::new(Approval::url(hook, PATIENCE)).await;
    let outcome = asking.setup.outcome("t", json!({ "x": 1 })).await;
    assert!(!outcome.is_error(), "{outcome:?}");
    {
        let asked = asked.lock().unwrap();
        let (headers, body) = &asked[0];
        assert_eq!(headers["authorization"], "Bearer t0ken");
        assert_eq!(headers["x-team"], "tools");
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!(
            (&body["tool"], &body["arguments"]),
            (&json!("t"), &json!({ "x": 1 }))
        );
    }
    // Without its token, it is not asked.
    std::fs::remove_file(token).unwrap();
    denied(&asking.error().await, FAILED);
    assert_eq!(asked.lock().unwrap().len(), 1);
    assert!(asking.counted("granted") && asking.counted("failed"));
}

#[tokio::test]
async fn a_url_refuses_or_is_broken() {
    let (url, asked) = server().await;
    let refusing = Asking::new(at(&format!("{url}/no"))).await;
    denied(
        &refusing.error().await,
        "the call was not approved: ask Ada first",
    );
    for (path, why) in [
        ("/garbage", "its answer is not what it should be"),
        ("/neither", "missing field `approved`"),
        ("/text", "its answer is not what it should be"),
        ("/error", "it answered with status 500"),
        ("/elsewhere", "it answered with status 307"),
        ("/huge", "its answer has more than 65536 bytes"),
    ] {
        let asking = Asking::new(at(&format!("{url}{path}"))).await;
        denied(&asking.error().await, FAILED);
        let reason = asking.events().await[1]["reason"].clone();
        assert!(reason.as_str().unwrap().contains(why), "{path}: {reason}");
    }
    assert!(asked.lock().unwrap().is_empty(), "a redirect was followed");
    let slow = Url::new(&format!("{url}/hang"), &[], None).unwrap();
    let slow = Asking::new(Approval::url(slow, Duration::from_millis(200))).await;
    denied(&slow.error().await, FAILED);
    // A port that was free a moment ago.
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}/yes", free.local_addr().unwrap());
    drop(free);
    denied(&Asking::new(at(&nobody)).await.error().await, FAILED);
}
