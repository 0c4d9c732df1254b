//! Workspaces with names, over HTTP: each chat runs in its own, and no token reaches another's.

mod agents;
mod lives;
mod machines;
mod making;
mod stopping;
mod tokens;

use std::path::PathBuf;

use tempfile::TempDir;
use toolhost_core::Builder;
use toolhost_local::DirectoriesConfig;

use super::*;

/// A server that makes workspaces.
struct Spaces {
    setup: Setup,
    server: Server,
    /// The directory in which the workspaces and the templates are.
    base: TempDir,
}

impl Spaces {
    async fn new() -> Self {
        Self::with(|builder| builder).await
    }

    /// A server whose host was changed before its start.
    async fn with(change: impl FnOnce(Builder) -> Builder) -> Self {
        let base = tempfile::tempdir().unwrap();
        let directories = directories(&base);
        let setup = Setup::with(|builder| change(builder.directories(directories))).await;
        let server = Server::start(setup.host.clone()).await;
        Self {
            setup,
            server,
            base,
        }
    }

    /// The directory of a workspace.
    fn directory(&self, name: &str) -> PathBuf {
        directory(&self.base, name)
    }

    /// Sends a request and returns its status and body.
    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        ask(&self.server, TOKEN, method, path, body).await
    }

    /// Sends a request that must succeed.
    async fn done(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let (status, answer) = self.ask(method, path, body).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Sends a request that must be refused with this code.
    async fn refused(&self, method: Method, path: &str, body: Option<Value>, code: &str) {
        let (_, problem) = self.ask(method, path, body).await;
        assert_eq!(problem["code"], code, "{path}: {problem}");
    }

    /// Runs a command in a chat and returns its output.
    async fn run(&self, chat: &str, command: &str) -> String {
        let path = format!("/v1/chats/{chat}/calls");
        let answer = self.done(Method::POST, &path, Some(execute(command))).await;
        assert_eq!(answer["structured"]["success"], true, "{answer}");
        let output = answer["structured"]["output"].as_str();
        output.unwrap_or_default().to_owned()
    }
}

fn directories(base: &TempDir) -> DirectoriesConfig {
    let template = base.path().join("template");
    std::fs::create_dir_all(template.join("sub")).unwrap();
    std::fs::write(template.join("sub/file"), "from the template\n").unwrap();
    DirectoriesConfig {
        root: base.path().join("root"),
        templates: [("small".to_owned(), template)].into(),
    }
}

fn directory(base: &TempDir, name: &str) -> PathBuf {
    let root = base.path().canonicalize().unwrap().join("root");
    root.join(name.replace('/', "+"))
}

async fn ask(
    server: &Server,
    token: &str,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let request = server
        .client
        .request(method, format!("{}{path}", server.url));
    let request = request.bearer_auth(token);
    let request = match body {
        Some(body) => request.json(&body),
        None => request,
    };
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or_default())
}

/// The same call, in a workspace.
fn within(workspace: &str, command: &str) -> Option<Value> {
    let mut call = execute(command);
    call["workspace"] = json!(workspace);
    Some(call)
}

