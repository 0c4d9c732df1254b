//! `GET /resolve-path`.

use super::*;

async fn resolved(agent: &Agent, path: &str) -> Value {
    let body = ok(agent.ask("resolve-path", &[("path", path)])).await;
    assert_eq!(body.as_object().unwrap().len(), 1);
    body["resolved_path"].clone()
}

#[tokio::test]
async fn links_of_files_and_of_parents_are_followed() {
    let agent = Agent::new().await;
    agent.directory("real");
    let file = agent.make("real/file", "");
    agent.link("directory", "real");
    agent.link("real/absolute", &file);
    agent.link("chain", "directory/absolute");
    for name in [
        "real/file",
        "directory/file",
        "directory/absolute",
        "chain",
        "./real/../directory//file",
    ] {
        assert_eq!(
            resolved(&agent, &agent.path(name)).await,
            json!(file),
            "{name}"
        );
    }
    let real = agent.path("real");
    assert_eq!(
        resolved(&agent, &agent.path("directory/")).await,
        json!(real)
    );
}

#[tokio::test]
async fn the_last_part_may_be_missing() {
    let agent = Agent::new().await;
    agent.directory("real");
    agent.link("directory", "real");
    agent.link("dangling", "real/target");
    for (name, expected) in [
        ("new", "new"),
        ("directory/new", "real/new"),
        ("dangling", "real/target"),
        ("directory/a/b/c", "real/a/b/c"),
    ] {
        let expected = json!(agent.path(expected));
        assert_eq!(
            resolved(&agent, &agent.path(name)).await,
            expected,
            "{name}"
        );
    }
    let request = agent.ask("resolve-path", &[("path", &agent.path("new/"))]);
    refused(request, 404, "no such file or directory").await;
}

#[tokio::test]
async fn forty_links_are_the_most() {
    let agent = Agent::new().await;
    let file = agent.make("link-0", "");
    for index in 1..=41 {
        agent.link(&format!("link-{index}"), &format!("link-{}", index - 1));
    }
    assert_eq!(resolved(&agent, &agent.path("link-40")).await, json!(file));
    agent.link("loop", "loop");
    for name in ["link-41", "loop"] {
        let request = agent.ask("resolve-path", &[("path", &agent.path(name))]);
        let (status, body) = reply(request).await;
        assert!(status >= 400, "{body}");
        let message = body["message"].as_str().unwrap();
        assert!(message.contains("too many symbolic links"), "{body}");
    }
}

#[tokio::test]
async fn what_is_no_request() {
    let agent = Agent::new().await;
    for query in [&[][..], &[("path", "")]] {
        let request = agent.ask("resolve-path", query);
        invalid(request, "path", r#""path" is required"#).await;
    }
    let query = [("path", "/x"), ("follow", "1")];
    invalid(agent.ask("resolve-path", &query), "follow", "not a valid").await;
    for path in ["file", "./file", "~/file"] {
        let request = agent.ask("resolve-path", &[("path", path)]);
        refused(request, 400, "must be absolute").await;
    }
}
