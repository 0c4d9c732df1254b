//! Edits that meet somebody else's.

use std::fs;

use axum::response::IntoResponse;

use super::*;
use toolhost_local::files::Config;

fn body(json: serde_json::Value) -> Body {
    serde_json::from_value(json).unwrap()
}

fn trail() -> Trail {
    let (audit, metrics) = Default::default();
    Trail::of_client(audit, metrics, "agent-api", "test", None, None)
}

/// Who edits what somebody else has changed meanwhile gets nothing written, whatever else was to be edited.
#[test]
fn a_file_that_changed_meanwhile_is_not_overwritten() {
    let workspace = tempfile::tempdir().unwrap();
    let files = Files::open(&Config::new(workspace.path())).unwrap();
    let path = |name: &str| files.workspace().join(name);
    for name in ["a", "b"] {
        fs::write(path(name), "one").unwrap();
    }
    let edit = |name: &str, replace: &str| {
        let edits = serde_json::json!([{ "search": "one", "replace": replace }]);
        serde_json::json!({ "path": path(name), "edits": edits })
    };
    let first = body(serde_json::json!({ "files": [edit("a", "1"), edit("b", "1")] }));
    let second = body(serde_json::json!({ "files": [edit("b", "2")] }));
    let planned = first.plan(&files).unwrap();
    second.run(&files, &trail()).unwrap();
    let refused = write(&files, planned, &trail()).unwrap_err();
    let text = serde_json::to_string(&refused).unwrap();
    let expected = format!(
        "edit {}: file changed since it was read",
        path("b").display()
    );
    assert!(text.contains(&expected), "{text}");
    assert_eq!(refused.into_response().status(), StatusCode::CONFLICT);
    assert_eq!(fs::read(path("a")).unwrap(), b"one");
    assert_eq!(fs::read(path("b")).unwrap(), b"2");
}
