//! Workspaces of one host: the commands of one read, change and find nothing of another.

use reqwest::Method;
use serde_json::json;

use super::site::{DEFAULT, Ground, OFF, PLAIN, SECRET, Site};

/// Ways from one workspace to the other and to the default one.
const WAYS: &[&str] = &[
    "cat @DATA/spaces/b/secret",
    "cat @DATA/spaces/b/../b/secret",
    "ls @DATA/spaces | grep -w b",
    "ls @DATA/spaces/b",
    "cp @DATA/spaces/b/secret copied",
    "ln @DATA/spaces/b/secret linked && cat linked",
    "ln -sfn @DATA/spaces/b link && cat link/secret",
    "touch @DATA/spaces/b/made",
    "mv @DATA/spaces/b @DATA/spaces/a/moved",
    "rm @DATA/spaces/b/secret",
    "cat @WORK/file",
    "touch @WORK/made",
];

/// A server with workspaces, of which `b` has a secret. The chat `a` is in `a`, and `b` in `b`.
async fn spaces(flags: &[&str]) -> Site {
    let ground = Ground::new();
    let root = ground.path("data/spaces");
    let config = format!("[workspaces]\nroot = '{}'\n", root.display());
    ground.write("home/.config/toolhost/toolhost.toml", &config);
    let site = ground.serve(flags);
    for name in ["a", "b"] {
        let made = site.request(Method::PUT, &format!("/v1/workspaces/{name}"));
        assert_eq!(made.send().await.unwrap().status(), 200);
        let bound = site.request(Method::PUT, &format!("/v1/chats/{name}"));
        let bound = bound.json(&json!({ "workspace": name })).send().await;
        assert_eq!(bound.unwrap().status(), 200);
    }
    let written = site.run_in("b", &format!("echo {SECRET} > secret")).await;
    assert_eq!(written.code, Some(0), "{}", written.output);
    site
}

async fn keeps_apart(flags: &[&str]) {
    let site = spaces(flags).await;
    for way in WAYS {
        let reply = site.run_in("a", way).await;
        assert_ne!(reply.code, Some(0), "{flags:?}: {way}");
        assert!(!reply.output.contains(SECRET), "{flags:?}: {way}");
    }
    // In namespaces, a directory beside it may seem to be made.
    _ = site.run_in("a", "mkdir @DATA/spaces/c").await;
    assert!(!site.path("data/spaces/c").exists());
    assert!(site.path("data/spaces/b/secret").exists());
    // The default workspace reaches none of them, and the file tools do not either.
    for way in ["cat @DATA/spaces/b/secret", "ls @DATA/spaces | grep ."] {
        let reply = site.run_in("default", way).await;
        assert_ne!(reply.code, Some(0), "{flags:?}: {way}");
    }
    for chat in ["a", "default"] {
        for path in [site.text("@DATA/spaces/b/secret"), "../b/secret".into()] {
            let (_, read) = site.put(chat, "read_file", json!({ "path": path })).await;
            let text = read.to_string();
            assert!(read["is_error"] == true && !text.contains(SECRET), "{text}");
        }
    }
    // Each still works in its own.
    let own = site.run_in("b", "cat secret; pwd").await;
    assert!(own.output.starts_with(SECRET), "{}", own.output);
}

#[tokio::test]
async fn namespaces_keep_workspaces_apart() {
    keeps_apart(DEFAULT).await;
}

#[tokio::test]
async fn without_namespaces_rules_keep_workspaces_apart() {
    keeps_apart(PLAIN).await;
}

#[tokio::test]
async fn further_paths_of_the_operator_open_no_workspace() {
    keeps_apart(&["--sandbox-no-namespaces", "--sandbox-read=@DATA"]).await;
    keeps_apart(&["--sandbox-write=@DATA"]).await;
}

#[tokio::test]
async fn a_read_only_workspace_is_apart_as_well() {
    let site = spaces(PLAIN).await;
    drop(site);
    let ground = Ground::new();
    let root = ground.path("data/spaces");
    for name in ["a", "b"] {
        ground.write(&format!("data/spaces/{name}/secret"), SECRET);
    }
    let config = format!("[workspaces]\nroot = '{}'\n", root.display());
    ground.write("home/.config/toolhost/toolhost.toml", &config);
    std::fs::set_permissions(&root, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let site = ground.serve(&["--sandbox=read-only"]);
    for name in ["a", "b"] {
        let made = site.request(Method::PUT, &format!("/v1/workspaces/{name}"));
        assert_eq!(made.send().await.unwrap().status(), 200);
        let bound = site.request(Method::PUT, &format!("/v1/chats/{name}"));
        let bound = bound.json(&json!({ "workspace": name })).send().await;
        assert_eq!(bound.unwrap().status(), 200);
    }
    let own = site.run_in("a", "cat secret").await;
    assert_eq!(own.output, SECRET);
    for way in [
        "cat @DATA/spaces/b/secret",
        "touch made",
        "ls @DATA/spaces | grep -w b",
    ] {
        let reply = site.run_in("a", way).await;
        assert_ne!(reply.code, Some(0), "{way}: {}", reply.output);
    }
}

/// What the tests above find is not what would happen without a sandbox.
#[tokio::test]
async fn without_a_sandbox_nothing_keeps_workspaces_apart() {
    let site = spaces(OFF).await;
    let reply = site.run_in("a", "cat @DATA/spaces/b/secret").await;
    assert_eq!(reply.output.trim(), SECRET);
}
