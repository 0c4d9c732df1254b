//! Patches of files in memory. The formats have their cases in `cases.json`, and what they change together is tested in `toolhost-edit`.

use toolhost_sdk::testing::{self, FakeFiles};

use super::*;

fn apply(files: &FakeFiles, patch: &str) -> Result<Patched, Refusal> {
    let arguments = serde_json::json!({ "patch": patch }).to_string();
    run(files, &testing::arguments(&arguments).unwrap())
}

fn refused(files: &FakeFiles, patch: &str) -> String {
    match apply(files, patch).unwrap_err() {
        Refusal::Report(text) => text,
        Refusal::Error(error) => error.to_string(),
    }
}

#[test]
fn the_description_is_one_that_providers_take() {
    let bytes = ApplyPatch::DESCRIPTION.len();
    assert!(bytes <= 1024, "{bytes}");
}

#[test]
fn files_are_changed_together() {
    let files = FakeFiles::new()
        .with("a", "one\n")
        .with("run.sh", "true\n")
        .with("old", "x\n")
        .with("data", b"PK\x03\x04a\0");
    let patch = "*** Begin Patch
*** Update File: a
@@
-one
+1
*** Update File: run.sh
*** Move to: bin/run.sh
*** Delete File: old
*** Delete File: data
*** Add File: docs/new
+new
*** End Patch";
    let patched = apply(&files, patch).unwrap();
    insta::assert_json_snapshot!(patched, @r#"
    {
      "ok": true,
      "files": [
        {
          "path": "a",
          "change": "updated",
          "diff": "--- a\n+++ a\n@@ -1 +1 @@\n-one\n+1\n"
        },
        {
          "path": "run.sh",
          "change": "moved",
          "to": "bin/run.sh",
          "diff": ""
        },
        {
          "path": "old",
          "change": "deleted",
          "diff": "--- old\n+++ old\n@@ -1 +0,0 @@\n-x\n"
        },
        {
          "path": "data",
          "change": "deleted",
          "diff": "",
          "note": "there is no diff: file is binary (application/zip), not text"
        },
        {
          "path": "docs/new",
          "change": "added",
          "diff": "--- docs/new\n+++ docs/new\n@@ -0,0 +1 @@\n+new\n"
        }
      ]
    }
    "#);
    assert_eq!(files.text("bin/run.sh").unwrap(), "true\n");
    let removed = files.removed();
    let removed: Vec<_> = removed
        .iter()
        .map(|removal| (removal.path.as_str(), removal.moved_to))
        .collect();
    assert_eq!(
        removed,
        [("run.sh", Some(1)), ("old", None), ("data", None)]
    );
    assert_eq!(files.written().len(), 1);
}

#[test]
fn paths_are_those_of_the_workspace() {
    let files = FakeFiles::new()
        .with("src/main.rs", "a\n")
        .alias("link", "src/main.rs");
    let update =
        |path: &str| format!("*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+a\n*** End Patch");
    for (path, expected) in [
        (
            "~/x",
            "open ~/x: ~/x: \"~\" is not expanded here; use a path in /workspace, absolute or relative to it (or ./ in front, if the name is meant as it is)",
        ),
        (
            "/etc/passwd",
            "open /etc/passwd: outside of the workspace; use paths in /workspace",
        ),
        (
            "src/main.rc",
            "open src/main.rc: no such file or directory; did you mean src/main.rs?",
        ),
        (
            "other",
            "open other: no such file or directory; to make a new file, use \"*** Add File: \"",
        ),
        ("src", "open src: not a file"),
    ] {
        assert_eq!(refused(&files, &update(path)), expected);
    }
    let delete = |path: &str| format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch");
    for (path, expected) in [
        (
            "other",
            "open other: no such file or directory; if it is deleted already, leave this section out of the patch",
        ),
        (
            "src/main.rc",
            "open src/main.rc: no such file or directory; did you mean src/main.rs?",
        ),
    ] {
        assert_eq!(refused(&files, &delete(path)), expected);
    }
    for path in [
        "src/main.rs",
        "./src//main.rs",
        "/workspace/src/main.rs",
        "file:///workspace/src/main.rs",
        "link",
    ] {
        assert!(apply(&files, &update(path)).is_ok(), "{path}");
    }
    let both =
        "*** Begin Patch\n*** Delete File: link\n*** Delete File: src/main.rs\n*** End Patch";
    assert_eq!(
        refused(&files, both),
        "duplicate file path \"src/main.rs\" aliases \"link\" (same real file): use one path for it"
    );
}

#[test]
fn what_is_not_granted_or_there_is_an_error() {
    let update = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch";
    for (error, expected) in [
        (
            Error::Denied("this plugin may not".to_owned()),
            "this plugin may not",
        ),
        (Error::Unavailable("gone".to_owned()), "gone"),
        (
            Error::Denied("permission denied".to_owned()),
            "open f: permission denied",
        ),
    ] {
        let files = FakeFiles::new().with("f", "a\n").fails("f", error);
        assert_eq!(refused(&files, update), expected);
    }
}

#[test]
fn large_and_binary_files_are_deleted_and_not_patched() {
    let large = vec![b'a'; MAX_FILE as usize + 1];
    let files = FakeFiles::new().with("f", large).with("g", b"\x7FELF\0\0");
    for path in ["f", "g"] {
        let update = format!("*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch");
        assert!(refused(&files, &update).starts_with(&format!("edit {path}: file is ")));
    }
    let moved = "*** Begin Patch\n*** Update File: f\n*** Move to: h\n*** End Patch";
    assert!(refused(&files, moved).starts_with("edit f: file is 4194305 bytes"));
    let moved =
        "*** Begin Patch\n*** Update File: g\n*** Move to: h\n*** Delete File: f\n*** End Patch";
    apply(&files, moved).unwrap();
    assert_eq!(files.metadata("h").unwrap().size, 6);
    assert_eq!(files.removed().len(), 2);
}
