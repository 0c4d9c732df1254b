//! `POST /edit-files`: which files are edited, and which are not. What a search finds is in `edit_fuzzy`, what a reply shows
//! in `edit_results`, and rows of `NoPermissions` in `permissions`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use futures_util::future::join_all;
use toolhost_needs::needs;

use super::*;
use crate::harness::Mounted;

#[tokio::test]
async fn no_files() {
    let agent = Agent::new().await;
    for body in [json!({ "files": [] }), json!({}), json!({ "files": null })] {
        refused(agent.edit(&body), 400, "must specify at least one file").await;
    }
}

#[tokio::test]
async fn no_path() {
    let agent = Agent::new().await;
    for path in [json!(""), Value::Null] {
        let body = json!({ "files": [{ "path": path, "edits": [replace("a", "b")] }] });
        refused(agent.edit(&body), 400, r#""path" is required"#).await;
    }
}

#[tokio::test]
async fn relative_path_dot_slash() {
    let agent = Agent::new().await;
    agent.make("file", "a");
    let request = agent.edit_one("./file", &[replace("a", "b")]);
    refused(request, 400, r#"file path must be absolute: "./file""#).await;
}

#[tokio::test]
async fn relative_path() {
    let agent = Agent::new().await;
    agent.make("file", "a");
    let request = agent.edit_one("file", &[replace("a", "b")]);
    refused(request, 400, r#"file path must be absolute: "file""#).await;
}

#[tokio::test]
async fn no_edits() {
    let agent = Agent::new().await;
    let path = agent.make("file", "a");
    refused(
        agent.edit_one(&path, &[]),
        400,
        "must specify at least one edit",
    )
    .await;
}

#[tokio::test]
async fn non_existent() {
    let agent = Agent::new().await;
    let path = agent.path("nothing");
    let request = agent.edit_one(&path, &[replace("a", "b")]);
    let text = format!("open {path}: no such file or directory");
    refused(request, 404, &text).await;
    assert!(!agent.root().join("nothing").exists());
}

#[tokio::test]
async fn is_dir() {
    let agent = Agent::new().await;
    let path = agent.directory("directory");
    let request = agent.edit_one(&path, &[replace("a", "b")]);
    refused(request, 400, &format!("open {path}: not a file")).await;
}

#[needs(mount)]
#[tokio::test]
async fn fail_rename() {
    let agent = Agent::new().await;
    let others = [agent.make("a", "foo"), agent.make("z", "foo")];
    let path = agent.make("m", "foo");
    let _mounted = Mounted::at_itself(Path::new(&path));
    let request = agent.edit_one(&path, &[replace("foo", "bar")]);
    refused(request, 500, &format!("edit {path}: ")).await;
    assert_eq!(agent.text("m"), "foo");
    // Those that could be replaced are as they were.
    let files = [&others[0], &path, &others[1]]
        .map(|path| json!({ "path": path, "edits": [replace("foo", "bar")] }));
    let request = agent.edit(&json!({ "files": files }));
    refused(request, 500, &format!("edit {path}: ")).await;
    for name in ["a", "m", "z"] {
        assert_eq!(agent.text(name), "foo");
    }
    assert_eq!(std::fs::read_dir(agent.root()).unwrap().count(), 3);
}

#[tokio::test]
async fn edit_1() {
    let agent = Agent::new().await;
    let path = agent.make("file", "foo bar");
    let body = ok(agent.edit_one(&path, &[replace("foo", "bar")])).await;
    assert_eq!(body, json!({}));
    assert_eq!(agent.text("file"), "bar bar");
}

#[tokio::test]
async fn edit_edit_replace_all() {
    let agent = Agent::new().await;
    let path = agent.make("file", "foo bar");
    let edits = [replace("foo", "bar"), replace_all("bar", "qux")];
    ok(agent.edit_one(&path, &edits)).await;
    assert_eq!(agent.text("file"), "qux qux");
}

#[tokio::test]
async fn multiline() {
    let agent = Agent::new().await;
    let path = agent.make("file", "foo\nbar\nbaz\nqux");
    ok(agent.edit_one(&path, &[replace("bar\nbaz", "frob")])).await;
    assert_eq!(agent.text("file"), "foo\nfrob\nqux");
}

#[tokio::test]
async fn multifile() {
    let agent = Agent::new().await;
    let files: Vec<_> = ["file1", "file2", "file3"]
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let path = agent.make(name, format!("file {index}"));
            json!({ "path": path, "edits": [replace("file", &format!("edited{index}"))] })
        })
        .collect();
    ok(agent.edit(&json!({ "files": files }))).await;
    for (index, name) in ["file1", "file2", "file3"].iter().enumerate() {
        assert_eq!(agent.text(name), format!("edited{index} {index}"));
    }
}

/// What may not be reached stands for what may not be read, which no file is for root.
#[tokio::test]
async fn multi_error() {
    let agent = Agent::new().await;
    let good = agent.make("good", "foo");
    let missing = agent.path("missing");
    let files = ["/etc/hostname", &good, &missing]
        .map(|path| json!({ "path": path, "edits": [replace("foo", "bar")] }));
    let request = agent.edit(&json!({ "files": files }));
    let body = refused(request, 404, "outside of the workspace").await;
    let message = body["message"].as_str().unwrap();
    let lines: Vec<_> = message.lines().collect();
    assert_eq!(lines.len(), 2, "{message}");
    assert!(lines[0].starts_with("open /etc/hostname: "), "{message}");
    assert_eq!(
        lines[1],
        format!("open {missing}: no such file or directory")
    );
    assert_eq!(agent.text("good"), "foo");
}

#[tokio::test]
async fn atomic_multi_file_one_fails_none_written() {
    let agent = Agent::new().await;
    let [a, b, c] = ["a", "b", "c"].map(|name| agent.make(name, format!("content {name}")));
    let files = [
        json!({ "path": a, "edits": [replace("content", "changed")] }),
        json!({ "path": b, "edits": [replace("nowhere to be found", "changed")] }),
        json!({ "path": c, "edits": [replace("content", "changed")] }),
    ];
    let request = agent.edit(&json!({ "files": files }));
    let text = format!("edit {b}: search string not found in file");
    refused(request, 400, &text).await;
    for name in ["a", "b", "c"] {
        assert_eq!(agent.text(name), format!("content {name}"));
    }
}

#[tokio::test]
async fn preserves_permissions() {
    let agent = Agent::new().await;
    let path = agent.make("file", "foo");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    ok(agent.edit_one(&path, &[replace("foo", "bar")])).await;
    let found = std::fs::metadata(&path).unwrap();
    assert_eq!(found.permissions().mode() & 0o7777, 0o755);
    assert_eq!(agent.text("file"), "bar");
}

#[tokio::test]
async fn follows_symlinks() {
    let agent = Agent::new().await;
    let target = agent.make("target", "foo");
    let link = agent.link("link", &target);
    ok(agent.edit_one(&link, &[replace("foo", "bar")])).await;
    assert_eq!(std::fs::read_link(&link).unwrap().to_str(), Some(&*target));
    assert_eq!(agent.text("target"), "bar");
}

#[tokio::test]
async fn duplicate_path_merges() {
    let agent = Agent::new().await;
    let path = agent.make("file", "one");
    let files = [
        json!({ "path": path, "edits": [replace("one", "CHANGED")] }),
        json!({ "path": path, "edits": [replace("CHANGED", "FINAL")] }),
    ];
    ok(agent.edit(&json!({ "files": files }))).await;
    assert_eq!(agent.text("file"), "FINAL");
}

#[tokio::test]
async fn duplicate_path_non_canonical_merges() {
    let agent = Agent::new().await;
    let path = agent.make("file", "one two");
    let files = [
        json!({ "path": path, "edits": [replace("one", "1")] }),
        json!({ "path": agent.path("./file"), "edits": [replace("two", "2")] }),
    ];
    ok(agent.edit(&json!({ "files": files }))).await;
    assert_eq!(agent.text("file"), "1 2");
}

#[tokio::test]
async fn duplicate_path_symlink_alias_rejects() {
    let agent = Agent::new().await;
    let path = agent.make("file", "one two");
    let link = agent.link("link", "file");
    let files = [
        json!({ "path": path, "edits": [replace("one", "1")] }),
        json!({ "path": link, "edits": [replace("two", "2")] }),
    ];
    let request = agent.edit(&json!({ "files": files }));
    let text = format!("duplicate file path {link:?} aliases {path:?} (same real file)");
    refused(request, 400, &text).await;
    assert_eq!(agent.text("file"), "one two");
}

/// The parameters are looked at before the body.
#[tokio::test]
async fn what_is_no_request() {
    let agent = Agent::new().await;
    let target = target("edit-files", &[("path", "/x")]);
    let request = agent.server.request(Method::POST, &target).body("{");
    invalid(request, "path", "not a valid query param").await;
    for body in ["", "{", "[]", r#"{"files":{}}"#, r#"{"files":[1]}"#] {
        let request = agent.server.request(Method::POST, "/api/v0/edit-files");
        refused(request.body(body), 400, "Request body must be valid JSON.").await;
    }
    let request = agent.edit_one("/a\0b", &[replace("a", "b")]);
    refused(request, 400, "NUL").await;
}

#[tokio::test]
async fn files_that_are_too_large() {
    let agent = Agent::new().await;
    let path = agent.make("file", vec![b'x'; (4 << 20) + 1]);
    let request = agent.edit_one(&path, &[replace_all("x", "y")]);
    refused(
        request,
        400,
        "file is 4194305 bytes, and the largest that can be edited",
    )
    .await;
    // Each of them is small enough, but not all together.
    let content = "x".repeat(4 << 20) + "y";
    let files: Vec<_> = (0..17)
        .map(|index| {
            let path = agent.make(&format!("file-{index}"), &content[1..]);
            json!({ "path": path, "edits": [replace("y", "z")] })
        })
        .collect();
    let request = agent.edit(&json!({ "files": files }));
    refused(
        request,
        400,
        "the files together are too large for one call",
    )
    .await;
    assert!(agent.text("file-0").ends_with('y'));
    let file = json!({ "path": path, "edits": [replace("y", "z")] });
    let request = agent.edit(&json!({ "files": vec![file; 1001] }));
    refused(request, 400, "must specify at most 200 files").await;
}

/// Clients that edit the same place of two files: each edit is made, on the result of another, in both files or in none.
#[tokio::test]
async fn clients_that_edit_at_once() {
    let agent = Agent::new().await;
    let path = agent.make("file", "end\n");
    let other = agent.make("other", "end\n");
    let client = async |name: String| {
        let insert = replace("end\n", &format!("{name}\nend\n"));
        let body = json!({ "files": [
            { "path": path, "edits": [insert] },
            { "path": other, "edits": [insert] },
        ] });
        let (status, body) = reply(agent.edit(&body)).await;
        assert_eq!(status, 200, "{body}");
    };
    let clients: Vec<_> = (0..12).map(|index| format!("client {index}")).collect();
    join_all(clients.iter().cloned().map(client)).await;
    for name in ["file", "other"] {
        let text = agent.text(name);
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        assert_eq!(lines.pop().unwrap(), "end");
        lines.sort();
        let mut expected = clients.clone();
        expected.sort();
        assert_eq!(lines, expected);
    }
    assert_eq!(agent.text("file"), agent.text("other"));
}
