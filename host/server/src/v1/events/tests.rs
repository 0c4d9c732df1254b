//! Tests of the rights to follow chats and to see their processes.

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use tower::ServiceExt;

use super::*;
use crate::v1::processes;
use toolhost_http::limits::{self, Limits};
use toolhost_workspace::files::FilesGrant;

/// Sends a request with these scopes, for chats that begin with `a`, and returns the status.
async fn ask(host: &Host, scopes: &[Scope], method: &str, path: &str) -> u16 {
    let principal = Principal::new("test", scopes.iter().copied(), Some("a".into()), None);
    let routes = OpenApiRouter::default()
        .merge(super::routes())
        .merge(processes::routes());
    let (routes, _) = routes.split_for_parts();
    let limited =
        axum::middleware::from_fn_with_state(Limits::new(256, crate::ends), limits::admit);
    let routes = routes.layer(limited).layer(Extension(principal));
    let routes: Router = routes.with_state(host.clone());
    let request = Request::builder().method(method).uri(path);
    let body = Body::from(r#"{"signal":"kill"}"#);
    let response = routes.oneshot(request.body(body).unwrap()).await.unwrap();
    response.status().as_u16()
}

#[tokio::test]
async fn scopes_and_prefixes_hold() {
    let workspace = tempfile::tempdir().unwrap();
    let host = Host::builder(workspace.path())
        .without_shell()
        .files(FilesGrant::None)
        .start()
        .await
        .unwrap();
    let (read, call) = ([Scope::Read], [Scope::Call]);
    let neither = [Scope::Agent, Scope::Admin];
    for (path, status) in [
        ("/events", 200),
        ("/processes", 200),
        ("/processes/x", 404),
        ("/processes/x/output", 404),
    ] {
        let mine = format!("/v1/chats/a1{path}");
        assert_eq!(ask(&host, &read, "GET", &mine).await, status, "{path}");
        assert_eq!(ask(&host, &call, "GET", &mine).await, status, "{path}");
        assert_eq!(ask(&host, &neither, "GET", &mine).await, 403, "{path}");
        let foreign = format!("/v1/chats/b1{path}");
        assert_eq!(ask(&host, &call, "GET", &foreign).await, 403, "{path}");
        let invalid = format!("/v1/chats/a%20b{path}");
        assert_eq!(ask(&host, &call, "GET", &invalid).await, 400, "{path}");
    }
    let signal = "/v1/chats/a1/processes/x/signal";
    assert_eq!(ask(&host, &read, "POST", signal).await, 403);
    assert_eq!(ask(&host, &call, "POST", signal).await, 404);
    let foreign = "/v1/chats/b1/processes/x/signal";
    assert_eq!(ask(&host, &call, "POST", foreign).await, 403);
    // The closed readers are no longer counted.
    assert_eq!(host.events().stats().readers, 0);
}