#[tokio::test]
async fn a_chat_runs_in_its_workspace_from_its_first_call_on() {
    let spaces = Spaces::new().await;
    let name = "/v1/workspaces/team-a/web";
    let made = spaces
        .done(Method::PUT, name, Some(json!({ "provider": "directory" })))
        .await;
    assert_eq!(
        (&made["state"], &made["chats"]),
        (&json!("closed"), &json!(0)),
        "{made}"
    );
    assert!(
        !spaces.directory("team-a/web").exists(),
        "it is made when it is first used"
    );
    assert_eq!(spaces.done(Method::PUT, name, None).await, made);

    let bind = Some(json!({ "workspace": "team-a/web" }));
    spaces.done(Method::PUT, "/v1/chats/a", bind.clone()).await;
    spaces.done(Method::PUT, "/v1/chats/a", bind.clone()).await;
    let root = spaces.directory("team-a/web");
    assert_eq!(
        spaces.run("a", "pwd; echo hi > file").await,
        format!("{}\n", root.display())
    );
    assert_eq!(std::fs::read_to_string(root.join("file")).unwrap(), "hi\n");
    // The files of the tools are those of the workspace as well, and no others.
    let read = |path: &str| json!({ "tool": "read_file", "arguments": { "path": path } });
    let calls = "/v1/chats/a/calls";
    let file = spaces.done(Method::POST, calls, Some(read("file"))).await;
    assert!(file.to_string().contains("hi"), "{file}");
    let outside = spaces.setup.root().join("outside");
    std::fs::write(&outside, "secret").unwrap();
    let file = spaces
        .done(Method::POST, calls, Some(read(outside.to_str().unwrap())))
        .await;
    assert!(
        file["is_error"] == true && !file.to_string().contains("secret"),
        "{file}"
    );

    // Later calls, also those that name no workspace, stay there; no request takes the chat elsewhere.
    let state = spaces.done(Method::GET, name, None).await;
    assert_eq!(
        (&state["state"], &state["chats"]),
        (&json!("open"), &json!(1)),
        "{state}"
    );
    let other = Some(json!({ "workspace": "default" }));
    spaces
        .refused(Method::PUT, "/v1/chats/a", other, "chat_bound")
        .await;
    spaces
        .refused(Method::POST, calls, within("team-b", "true"), "chat_bound")
        .await;
    // A chat whose first call ran in the default workspace belongs there.
    spaces.run("d", "true").await;
    spaces
        .refused(Method::PUT, "/v1/chats/d", bind, "chat_bound")
        .await;
    let listed = spaces.done(Method::GET, "/v1/chats", None).await;
    let of = |chat: &str| {
        let chats = listed["chats"].as_array().unwrap().iter();
        chats.clone().find(|one| one["chat"] == chat).unwrap()["workspace"].clone()
    };
    assert_eq!((of("a"), of("d")), (json!("team-a/web"), Value::Null));
}

#[tokio::test]
async fn the_body_of_a_call_makes_and_names_a_workspace() {
    let spaces = Spaces::new().await;
    let calls = "/v1/chats/a/calls";
    let call = within("short/form", "pwd");
    let answer = spaces
        .done(Method::PUT, &format!("{calls}/1"), call.clone())
        .await;
    let root = spaces.directory("short/form");
    assert_eq!(
        answer["structured"]["output"],
        format!("{}\n", root.display())
    );
    // A repeat gets the same reply, and the next call needs no name.
    assert_eq!(
        spaces.done(Method::PUT, &format!("{calls}/1"), call).await,
        answer
    );
    assert_eq!(
        spaces.run("a", "pwd").await,
        format!("{}\n", root.display())
    );
    let listed = spaces
        .done(Method::GET, "/v1/workspaces?prefix=short/", None)
        .await;
    assert_eq!(
        listed["workspaces"].as_array().unwrap().len(),
        1,
        "{listed}"
    );
    // Two first calls at once agree on the workspace.
    let both = ["1", "2"].map(|id| {
        let path = format!("/v1/chats/b/calls/{id}");
        let spaces = &spaces;
        async move {
            spaces
                .ask(Method::PUT, &path, within("short/form", "pwd"))
                .await
        }
    });
    for (status, answer) in futures_util::future::join_all(both).await {
        assert_eq!(status, 200, "{answer}");
    }
}

