//! Workspaces and the chats that belong to them.

use toolhost_state::state_dir::StateDir;
use toolhost_store::{AtRest, Binding, Durability, Sqlite, Store, StoredWorkspace};

use crate::file::problems;
use crate::sqlite::open;
use crate::suite::Place;

fn workspace(name: &str) -> StoredWorkspace {
    StoredWorkspace {
        name: name.parse().unwrap(),
        spec: r#"{"provider":"directory"}"#.to_owned(),
        principal: "web".to_owned(),
        created_ms: 1,
        used_ms: 2,
        removed_ms: None,
    }
}

fn binding(chat: &str, workspace: &str) -> Binding {
    Binding {
        chat: chat.parse().unwrap(),
        workspace: workspace.parse().unwrap(),
    }
}

/// A later host finds the workspaces, and each chat in its own; with a workspace, its chats are forgotten.
pub(crate) async fn they_outlive_a_host(place: &dyn Place) {
    let store = place.open();
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
    store
        .remove_workspace("a/x".parse().unwrap())
        .await
        .unwrap();
    drop(store);
    let all = place.open().workspaces().await.unwrap();
    assert_eq!(all.found, [workspace("a/y"), used]);
    assert_eq!(all.bindings, [binding("3", "b"), binding("4", "a/y")]);
    assert_eq!(all.damaged, 0);
}

#[tokio::test]
async fn a_damaged_row_leads_no_chat_into_another_workspace() {
    let base = tempfile::tempdir().unwrap();
    let state = base.path().join("state");
    let store = open(&state, Durability::Host).unwrap();
    for name in ["a", "b"] {
        store.put_workspace(workspace(name)).await.unwrap();
    }
    for (chat, name) in [("1", "a"), ("2", "b")] {
        store.bind(binding(chat, name)).await.unwrap();
    }
    drop(store);
    let database = rusqlite::Connection::open(state.join("store.db")).unwrap();
    for damage in [
        "UPDATE bindings SET workspace = 'b' WHERE chat = '1'",
        "UPDATE workspaces SET spec = '{}' WHERE name = 'a'",
    ] {
        assert_eq!(database.execute(damage, []).unwrap(), 1);
    }
    drop(database);
    assert_eq!(problems(&state).len(), 2);
    let directory = StateDir::open(&state).unwrap();
    let at_rest = AtRest::open(&directory).unwrap().unwrap();
    assert_eq!(at_rest.workspaces().unwrap().damaged, 2);
    drop(at_rest);
    let recovered = Sqlite::recover(&directory, Durability::Host).unwrap();
    assert!(!recovered.is_complete);
    let all = open(&state, Durability::Host).unwrap().workspaces().await;
    let all = all.unwrap();
    assert_eq!((all.found, all.damaged), (vec![workspace("b")], 0));
    assert_eq!(all.bindings, [binding("2", "b")]);
}
