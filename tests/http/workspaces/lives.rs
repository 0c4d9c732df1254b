//! Beginnings and ends of workspaces: templates, clones, removal, idle ones, and the next host.

use std::path::Path;
use std::time::Duration;

use toolhost_needs::needs;
use toolhost_sandbox::Policy;

use super::*;
use crate::harness::{until, without_namespaces};

#[tokio::test]
async fn a_workspace_begins_with_a_template() {
    let spaces = Spaces::new().await;
    let made = json!({ "template": "small" });
    for name in ["one", "two"] {
        spaces
            .done(
                Method::PUT,
                &format!("/v1/workspaces/{name}"),
                Some(made.clone()),
            )
            .await;
        let bind = Some(json!({ "workspace": name }));
        spaces
            .done(Method::PUT, &format!("/v1/chats/{name}"), bind)
            .await;
    }
    spaces.run("one", "echo changed > sub/file").await;
    assert_eq!(
        spaces.run("two", "cat sub/file").await,
        "from the template\n"
    );
}

/// Makes a repository with one file.
pub(super) fn repository(path: &Path) {
    let script = "git init -q -b main . && echo cloned > file && git add . && \
        git -c user.name=a -c user.email=a@example.com commit -qm first";
    let mut sh = std::process::Command::new("sh");
    let status = sh.args(["-c", script]).current_dir(path).status();
    assert!(status.unwrap().success());
}

#[needs(program = "git")]
#[tokio::test]
async fn a_workspace_begins_with_a_repository() {
    let origin = tempfile::tempdir().unwrap();
    repository(origin.path());
    let policy = Policy {
        read: vec![origin.path().canonicalize().unwrap()],
        ..without_namespaces()
    };
    let spaces = Spaces::with(|builder| builder.sandbox(policy)).await;
    let url = format!("file://{}", origin.path().display());
    let git = json!({ "git": { "url": url, "branch": "main" } });
    spaces
        .done(Method::PUT, "/v1/workspaces/cloned", Some(git))
        .await;
    let call = within("cloned", "cat file; git log --format=%s");
    let answer = spaces.done(Method::POST, "/v1/chats/a/calls", call).await;
    assert_eq!(
        answer["structured"]["output"], "cloned\nfirst\n",
        "{answer}"
    );
}

/// A clone may do what every command of the workspace may do: a repository that these cannot read is not cloned.
#[needs(program = "git")]
#[tokio::test]
async fn a_clone_runs_in_the_sandbox_and_leaves_nothing_half_made() {
    let spaces = Spaces::new().await;
    let origin = spaces.setup.root().join("origin");
    std::fs::create_dir(&origin).unwrap();
    repository(&origin);
    let git = json!({ "git": { "url": format!("file://{}", origin.display()) } });
    spaces
        .done(Method::PUT, "/v1/workspaces/cloned", Some(git))
        .await;
    let call = within("cloned", "true");
    let answer = spaces.done(Method::POST, "/v1/chats/a/calls", call).await;
    let error = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(
        error.ends_with("the repository cannot be cloned; the operator's log says why"),
        "{answer}"
    );
    let state = spaces
        .done(Method::GET, "/v1/workspaces/cloned", None)
        .await;
    assert_eq!(state["state"], "failed", "{state}");
    assert!(!spaces.directory("cloned").exists());
    let listed = spaces.done(Method::GET, "/v1/processes", None).await;
    assert_eq!(listed["processes"], json!([]), "the clone left a process");
}

