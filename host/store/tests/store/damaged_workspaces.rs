//! Damaged records of workspaces.

use toolhost_state::state_dir::StateDir;
use toolhost_store::{AtRest, Durability, Sqlite, Store};

use crate::file::problems;
use crate::sqlite::open;
use crate::workspaces::{binding, workspace};

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
