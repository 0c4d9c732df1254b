//! Tests of the workspaces of a host.

use toolhost_call::call::{Actor, Arguments, CallError, Request};
use toolhost_local::DirectoriesConfig;
use toolhost_state::id::CallId;

use super::*;
use crate::host::{Host, Removal};

struct Base(tempfile::TempDir);

impl Base {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        std::fs::create_dir(base.path().join("work")).unwrap();
        Self(base)
    }

    async fn host(&self, makes_workspaces: bool) -> Host {
        let builder = Host::builder(self.0.path().join("work")).without_shell();
        let builder = builder.keep(self.0.path().join("state")).unwrap();
        let directories = DirectoriesConfig {
            root: self.0.path().join("root"),
            ..DirectoriesConfig::default()
        };
        let builder = match makes_workspaces {
            true => builder.directories(directories),
            false => builder,
        };
        builder.start().await.unwrap()
    }
}

fn name(text: &str) -> WorkspaceName {
    text.parse().unwrap()
}

fn chat(text: &str) -> ChatId {
    text.parse().unwrap()
}

fn read(of: &str) -> Request {
    let arguments = Arguments::parse(r#"{"path": "file"}"#).unwrap();
    Request::new(chat(of), CallId::random(), "read_file", arguments)
}

/// Without its provider, a chat runs nowhere: not in the default workspace, and not after it was removed either.
#[tokio::test]
async fn a_chat_never_falls_back_to_another_workspace() {
    let base = Base::new();
    std::fs::write(base.0.path().join("work/file"), "default").unwrap();
    let host = base.host(true).await;
    let actor = Actor::default();
    assert!(host.put_workspace(&name("w"), None, &actor).await.unwrap());
    host.bind_chat(&chat("a"), &name("w"), &actor)
        .await
        .unwrap();
    host.shutdown().await;
    drop(host);

    let host = base.host(false).await;
    assert_eq!(host.workspace_of(&chat("a")), name("w"));
    let refused = host.call(read("a")).await.unwrap_err();
    let lacking = WorkspaceError::NoProvider("directory");
    assert_eq!(refused, CallError::Workspace(lacking));
    assert!(host.call(read("b")).await.unwrap().result.is_ok());
    host.shutdown().await;
    drop(host);

    let host = base.host(true).await;
    host.remove_workspace(&name("w"), Removal::Unused, &actor)
        .await
        .unwrap();
    host.shutdown().await;
    drop(host);
    let host = base.host(true).await;
    let refused = host.call(read("a")).await.unwrap_err();
    let unknown = WorkspaceError::UnknownWorkspace(name("w"));
    assert_eq!(refused, CallError::Workspace(unknown));
    let bound = host.bind_chat(&chat("a"), &name("default"), &actor).await;
    assert!(
        matches!(bound, Err(WorkspaceError::ChatBound { .. })),
        "{bound:?}"
    );
    host.shutdown().await;
}

/// Of calls that name different workspaces, or none, one decides; the others are refused.
#[tokio::test(flavor = "multi_thread")]
async fn first_calls_at_once_agree_on_one_workspace() {
    let base = Base::new();
    std::fs::write(base.0.path().join("work/file"), "default").unwrap();
    let host = base.host(true).await;
    for round in 0..20 {
        let chat = format!("c{round}");
        let calls = [None, Some("x"), Some("y"), Some("x")].map(|workspace| {
            let request = Request {
                workspace: workspace.map(name),
                ..read(&chat)
            };
            let host = host.clone();
            tokio::spawn(async move { (workspace, host.call(request).await) })
        });
        let mut ran = std::collections::BTreeSet::new();
        for called in futures_util::future::join_all(calls).await {
            let (workspace, called) = called.unwrap();
            if called.is_ok() {
                // A call that names none runs in whichever the chat has.
                ran.extend(workspace);
            }
        }
        let place = host.workspace_of(&chat.parse().unwrap());
        assert!(ran.len() <= 1, "{ran:?}");
        assert!(
            ran.iter().all(|ran| *ran == place.as_str()),
            "{ran:?} {place}"
        );
    }
    host.shutdown().await;
}