#[tokio::test]
async fn names_that_lead_elsewhere_are_refused() {
    let spaces = Spaces::new().await;
    for name in [
        "..",
        "a/../b",
        "a//b",
        "a/",
        ".",
        "a b",
        "a\\b",
        "+lock",
        "ä",
        &"x".repeat(129),
    ] {
        let calls = "/v1/chats/a/calls";
        spaces
            .refused(Method::POST, calls, within(name, "true"), "broken_request")
            .await;
        let body = Some(json!({ "workspace": name }));
        spaces
            .refused(Method::PUT, "/v1/chats/a", body, "broken_request")
            .await;
    }
    for path in ["%2e%2e", "a%2F..%2Fb", "a%00", "a%2F%2Fb"] {
        let path = format!("/v1/workspaces/{path}");
        let (status, problem) = spaces.ask(Method::PUT, &path, None).await;
        assert!(status == 400 || status == 404, "{path}: {problem}");
    }
    // A link in the place of a workspace is none.
    std::os::unix::fs::symlink(spaces.setup.root(), spaces.directory("link")).unwrap();
    let path = "/v1/chats/link/calls";
    let answer = spaces
        .done(Method::POST, path, within("link", "echo x > made"))
        .await;
    assert_eq!(answer["error"]["kind"], "unavailable", "{answer}");
    assert!(!spaces.setup.root().join("made").exists());
    let state = spaces.done(Method::GET, "/v1/workspaces/link", None).await;
    assert_eq!(state["state"], "failed");
    assert!(
        state["problem"]
            .as_str()
            .unwrap()
            .contains("is no directory"),
        "{state}"
    );
}

#[tokio::test]
async fn what_a_workspace_cannot_be_is_refused() {
    let spaces = Spaces::new().await;
    let put = |body: Value, code: &'static str| {
        let spaces = &spaces;
        async move {
            spaces
                .refused(Method::PUT, "/v1/workspaces/w", Some(body), code)
                .await
        }
    };
    for body in [
        json!([]),
        json!({ "provider": "vm" }),
        json!({ "templat": "small" }),
        json!({ "template": "none" }),
        json!({ "template": "small", "git": { "url": "https://example.com" } }),
        json!({ "git": { "url": "--upload-pack=x" } }),
        json!({ "git": { "url": "a\nb" } }),
        json!({ "git": { "url": "fd::17" } }),
        json!({ "git": { "url": "ext::sh -c true" } }),
        json!({ "idle_seconds": 0 }),
        json!({ "quota": { "bytes": 1, "required": true } }),
    ] {
        put(body, "broken_request").await;
    }
    let made = json!({ "template": "small", "quota": { "bytes": 1024 } });
    spaces
        .done(Method::PUT, "/v1/workspaces/w", Some(made))
        .await;
    put(json!({}), "workspace_exists").await;
    spaces
        .refused(
            Method::PUT,
            "/v1/workspaces/default",
            None,
            "workspace_exists",
        )
        .await;
    // A quota that is not enforced is named as soon as the workspace is open.
    let calls = "/v1/chats/a/calls";
    spaces
        .done(Method::POST, calls, within("w", "cat sub/file"))
        .await;
    let state = spaces.done(Method::GET, "/v1/workspaces/w", None).await;
    assert!(
        state["gaps"][0].as_str().unwrap().contains("not enforced"),
        "{state}"
    );
    spaces
        .refused(
            Method::GET,
            "/v1/workspaces/none",
            None,
            "unknown_workspace",
        )
        .await;
    let none = Some(json!({ "workspace": "none" }));
    spaces
        .refused(Method::PUT, "/v1/chats/b", none, "unknown_workspace")
        .await;
}

#[tokio::test]
async fn a_server_without_a_directory_for_workspaces_has_the_default_one() {
    let (setup, server) = server().await;
    let call = within("w", "true");
    let (status, problem) = ask(&server, TOKEN, Method::POST, "/v1/chats/a/calls", call).await;
    assert_eq!((status, &problem["code"]), (422, &json!("no_provider")));
    let (_, answer) = ask(
        &server,
        TOKEN,
        Method::POST,
        "/v1/chats/a/calls",
        within("default", "pwd"),
    )
    .await;
    assert_eq!(
        answer["structured"]["output"],
        format!("{}\n", setup.root().display())
    );
    let (_, listed) = ask(&server, TOKEN, Method::GET, "/v1/workspaces", None).await;
    assert_eq!(listed["workspaces"][0]["name"], "default");
    assert_eq!(listed["workspaces"][0]["provider"], "host");
}
