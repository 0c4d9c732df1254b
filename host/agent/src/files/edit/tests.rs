//! Tests of edits of a file that another client edits at the same time.

use std::fs;

use axum::response::IntoResponse;
use toolhost_local::{Local, files, process};
use toolhost_store::HostState;

use super::*;

fn body(json: serde_json::Value) -> Body {
    serde_json::from_value(json).unwrap()
}

/// If another client changed one of the files meanwhile, the request writes none of them.
#[tokio::test]
async fn a_file_that_changed_meanwhile_is_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let processes = process::Config::new(directory.path());
    let state = HostState::temporary(directory.path()).unwrap();
    let local = Local::open(processes, files::Config::new(directory.path()), &state);
    let local = local.await.unwrap();
    let path = |name: &str| local.root().join(name);
    for name in ["a", "b"] {
        fs::write(path(name), "one").unwrap();
    }
    let edit = |name: &str, replace: &str| {
        let edits = serde_json::json!([{ "search": "one", "replace": replace }]);
        serde_json::json!({ "path": path(name), "edits": edits })
    };
    let first = body(serde_json::json!({ "files": [edit("a", "1"), edit("b", "1")] }));
    let second = body(serde_json::json!({ "files": [edit("b", "2")] }));
    let changed = path("b");
    let kept = path("a");
    let workspace: Arc<dyn Workspace> = Arc::new(local);
    let (planned, _) = first.run(Arc::clone(&workspace)).await.unwrap();
    let (others, _) = second.run(Arc::clone(&workspace)).await.unwrap();
    write(&*workspace, others).await.unwrap();
    let refused = write(&*workspace, planned).await.unwrap_err();
    let text = serde_json::to_string(&refused).unwrap();
    let expected = format!("edit {}: file changed since it was read", changed.display());
    assert!(text.contains(&expected), "{text}");
    assert_eq!(refused.into_response().status(), StatusCode::CONFLICT);
    assert_eq!(fs::read(kept).unwrap(), b"one");
    assert_eq!(fs::read(changed).unwrap(), b"2");
}
