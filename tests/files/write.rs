//! The reference's tests of writing (`spec/file-tools.md`, 4.3), by their names, and what is ours.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[tokio::test]
async fn the_rows_of_the_reference() {
    let setup = Setup::new().await;
    let no_path = setup
        .try_call("write_file", json!({ "content": "x" }))
        .await;
    assert_eq!(no_path.unwrap_err(), "path is required");
    // Nested.
    let written = setup.write("a/b/c", "content").await.unwrap();
    assert_eq!(written["ok"], true);
    assert_eq!(written["path"], json!(setup.root().join("a/b/c")));
    assert_eq!(setup.content("a/b/c"), b"content");
    assert_eq!(
        setup.write("a", "x").await.unwrap_err(),
        "not a file: a (it is a directory)"
    );
    let below = setup.write("a/b/c/d", "x").await.unwrap_err();
    assert_eq!(below, "not a directory: a/b/c/d");
    // Preserves permissions.
    setup.make("script", "old");
    let mode = |mode| PermissionsExt::from_mode(mode);
    std::fs::set_permissions(setup.root().join("script"), mode(0o755)).unwrap();
    setup.write("script", "new").await.unwrap();
    let found = std::fs::metadata(setup.root().join("script")).unwrap();
    assert_eq!(found.permissions().mode() & 0o7777, 0o755);
    // Follows links.
    setup.link("link", "script");
    setup.write("link", "through").await.unwrap();
    assert!(setup.root().join("link").is_symlink());
    assert_eq!(setup.content("script"), b"through");
    assert_eq!(setup.names(), ["a", "link", "script"]);
    setup.host.shutdown().await;
}

#[tokio::test]
async fn a_stale_write_is_refused() {
    let setup = Setup::new().await;
    setup.make("file", "one\n");
    let page = setup.read("file").await.unwrap();
    let write = async |content: &str, version: &Value| {
        let arguments =
            json!({ "path": "file", "content": content, "if_unmodified_since": version });
        setup.try_call("write_file", arguments).await
    };
    let written = write("two\n", &page["version"]).await.unwrap();
    let stale = write("three\n", &page["version"]).await.unwrap_err();
    assert_eq!(stale, "file changed since it was read: file; read it again");
    assert_eq!(setup.content("file"), b"two\n");
    // A command changes it: same size, and perhaps the same time.
    setup.execute("printf 'owt\\n' > file").await;
    let stale = write("three\n", &written["version"]).await.unwrap_err();
    assert_eq!(stale, "file changed since it was read: file; read it again");
    setup.execute("printf 'two\\n' > file").await;
    write("three\n", &written["version"]).await.unwrap();
    setup.host.shutdown().await;
}
