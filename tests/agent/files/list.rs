//! `POST /list-directory`.

use std::os::unix::ffi::OsStrExt;

use super::*;

fn names(listing: &Value) -> Vec<&str> {
    let contents = listing["contents"].as_array().unwrap();
    contents
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect()
}

/// A workspace with two directories and two files.
async fn tree() -> Agent {
    let agent = Agent::new().await;
    agent.directory("repos");
    agent.directory("downloads");
    agent.make("notes.txt", "");
    agent.make("a-file", "");
    agent
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

#[tokio::test]
async fn directories_first_then_files() {
    let agent = tree().await;
    let root = agent.path("");
    let root = root.trim_end_matches('/');
    let expected = json!({
        "absolute_path": parts(root),
        "absolute_path_string": root,
        "contents": [
            { "name": "downloads", "absolute_path_string": agent.path("downloads"), "is_dir": true },
            { "name": "repos", "absolute_path_string": agent.path("repos"), "is_dir": true },
            { "name": "a-file", "absolute_path_string": agent.path("a-file"), "is_dir": false },
            { "name": "notes.txt", "absolute_path_string": agent.path("notes.txt"), "is_dir": false },
        ],
    });
    for (query, body) in [
        (None, json!({ "path": parts(root), "relativity": "root" })),
        (None, json!({ "path": [], "relativity": "home" })),
        (None, json!({ "path": null, "relativity": "home" })),
        (
            None,
            json!({ "path": ["repos", ".."], "relativity": "home" }),
        ),
        (Some(root.to_owned()), json!({})),
        (Some(format!("{root}/repos/..//")), Value::Null),
    ] {
        let query: Vec<_> = query.iter().map(|path| ("path", path.as_str())).collect();
        assert_eq!(ok(agent.list_directory(&query, &body)).await, expected);
    }
}

#[tokio::test]
async fn empty() {
    let agent = Agent::new().await;
    let path = agent.directory("empty");
    let listing = ok(agent.list_directory(&[("path", &path)], &json!({}))).await;
    assert_eq!(listing["contents"], json!([]));
    assert_eq!(listing["absolute_path_string"], path);
}

#[tokio::test]
async fn a_path_of_the_query_must_be_absolute() {
    let agent = tree().await;
    for path in ["repos", "./repos", "~"] {
        let request = agent.list_directory(&[("path", path)], &json!({}));
        refused(request, 400, "must be absolute").await;
    }
}

#[tokio::test]
async fn a_file_is_not_a_directory() {
    let agent = tree().await;
    for path in [agent.path("a-file"), agent.path("a-file") + "/"] {
        let request = agent.list_directory(&[("path", &path)], &json!({}));
        refused(request, 400, "is not a directory").await;
    }
}

#[tokio::test]
async fn what_is_not_there() {
    let agent = tree().await;
    let body = json!({ "path": ["nothing"], "relativity": "home" });
    let request = agent.list_directory(&[], &body);
    refused(request, 404, "no such file or directory").await;
}

/// The parameters are looked at before the body.
#[tokio::test]
async fn what_is_no_request() {
    let agent = tree().await;
    let target = target("list-directory", &[("depth", "2")]);
    let request = agent.server.request(Method::POST, &target).body("{");
    invalid(request, "depth", "not a valid query param").await;
    for body in ["", "{", "[]", r#"{"path":"repos"}"#, r#"{"path":[1]}"#] {
        let request = agent
            .server
            .request(Method::POST, "/api/v0/list-directory")
            .body(body);
        refused(request, 400, "Request body must be valid JSON.").await;
    }
    for relativity in ["", "workspace"] {
        let body = json!({ "path": [], "relativity": relativity });
        refused(
            agent.list_directory(&[], &body),
            400,
            "Unsupported relativity",
        )
        .await;
    }
    let body = json!({ "path": ["a\0b"], "relativity": "home" });
    refused(agent.list_directory(&[], &body), 400, "NUL").await;
}

#[tokio::test]
async fn thousands_of_names_are_in_order() {
    let agent = Agent::new().await;
    let name = |index: usize| format!("name-{:04}", index * 7919 % 3000);
    for index in 0..3000 {
        let path = agent.root().join(name(index));
        match index % 3 {
            0 => std::fs::create_dir(path).unwrap(),
            _ => std::fs::write(path, "").unwrap(),
        }
    }
    let body = json!({ "path": [], "relativity": "home" });
    let listing = ok(agent.list_directory(&[], &body)).await;
    let mut expected: Vec<_> = (0..3000)
        .map(|index| (index % 3 != 0, name(index)))
        .collect();
    expected.sort();
    let expected: Vec<_> = expected.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names(&listing), expected);
    assert_eq!(listing["contents"][999]["is_dir"], true);
    assert_eq!(listing["contents"][1000]["is_dir"], false);
    assert!(listing.get("truncated").is_none());
}

#[tokio::test]
async fn names_that_are_no_text_and_links() {
    let agent = Agent::new().await;
    let name = std::ffi::OsStr::from_bytes(b"a\xff");
    std::fs::write(agent.root().join(name), "").unwrap();
    agent.directory("directory");
    agent.link("link", "directory");
    let listing = ok(agent.list_directory(&[("path", &agent.path(""))], &json!({}))).await;
    assert_eq!(names(&listing), ["directory", "a\u{fffd}", "link"]);
    // A link is listed as what it is, and leads to what it names.
    assert_eq!(listing["contents"][2]["is_dir"], false);
    let path = agent.path("link");
    let listing = ok(agent.list_directory(&[("path", &path)], &json!({}))).await;
    assert_eq!(listing["absolute_path_string"], path);
}
