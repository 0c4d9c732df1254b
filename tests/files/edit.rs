//! `edit_files` on real files. Where edits match is tested by the cases of the crate that finds them, which also run here.

use super::*;

#[tokio::test]
async fn files_are_edited_all_or_none() {
    let setup = Setup::new().await;
    for name in ["a", "b", "c"] {
        setup.make(name, format!("{name}: old\n"));
    }
    let entry = |name: &str, old: &str| json!({ "path": name, "edits": [{ "old_text": old, "new_text": "new" }] });
    let files = [entry("a", "old"), entry("b", "missing"), entry("c", "old")];
    let refused = setup
        .try_call("edit_files", json!({ "files": files }))
        .await
        .unwrap_err();
    assert!(
        refused.starts_with("edit b: search string not found in file"),
        "{refused}"
    );
    assert_eq!(setup.content("a"), b"a: old\n");
    let files = [entry("a", "old"), entry("b", "old"), entry("c", "old")];
    let edited = setup.call("edit_files", json!({ "files": files })).await;
    assert_eq!(
        edited["files"][1],
        json!({ "path": "b", "diff": "--- b\n+++ b\n@@ -1 +1 @@\n-b: old\n+b: new\n" })
    );
    for name in ["a", "b", "c"] {
        assert_eq!(setup.content(name), format!("{name}: new\n").as_bytes());
    }
    assert_eq!(setup.names(), ["a", "b", "c"]);
    setup.host.shutdown().await;
}

#[tokio::test]
async fn links_and_other_names_of_one_file() {
    let setup = Setup::new().await;
    setup.make("file", "one two\n");
    setup.link("link", "file");
    let edited = setup.edit("link", "one", "1").await.unwrap();
    assert_eq!(edited["files"][0]["path"], "link");
    assert!(setup.root().join("link").is_symlink());
    assert_eq!(setup.content("file"), b"1 two\n");
    let edit = |path: &str, old: &str, new: &str| json!({ "path": path, "edits": [{ "old_text": old, "new_text": new }] });
    let absolute = setup.root().join("file").display().to_string();
    let files = [
        edit("file", "1", "2"),
        edit(&absolute, "2", "3"),
        edit("./file", "3", "4"),
    ];
    setup.call("edit_files", json!({ "files": files })).await;
    assert_eq!(setup.content("file"), b"4 two\n");
    let files = [edit("file", "4", "5"), edit("link", "5", "6")];
    let refused = setup
        .try_call("edit_files", json!({ "files": files }))
        .await
        .unwrap_err();
    assert_eq!(
        refused,
        "duplicate file path \"link\" aliases \"file\" (same real file): combine edits into a single entry's \"edits\" list"
    );
    assert_eq!(setup.content("file"), b"4 two\n");
    setup.host.shutdown().await;
}

/// Callers that edit one file at once: each edit is made, or its caller is told that the file changed.
#[tokio::test(flavor = "multi_thread")]
async fn no_update_is_lost() {
    const CALLERS: usize = 8;
    let setup = Setup::new().await;
    let lines: String = (0..CALLERS)
        .map(|line| format!("line {line}: old\n"))
        .collect();
    let mut refused = 0;
    // Until two have met.
    for round in 0.. {
        setup.make("file", &lines);
        let edits = (0..CALLERS).map(|line| {
            let (setup, old) = (&setup, format!("line {line}: old"));
            async move { setup.edit("file", &old, &old.replace("old", "new")).await }
        });
        let results = futures_util::future::join_all(edits).await;
        let mut expected = lines.clone();
        for (line, result) in results.iter().enumerate() {
            match result {
                Ok(_) => {
                    expected =
                        expected.replace(&format!("line {line}: old"), &format!("line {line}: new"))
                }
                Err(text) => {
                    assert_eq!(text, "file changed since it was read: file");
                    refused += 1;
                }
            }
        }
        assert_eq!(String::from_utf8(setup.content("file")).unwrap(), expected);
        assert!(results.iter().any(Result::is_ok));
        if refused > 0 && round > 10 {
            break;
        }
    }
    assert_eq!(setup.names(), ["file"]);
    setup.host.shutdown().await;
}
