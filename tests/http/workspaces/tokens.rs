//! Tokens that are bounded to workspaces, over every route.

use toolhost_http::access::{Principal, Scope, Tokens};
use toolhost_state::workspace_name::WorkspacePattern;

use super::*;

const TEAM: &str = "token-of-a-team";
const ONE: &str = "token-of-one-workspace";
const CHATS: &str = "token-of-some-chats";

async fn bounded() -> Spaces {
    let base = tempfile::tempdir().unwrap();
    let directories = directories(&base);
    let setup = Setup::with(|builder| builder.directories(directories)).await;
    let token = |text: &str| Token::new(text).unwrap();
    let of = |name: &str, pattern: &str| {
        let pattern: WorkspacePattern = pattern.parse().unwrap();
        Principal::new(name, [Scope::Call], None, None).with_workspaces([pattern])
    };
    let tokens = Tokens::new([
        (token(TOKEN), Principal::unbounded("all")),
        (token(TEAM), of("team", "team-a/*")),
        (token(ONE), of("one", "team-a/web")),
        (
            token(CHATS),
            Principal::new("chats", [Scope::Call], Some("c-".into()), None),
        ),
    ]);
    let server = Server::with_tokens(setup.host.clone(), tokens).await;
    Spaces {
        setup,
        server,
        base,
    }
}

#[tokio::test]
async fn no_token_reaches_the_workspaces_of_others_over_any_route() {
    let spaces = bounded().await;
    for (chat, workspace) in [
        ("a", "team-a/web"),
        ("b", "team-b/web"),
        ("c-1", "team-b/web"),
    ] {
        let mut call = within(workspace, "sleep 1000").unwrap();
        call["arguments"]["run_in_background"] = json!(true);
        let path = format!("/v1/chats/{chat}/calls/1");
        spaces.done(Method::PUT, &path, Some(call)).await;
    }
    spaces.run("d", "true").await;
    let team = async |method: Method, path: &str, body: Option<Value>| {
        ask(&spaces.server, TEAM, method, path, body).await
    };
    let listed = spaces
        .done(Method::GET, "/v1/chats/b/processes", None)
        .await;
    let process = listed["processes"][0]["id"].as_str().unwrap();
    for chat in ["b", "d"] {
        let routes = [
            (
                Method::PUT,
                "/calls/2".to_owned(),
                Some(execute("cat /etc/hostname")),
            ),
            (Method::POST, "/calls".into(), Some(execute("true"))),
            (Method::GET, "/calls/1".into(), None),
            (Method::DELETE, "/calls/1".into(), None),
            (Method::GET, "/calls/1/arguments".into(), None),
            (Method::GET, "/calls".into(), None),
            (Method::GET, "/events".into(), None),
            (Method::GET, "/processes".into(), None),
            (Method::GET, format!("/processes/{process}"), None),
            (Method::GET, format!("/processes/{process}/output"), None),
            (
                Method::POST,
                format!("/processes/{process}/signal"),
                Some(json!({ "signal": "kill" })),
            ),
            (Method::DELETE, String::new(), None),
        ];
        for (method, path, body) in routes {
            let path = format!("/v1/chats/{chat}{path}");
            let (status, problem) = team(method.clone(), &path, body).await;
            let code = &problem["code"];
            assert_eq!(
                (status, code),
                (403, &json!("foreign_workspace")),
                "{method} {path}"
            );
        }
    }
    // Nor can it bind a chat to one, or name one.
    for (method, path, body) in [
        (Method::PUT, "/v1/workspaces/team-b/web", None),
        (Method::GET, "/v1/workspaces/team-b/web", None),
        (Method::DELETE, "/v1/workspaces/team-b/web?force=true", None),
        (Method::GET, "/v1/workspaces/default", None),
        (
            Method::PUT,
            "/v1/chats/new",
            Some(json!({ "workspace": "team-b/web" })),
        ),
        (
            Method::PUT,
            "/v1/chats/new",
            Some(json!({ "workspace": "default" })),
        ),
        (
            Method::POST,
            "/v1/chats/new/calls",
            within("team-b/web", "true"),
        ),
        (Method::POST, "/v1/chats/new/calls", Some(execute("true"))),
    ] {
        let (status, problem) = team(method.clone(), path, body).await;
        assert_eq!(
            (status, &problem["code"]),
            (403, &json!("foreign_workspace")),
            "{method} {path}"
        );
    }
    assert_eq!(
        team(Method::GET, "/metrics", None).await.1["code"],
        "bounded_token"
    );
    // Lists have its own alone.
    let (_, calls) = team(Method::GET, "/v1/calls", None).await;
    let (_, chats) = team(Method::GET, "/v1/chats", None).await;
    let (_, processes) = team(Method::GET, "/v1/processes", None).await;
    let (_, workspaces) = team(Method::GET, "/v1/workspaces", None).await;
    for (list, key, own) in [
        (&calls["calls"], "chat", "a"),
        (&chats["chats"], "chat", "a"),
        (&processes["processes"], "chat", "a"),
        (&workspaces["workspaces"], "name", "team-a/web"),
    ] {
        let list = list.as_array().unwrap();
        assert!(list.len() == 1 && list[0][key] == own, "{list:?}");
    }
    // In its own it may do everything.
    let (status, answer) = team(Method::POST, "/v1/chats/a/calls", Some(execute("true"))).await;
    assert_eq!(status, 200, "{answer}");
    let (status, answer) = team(
        Method::POST,
        "/v1/chats/new/calls",
        within("team-a/new", "true"),
    )
    .await;
    assert_eq!(status, 200, "{answer}");
}

