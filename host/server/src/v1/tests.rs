//! Tests of the rights of a token, by its scopes, chats and tools.

mod described;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use axum::middleware::from_fn_with_state;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;
use toolhost_core::Arguments;
use toolhost_http::access::{Principal, Scope};
use toolhost_http::limits::{self, Limits};
use toolhost_workspace::files::FilesGrant;

/// A host with the file tools.
async fn host(workspace: &tempfile::TempDir) -> Host {
    let builder = Host::builder(workspace.path()).without_shell();
    builder.files(FilesGrant::Read).start().await.unwrap()
}

/// The routes as this principal gets them.
fn router(host: &Host, principal: Principal) -> Router {
    Router::from(routes())
        .with_state(host.clone())
        .layer(from_fn_with_state(
            Limits::new(256, crate::ends),
            limits::admit,
        ))
        .layer(axum::Extension(principal))
}

async fn ask(router: &Router, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    let body = body.map_or(Body::empty(), |body| Body::from(body.to_string()));
    let request = Request::builder().method(method).uri(path).body(body);
    let response = router.clone().oneshot(request.unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

fn call(tool: &str) -> Option<Value> {
    Some(json!({ "tool": tool, "arguments": { "path": "a" } }))
}

#[tokio::test]
async fn what_a_token_may_not_use_does_not_exist_for_it() {
    let workspace = tempfile::tempdir().unwrap();
    let host = host(&workspace).await;
    let names: Vec<_> = host.tools().iter().map(|tool| tool.name.clone()).collect();
    assert!(names.contains(&"read_file".to_owned()), "{names:?}");
    let hidden = "read_file";
    let chats = Some("team-".to_owned());
    let principal = |tool: &str| {
        Principal::new(
            "t",
            [Scope::Call],
            chats.clone(),
            Some([tool.to_owned()].into()),
        )
    };
    let (blind, seeing) = (
        router(&host, principal("other")),
        router(&host, principal(hidden)),
    );
    let (_, tools) = ask(&blind, "GET", "/v1/tools", None).await;
    assert_eq!(tools, json!({ "tools": [] }));
    let (_, tools) = ask(&seeing, "GET", "/v1/tools?format=openai", None).await;
    assert_eq!(tools[0]["function"]["name"], hidden);
    let path = "/v1/chats/team-a/calls/1";
    let (status, refused) = ask(&blind, "PUT", path, call(hidden)).await;
    let kind = &refused["error"]["kind"];
    assert_eq!((status, kind), (200, &json!("unknown_tool")));
    let unknown = ask(&blind, "PUT", path, call("read_fill")).await;
    let renamed = refused.to_string().replace(hidden, "read_fill");
    assert_eq!(
        unknown.1.to_string(),
        renamed,
        "nothing tells the two apart"
    );
    assert!(
        !refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("the tools are read")
    );
    // Another token's call of the hidden tool can be neither read nor cancelled.
    let (status, outcome) = ask(&seeing, "PUT", path, call(hidden)).await;
    assert_eq!((status, &outcome["state"]), (200, &json!("finished")));
    let (status, refused) = ask(&blind, "GET", path, None).await;
    assert_eq!((status, &refused["code"]), (404, &json!("unknown_call")));
    // The reply is the same as for an id that is free.
    for path in [path, "/v1/chats/team-a/calls/2"] {
        let cancelled = ask(&blind, "DELETE", path, None).await;
        assert_eq!(cancelled, (204, Value::Null), "{path}");
    }
    assert_eq!(
        ask(&seeing, "GET", path, None).await,
        (200, outcome.clone())
    );
    assert_eq!(
        ask(&seeing, "PUT", path, call(hidden)).await,
        (200, outcome)
    );
    host.shutdown().await;
}

#[tokio::test]
async fn scopes_and_chats_are_checked_everywhere() {
    let workspace = tempfile::tempdir().unwrap();
    let host = host(&workspace).await;
    let of = |scopes: &[Scope]| {
        let chats = Some("team-".to_owned());
        router(&host, Principal::new("t", scopes.to_vec(), chats, None))
    };
    let chat_routes = [
        ("PUT", "/calls/1", call("read_file"), Scope::Call),
        ("POST", "/calls", call("read_file"), Scope::Call),
        ("GET", "/calls/1", None, Scope::Read),
        ("DELETE", "/calls/1", None, Scope::Call),
        ("DELETE", "", None, Scope::Call),
    ];
    for (method, path, body, scope) in chat_routes {
        for scopes in [
            &[][..],
            &[Scope::Agent, Scope::Admin],
            &[Scope::Read],
            &[Scope::Call],
        ] {
            let may = scopes.contains(&scope) || scopes == [Scope::Call];
            let path_of = |chat: &str| format!("/v1/chats/{chat}{path}");
            let (status, answer) = ask(&of(scopes), method, &path_of("team-a"), body.clone()).await;
            assert_eq!(
                may,
                status != 403,
                "{method} {path} with {scopes:?}: {answer}"
            );
            if !may {
                assert_eq!(answer["code"], "missing_scope");
                continue;
            }
            let foreign = ask(&of(scopes), method, &path_of("other"), body.clone()).await;
            assert_eq!(
                (foreign.0, &foreign.1["code"]),
                (403, &json!("foreign_chat"))
            );
        }
    }
    let other = [
        ("GET", "/v1/tools", Scope::Read),
        ("GET", "/v1/plugins", Scope::Admin),
        ("POST", "/v1/plugins/files/enable", Scope::Admin),
        ("POST", "/v1/plugins/files/disable", Scope::Admin),
        ("POST", "/v1/plugins/files/reload", Scope::Admin),
    ];
    for (method, path, scope) in other {
        for given in Scope::ALL {
            let may = given == scope || (given, scope) == (Scope::Call, Scope::Read);
            let unbounded = router(&host, Principal::new("t", [given], None, None));
            let (status, answer) = ask(&unbounded, method, path, None).await;
            assert_eq!(
                status == 200,
                may,
                "{method} {path} with {given:?}: {answer}"
            );
            assert!(may || answer["code"] == "missing_scope", "{answer}");
        }
        if scope == Scope::Admin {
            let (status, answer) = ask(&of(&[scope]), method, path, None).await;
            assert_eq!((status, &answer["code"]), (403, &json!("bounded_token")));
        }
    }
    host.shutdown().await;
}

#[tokio::test]
async fn an_abandoned_call_without_an_id_is_cancelled() {
    let workspace = tempfile::tempdir().unwrap();
    let host = host(&workspace).await;
    let (chat, id): (toolhost_core::ChatId, toolhost_core::CallId) =
        ("a".parse().unwrap(), "1".parse().unwrap());
    drop(calls::CancelOnDrop::new(
        &host,
        &chat,
        &id,
        &toolhost_call::call::Actor::default(),
    ));
    let request = toolhost_core::Request::new(
        chat.clone(),
        id.clone(),
        "read_file",
        Arguments::parse("{}").unwrap(),
    );
    // The spawned task runs before the test goes on.
    while host.status(&chat, &id).await.unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    assert!(matches!(
        host.call(request).await,
        Err(toolhost_core::CallError::Refused(
            toolhost_call::call::Refused::Cancelled
        ))
    ));
    host.shutdown().await;
}
