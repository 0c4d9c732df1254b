//! The reference's tests of reading (`spec/file-tools.md`, 4.2), by their names, and what is ours.

use super::*;

#[tokio::test]
async fn the_rows_of_the_reference() {
    let setup = Setup::new().await;
    let root = setup.root();
    let no_path = setup.try_call("read_file", json!({})).await;
    assert_eq!(no_path.unwrap_err(), "path is required");
    let missing = setup.read("/nowhere").await.unwrap_err();
    assert_eq!(
        missing,
        format!(
            "/nowhere is outside of the workspace; use paths in {}, and execute for other files",
            root.display()
        )
    );
    assert_eq!(
        setup.read("none").await.unwrap_err(),
        "file does not exist: none"
    );
    setup.make("empty", "");
    let empty = setup.read("empty").await.unwrap();
    assert_eq!(
        (
            &empty["total_lines"],
            &empty["lines_read"],
            &empty["file_size"],
            &empty["content"]
        ),
        (&json!(0), &json!(0), &json!(0), &json!(""))
    );
    setup.make("lines", "line1\nline2\nline3");
    for (offset, limit, content, read) in [
        (None, None, "1\tline1\n2\tline2\n3\tline3", 3),
        (Some(2), None, "2\tline2\n3\tline3", 2),
        (None, Some(1), "1\tline1", 1),
        (Some(2), Some(1), "2\tline2", 1),
    ] {
        let path = root.join("lines");
        let arguments = json!({ "path": path, "offset": offset, "limit": limit });
        let page = setup.call("read_file", arguments).await;
        assert_eq!(
            (&page["content"], &page["lines_read"], &page["total_lines"]),
            (&json!(content), &json!(read), &json!(3))
        );
    }
    let beyond = json!({ "path": "lines", "offset": 100 });
    assert_eq!(
        setup.try_call("read_file", beyond).await.unwrap_err(),
        "offset 100 is beyond the file length of 3 lines"
    );
    setup.make("long", "x".repeat(1025));
    let long = setup.read("long").await.unwrap();
    assert_eq!(
        long["content"],
        format!("1\t{}... [truncated]", "x".repeat(1024))
    );
    assert_eq!(long["file_size"], 1025);
    // The reference refuses what is larger than a mebibyte.
    setup.make("large", "x\n".repeat((1 << 19) + 1));
    let large = setup.read("large").await.unwrap();
    assert_eq!(
        (&large["next_offset"], &large["total_lines"]),
        (&json!(2001), &json!((1 << 19) + 1))
    );
    setup.host.shutdown().await;
}

#[tokio::test]
async fn directories_links_and_what_is_no_text() {
    let setup = Setup::new().await;
    std::fs::create_dir(setup.root().join("sub")).unwrap();
    setup.make("file", "x\n");
    setup.link("inside", setup.root().join("file"));
    setup.make("image", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let listed = setup.read(".").await.unwrap();
    assert_eq!(listed["kind"], "directory");
    assert_eq!(
        listed["entries"],
        json!(["file", "image", "inside", "sub/"])
    );
    let inside = setup.read("sub/../inside").await.unwrap();
    assert_eq!(inside["content"], "1\tx");
    let image = setup.read("image").await.unwrap();
    assert_eq!(
        (&image["kind"], &image["media_type"], &image["content"]),
        (&json!("binary"), &json!("image/png"), &Value::Null)
    );
    setup.host.shutdown().await;
}

#[tokio::test]
async fn names_in_a_directory_say_what_they_are() {
    let setup = Setup::new().await;
    setup.make("file", "");
    setup.execute("mkdir sub; mkfifo pipe; : > 'sp '").await;
    let socket = std::os::unix::net::UnixListener::bind(setup.root().join("socket")).unwrap();
    let page = setup.read(".").await.unwrap();
    assert_eq!(
        page["entries"],
        json!([
            "file",
            "pipe (pipe, socket or device)",
            "socket (pipe, socket or device)",
            "sp ",
            "sub/"
        ])
    );
    drop(socket);
    assert_eq!(setup.read("pipe").await.unwrap_err(), "not a file: pipe");
    setup.host.shutdown().await;
}

/// An edit of what a command or a page shows is one of what is there.
#[tokio::test]
async fn characters_without_ink_can_be_edited() {
    let setup = Setup::new().await;
    let shown = setup
        .execute(r"printf 'foo\342\200\213bar\n' > z; cat z")
        .await;
    assert_eq!(shown["output"], "foo<U+200B>bar\n");
    assert_eq!(
        shown["note"],
        "1 character without ink is shown by number, such as <U+200B>."
    );
    let page = setup.read("z").await.unwrap();
    assert_eq!(page["content"], "1\tfoo<U+200B>bar");
    setup.edit("z", "foo<U+200B>bar", "foo bar").await.unwrap();
    assert_eq!(setup.content("z"), b"foo bar\n");
    setup.host.shutdown().await;
}