#[tokio::test]
async fn a_removal_ends_what_runs_and_the_chat_runs_nowhere_else() {
    let spaces = Spaces::new().await;
    let call = within("w", "echo kept > file; sleep 1000 & echo $!");
    let answer = spaces.done(Method::POST, "/v1/chats/a/calls", call).await;
    let pid = answer["structured"]["output"]
        .as_str()
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(is_alive(pid));
    let name = "/v1/workspaces/w";
    let state = spaces.done(Method::GET, name, None).await;
    assert_eq!(state["processes"], 1, "{state}");
    spaces
        .refused(Method::DELETE, name, None, "workspace_in_use")
        .await;
    assert!(is_alive(pid) && spaces.directory("w").exists());
    let removed = spaces
        .done(Method::DELETE, &format!("{name}?force=true"), None)
        .await;
    assert_eq!(removed["ended"].as_array().unwrap().len(), 1, "{removed}");
    assert!(!is_alive(pid) && !spaces.directory("w").exists());
    spaces
        .refused(Method::GET, name, None, "unknown_workspace")
        .await;
    spaces
        .refused(Method::DELETE, name, None, "unknown_workspace")
        .await;
    spaces
        .refused(
            Method::POST,
            "/v1/chats/a/calls",
            Some(execute("pwd")),
            "unknown_workspace",
        )
        .await;
    // Under the same name there is an empty one, to which the chat still belongs.
    spaces.done(Method::PUT, name, None).await;
    assert_eq!(spaces.run("a", "ls").await, "");
    spaces
        .refused(
            Method::DELETE,
            "/v1/workspaces/default",
            None,
            "default_workspace",
        )
        .await;
}

#[tokio::test]
async fn an_idle_workspace_is_closed_and_one_that_asks_for_it_is_removed() {
    let spaces = Spaces::new().await;
    for (name, idle) in [("goes", Some(1)), ("stays", None)] {
        let body = idle.map(|idle| json!({ "idle_seconds": idle }));
        spaces
            .done(Method::PUT, &format!("/v1/workspaces/{name}"), body)
            .await;
        let call = within(name, "echo x > file; sleep 1000 & echo $!");
        spaces
            .done(Method::POST, &format!("/v1/chats/{name}/calls"), call)
            .await;
    }
    let state = async |name: &str| {
        let (_, state) = spaces
            .ask(Method::GET, &format!("/v1/workspaces/{name}"), None)
            .await;
        state
    };
    // A process keeps it, however long no call has used it.
    let host = &spaces.setup.host;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    host.tidy_up_workspaces(Duration::from_hours(1)).await;
    assert_eq!(state("goes").await["state"], "open");
    for name in ["goes", "stays"] {
        spaces
            .done(Method::DELETE, &format!("/v1/chats/{name}"), None)
            .await;
    }
    // The second is counted from the end of the last call.
    while spaces.directory("goes").exists() {
        tokio::time::sleep(Duration::from_millis(100)).await;
        host.tidy_up_workspaces(Duration::ZERO).await;
    }
    assert_eq!(state("goes").await["code"], "unknown_workspace");
    assert_eq!(state("stays").await["state"], "closed");
    assert_eq!(spaces.run("stays", "cat file").await, "x\n");
}

#[tokio::test]
async fn the_next_host_finds_each_chat_in_its_workspace() {
    let (base, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let start = async || {
        let (directories, state) = (directories(&base), state.path().join("state"));
        let setup = Setup::with(|builder| {
            let builder = builder.directories(directories);
            builder.keep(state).unwrap()
        });
        let setup = setup.await;
        let server = Server::start(setup.host.clone()).await;
        (setup, server)
    };
    let (setup, server) = start().await;
    for (chat, workspace) in [("a", "x/1"), ("b", "x/2")] {
        let call = within(workspace, &format!("echo {chat} > file"));
        let path = format!("/v1/chats/{chat}/calls");
        assert_eq!(ask(&server, TOKEN, Method::POST, &path, call).await.0, 200);
    }
    server.stop().await;
    drop(setup);
    // What a killed host was making or removing is gone.
    let left = directory(&base, "+new-left");
    std::fs::create_dir(&left).unwrap();
    let (_setup, server) = start().await;
    for chat in ["a", "b"] {
        let path = format!("/v1/chats/{chat}/calls");
        let call = Some(execute("cat file"));
        let (_, answer) = ask(&server, TOKEN, Method::POST, &path, call).await;
        assert_eq!(
            answer["structured"]["output"],
            format!("{chat}\n"),
            "{answer}"
        );
        let other = Some(json!({ "workspace": "x/3" }));
        let path = format!("/v1/chats/{chat}");
        let (status, _) = ask(&server, TOKEN, Method::PUT, &path, other).await;
        assert_eq!(status, 409);
    }
    until("what was left is removed", || {
        (!left.exists()).then_some(())
    })
    .await;
    server.stop().await;
}
