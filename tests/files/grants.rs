//! Grants of an operator for the tools that use files.

use std::path::PathBuf;

use toolhost_workspace::files::FilesGrant;

use super::*;

#[tokio::test]
async fn a_host_that_may_only_read() {
    let setup = Setup::with(|builder| builder.files(FilesGrant::Read)).await;
    setup.make("file", "x\n");
    assert_eq!(setup.read("file").await.unwrap()["content"], "1\tx");
    let text = "this plugin may read files, not write them: it was granted `files = \"read\"`";
    assert_eq!(setup.write("file", "y").await.unwrap_err(), text);
    assert_eq!(setup.edit("file", "x", "y").await.unwrap_err(), text);
    assert_eq!(setup.content("file"), b"x\n");
    setup.host.shutdown().await;
}

#[tokio::test]
async fn a_host_without_files() {
    let setup = Setup::with(|builder| builder.files(FilesGrant::None)).await;
    let tools = setup.host.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(
        names.contains(&"execute") && !names.contains(&"read_file"),
        "{names:?}"
    );
    setup.host.shutdown().await;
}

#[tokio::test]
async fn a_plugin_that_was_not_granted_files_does_not_load() {
    let workspace = tempfile::tempdir().unwrap();
    let plugin = toolhost_core::Options::new("stranger");
    let started = toolhost_core::Host::builder(workspace.path())
        .files(FilesGrant::None)
        .plugin(toolhost_artifacts::FILES, plugin)
        .start()
        .await;
    let error = format!("{:#}", anyhow::Error::from(started.unwrap_err()));
    insta::assert_snapshot!(error, @r#"plugin stranger cannot be loaded: the plugin imports toolhost:plugin/files@0.1.0, which it was not granted: to grant it, put `grants = { files = "read" }` into [plugins.stranger]. `files` lets it read the files of the workspace and make links to them, and with "write" change them as well"#);
}

#[tokio::test]
async fn further_roots() {
    let more = tempfile::tempdir().unwrap();
    let path = more.path().canonicalize().unwrap();
    std::fs::write(path.join("file"), "more\n").unwrap();
    let roots: Vec<PathBuf> = vec![path.clone()];
    let setup = Setup::with(|builder| builder.file_roots(roots)).await;
    let file = path.join("file").display().to_string();
    setup.edit(&file, "more", "most").await.unwrap();
    assert_eq!(setup.read(&file).await.unwrap()["content"], "1\tmost");
    assert_eq!(std::fs::read(path.join("file")).unwrap(), b"most\n");
    setup.host.shutdown().await;
}

/// The key that compiled code is trusted by, and the tokens, are no files of the workspace, wherever it is.
#[tokio::test]
async fn the_state_directory_is_closed() {
    let base = tempfile::tempdir().unwrap();
    let state = crate::harness::with_code(base.path().join("state"), None);
    let host = toolhost_core::Host::builder(base.path())
        .state_dir(&state)
        .start()
        .await
        .unwrap();
    assert!(state.join("cache.key").exists());
    let workspace = base;
    let setup = Setup::of(host, workspace);
    for path in ["state/cache.key", "state", "state/cache"] {
        let text = setup.read(path).await.unwrap_err();
        assert_eq!(text, format!("{}: {path}", toolhost_state::closed::REFUSAL));
        setup.write(path, "x").await.unwrap_err();
    }
    setup.host.shutdown().await;
}
