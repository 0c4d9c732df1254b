//! `POST /edit-files`: what a reply shows (rows of `FileResults`).

use super::*;

/// Edits files and returns what the reply says of them.
async fn results(agent: &Agent, files: &[(&str, &[Value])]) -> Vec<(String, String)> {
    let files: Vec<_> = files
        .iter()
        .map(|(path, edits)| json!({ "path": path, "edits": edits }))
        .collect();
    let body = ok(agent.edit(&json!({ "files": files, "include_diff": true }))).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let results = body["files"].as_array().unwrap().iter();
    results
        .map(|file| (text(&file["path"]), text(&file["diff"])))
        .collect()
}

#[tokio::test]
async fn single_file() {
    let agent = Agent::new().await;
    let path = agent.make("file", "one\ntwo\nthree\n");
    let results = results(&agent, &[(&path, &[replace("two", "2")])]).await;
    let diff = format!("--- {path}\n+++ {path}\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
    assert_eq!(results, [(path, diff)]);
}

#[tokio::test]
async fn no_op() {
    let agent = Agent::new().await;
    let path = agent.make("file", "one\n");
    let before = std::fs::metadata(&path).unwrap();
    let results = results(&agent, &[(&path, &[replace("one", "one")])]).await;
    assert_eq!(results, [(path.clone(), String::new())]);
    // It is not even replaced.
    use std::os::unix::fs::MetadataExt;
    assert_eq!(std::fs::metadata(&path).unwrap().ino(), before.ino());
}

#[tokio::test]
async fn not_requested() {
    let agent = Agent::new().await;
    let path = agent.make("file", "one");
    for include in [json!(false), Value::Null] {
        let edits = [replace("one", "one")];
        let body = json!({ "files": [{ "path": path, "edits": edits }], "include_diff": include });
        assert_eq!(ok(agent.edit(&body)).await, json!({}));
    }
}

#[tokio::test]
async fn multiple_files_in_order() {
    let agent = Agent::new().await;
    let paths = ["c", "a", "b"].map(|name| agent.make(name, "one\n"));
    let edits = [replace("one", "two")];
    let files = paths.each_ref().map(|path| (path.as_str(), &edits[..]));
    let results = results(&agent, &files).await;
    for ((path, diff), expected) in results.iter().zip(&paths) {
        assert_eq!(path, expected);
        assert_eq!(
            *diff,
            format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-one\n+two\n")
        );
    }
    assert_eq!(results.len(), 3);
}

#[tokio::test]
async fn multiple_edits_one_diff() {
    let agent = Agent::new().await;
    let path = agent.make("file", "one\n");
    let edits = [replace("one", "two"), replace("two", "three")];
    let results = results(&agent, &[(&path, &edits)]).await;
    assert_eq!(results.len(), 1);
    let diff = &results[0].1;
    assert!(
        diff.contains("\n-one\n+three\n") && !diff.contains("two"),
        "{diff}"
    );
}

#[tokio::test]
async fn symlink_uses_the_path_of_the_caller() {
    let agent = Agent::new().await;
    agent.make("target", "one\n");
    let link = agent.link("link", "target");
    let results = results(&agent, &[(&link, &[replace("one", "two")])]).await;
    assert_eq!(results[0].0, link);
    assert!(
        results[0]
            .1
            .starts_with(&format!("--- {link}\n+++ {link}\n"))
    );
    assert_eq!(agent.text("target"), "two\n");
}
