//! Workspaces and the chats that belong to them.

use toolhost_store::{Binding, StoredWorkspace};

use crate::suite::Place;

pub(crate) fn workspace(name: &str) -> StoredWorkspace {
    StoredWorkspace {
        name: name.parse().unwrap(),
        spec: r#"{"provider":"directory"}"#.to_owned(),
        principal: "web".to_owned(),
        created_ms: 1,
        used_ms: 2,
        removed_ms: None,
    }
}

pub(crate) fn binding(chat: &str, workspace: &str) -> Binding {
    Binding {
        chat: chat.parse().unwrap(),
        workspace: workspace.parse().unwrap(),
    }
}

/// A later host finds the workspaces, and each chat in its own; with a workspace, its chats are forgotten.
pub(crate) async fn they_outlive_a_host(place: &dyn Place) {
    let store = place.open().await;
    for name in ["a/x", "a/y", "b"] {
        store.put_workspace(workspace(name)).await.unwrap();
    }
    let used = StoredWorkspace {
        used_ms: 3,
        removed_ms: Some(4),
        ..workspace("b")
    };
    store.put_workspace(used.clone()).await.unwrap();
    for (chat, name) in [("1", "a/x"), ("2", "a/x"), ("3", "b"), ("4", "a/y")] {
        store.bind(binding(chat, name)).await.unwrap();
    }
    let bound = store.bind(binding("4", "b")).await.unwrap();
    assert_eq!(bound.as_str(), "a/y", "a chat stays where it is");
    store
        .remove_workspace("a/x".parse().unwrap())
        .await
        .unwrap();
    place.kill(store).await;
    let all = place.open().await.workspaces().await.unwrap();
    assert_eq!(all.found, [workspace("a/y"), used]);
    assert_eq!(all.bindings, [binding("3", "b"), binding("4", "a/y")]);
    assert_eq!(all.damaged, 0);
}
