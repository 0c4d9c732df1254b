//! Tests of edits of a file that other clients edit at the same time.

use std::fs;

use axum::response::IntoResponse;
use futures_util::future::join_all;
use toolhost_local::{Local, files, process};
use toolhost_store::HostState;

use super::*;

fn body(json: serde_json::Value) -> Body {
    serde_json::from_value(json).unwrap()
}

async fn workspace(directory: &tempfile::TempDir) -> Arc<dyn Workspace> {
    let processes = process::Config::new(directory.path());
    let state = HostState::temporary(directory.path()).unwrap();
    let local = Local::open(processes, files::Config::new(directory.path()), &state);
    Arc::new(local.await.unwrap())
}

fn edit(path: &std::path::Path, search: &str, replace: &str) -> serde_json::Value {
    let edits = serde_json::json!([{ "search": search, "replace": replace }]);
    serde_json::json!({ "path": path, "edits": edits })
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_of_different_places_are_all_made() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = workspace(&directory).await;
    let path = workspace.root().join("f");
    let lines = |mark: &str| -> String { (0..40).map(|line| format!("{mark}{line};\n")).collect() };
    fs::write(&path, lines("old ")).unwrap();
    let edits = (0..40).map(|line| {
        let edit = edit(&path, &format!("old {line};"), &format!("new {line};"));
        body(serde_json::json!({ "files": [edit] })).run(Arc::clone(&workspace))
    });
    for made in join_all(edits).await {
        made.unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), lines("new "));
}

/// One of the clients wins, and all files are as it wanted them.
#[tokio::test(flavor = "multi_thread")]
async fn of_edits_of_one_place_one_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = workspace(&directory).await;
    let paths = ["a", "b"].map(|name| workspace.root().join(name));
    for path in &paths {
        fs::write(path, "one").unwrap();
    }
    let edits = (0..8).map(|client| {
        let edits = paths
            .iter()
            .map(|path| edit(path, "one", &format!("client {client}")));
        let edits: Vec<_> = edits.collect();
        body(serde_json::json!({ "files": edits })).run(Arc::clone(&workspace))
    });
    let made = join_all(edits).await;
    let winner = made.iter().position(Result::is_ok).unwrap();
    for path in &paths {
        assert_eq!(
            fs::read_to_string(path).unwrap(),
            format!("client {winner}")
        );
    }
    for (client, made) in made.into_iter().enumerate() {
        let Err(refused) = made else {
            assert_eq!(client, winner);
            continue;
        };
        let text = serde_json::to_string(&refused).unwrap();
        assert!(text.contains("search string not found in file"), "{text}");
        // A client that had read a file before it changed is told so.
        let expected = match text.contains("another writer changed line 1 at the same time") {
            true => StatusCode::CONFLICT,
            false => StatusCode::BAD_REQUEST,
        };
        assert_eq!(refused.into_response().status(), expected);
    }
}