#[tokio::test]
async fn the_chats_of_a_token_of_one_workspace_belong_there() {
    let spaces = bounded().await;
    let call = Some(execute("pwd"));
    let (_, answer) = ask(&spaces.server, ONE, Method::POST, "/v1/chats/x/calls", call).await;
    let root = spaces.directory("team-a/web");
    assert_eq!(
        answer["structured"]["output"],
        format!("{}\n", root.display())
    );
}

#[tokio::test]
async fn a_token_of_some_chats_uses_their_workspaces_and_chooses_none() {
    let spaces = bounded().await;
    let bind = Some(json!({ "workspace": "team-b/web" }));
    spaces
        .done(Method::PUT, "/v1/workspaces/team-b/web", None)
        .await;
    spaces
        .done(Method::PUT, "/v1/chats/c-1", bind.clone())
        .await;
    let chats = async |method: Method, path: &str, body: Option<Value>| {
        ask(&spaces.server, CHATS, method, path, body).await
    };
    let (_, answer) = chats(Method::POST, "/v1/chats/c-1/calls", Some(execute("pwd"))).await;
    let root = spaces.directory("team-b/web");
    assert_eq!(
        answer["structured"]["output"],
        format!("{}\n", root.display())
    );
    for (method, path, body) in [
        (Method::PUT, "/v1/chats/c-2", bind),
        (
            Method::POST,
            "/v1/chats/c-2/calls",
            within("team-b/web", "true"),
        ),
        (Method::PUT, "/v1/workspaces/c-2", None),
        (Method::GET, "/v1/workspaces/team-b/web", None),
        (Method::DELETE, "/v1/workspaces/team-b/web", None),
    ] {
        let (status, problem) = chats(method, path, body).await;
        assert_eq!(
            (status, &problem["code"]),
            (403, &json!("foreign_workspace")),
            "{path}"
        );
    }
    let (_, listed) = chats(Method::GET, "/v1/workspaces", None).await;
    assert_eq!(listed["workspaces"], json!([]));
    // Without a workspace of their own, its chats are in the default one, as ever.
    let (_, answer) = chats(Method::POST, "/v1/chats/c-3/calls", Some(execute("pwd"))).await;
    assert_eq!(
        answer["structured"]["output"],
        format!("{}\n", spaces.setup.root().display())
    );
}
