//! `edit_files` on real files. Where edits match is tested by the cases of the crate that finds them, which also run here.

use super::*;
use toolhost_server::ServerParts;

use crate::harness::{Server, elsewhere};

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

/// Eight clients that edit a thousand lines of one file in parallel, each its own, in any order. Through an
/// agent, a hundred.
#[tokio::test(flavor = "multi_thread")]
async fn edits_of_different_places_are_all_made() {
    const CLIENTS: usize = 8;
    let count = if elsewhere::is_elsewhere() {
        100
    } else {
        1_000
    };
    let setup = Setup::new().await;
    let lines =
        |word: &str| -> String { (0..count).map(|line| format!("{word} {line};\n")).collect() };
    setup.make("file", lines("old"));
    let began = std::time::Instant::now();
    let clients = (0..CLIENTS).map(async |client| {
        for line in (0..count).filter(|line| line % CLIENTS == client) {
            let (old, new) = (format!("old {line};"), format!("new {line};"));
            setup.edit("file", &old, &new).await.unwrap();
        }
    });
    futures_util::future::join_all(clients).await;
    println!("{count} edits took {:?}", began.elapsed());
    assert_eq!(
        String::from_utf8(setup.content("file")).unwrap(),
        lines("new")
    );
    assert_eq!(setup.names(), ["file"]);
    setup.host.shutdown().await;
}

/// The tool API and the agent API, at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn edits_of_all_surfaces_are_made() {
    // A chat may make 16 calls of a plugin at the same time.
    const LINES: usize = 45;
    let setup = Setup::new().await;
    let server = Server::start(ServerParts::from(setup.host.clone()).with_agent()).await;
    let lines =
        |word: &str| -> String { (0..LINES).map(|line| format!("{word} {line};\n")).collect() };
    setup.make("file", lines("old"));
    let path = setup.root().join("file");
    let edits = (0..LINES).map(async |line| {
        let (old, new) = (format!("old {line};"), format!("new {line};"));
        match line % 3 {
            0 => {
                let edit = json!({ "path": path, "edits": [{ "search": old, "replace": new }] });
                let request = server.request(reqwest::Method::POST, "/api/v0/edit-files");
                let edited = request
                    .json(&json!({ "files": [edit] }))
                    .send()
                    .await
                    .unwrap();
                assert_eq!(edited.status(), 200, "{:?}", edited.text().await);
            }
            1 => {
                let edit =
                    json!({ "path": "file", "edits": [{ "old_text": old, "new_text": new }] });
                let call = json!({ "tool": "edit_files", "arguments": { "files": [edit] } });
                let (status, reply) = server.put("a", &line.to_string(), call).await;
                assert_eq!(
                    (status, &reply["is_error"]),
                    (200, &json!(false)),
                    "{reply}"
                );
            }
            _ => _ = setup.edit("file", &old, &new).await.unwrap(),
        }
    });
    futures_util::future::join_all(edits).await;
    server.stop().await;
    assert_eq!(
        String::from_utf8(setup.content("file")).unwrap(),
        lines("new")
    );
    setup.host.shutdown().await;
}

/// A script that fires all of its edits at once, and a file that is written as a whole beside them.
#[tokio::test(flavor = "multi_thread")]
async fn a_whole_write_wins_or_is_edited() {
    let setup = Setup::new().await;
    for _ in 0..20 {
        setup.make("file", "a: old\n");
        let (edited, written) = futures_util::join!(
            setup.edit("file", "old", "new"),
            setup.write("file", "a: old\nb\n"),
        );
        written.unwrap();
        edited.unwrap();
        let content = String::from_utf8(setup.content("file")).unwrap();
        assert!(
            ["a: old\nb\n", "a: new\nb\n"].contains(&&*content),
            "{content}"
        );
    }
    setup.host.shutdown().await;
}

/// Through the component, which has the tables of all encodings.
#[tokio::test]
async fn files_keep_their_encoding() {
    let setup = Setup::new().await;
    setup.make("sjis", b"\x95\x5C\x8E\xA6\n\x83\x65\x83\x58\x83\x67\\\n");
    let page = setup.read("sjis").await.unwrap();
    assert_eq!(
        page["content"],
        "1\t\u{8868}\u{793A}\n2\t\u{30C6}\u{30B9}\u{30C8}\\"
    );
    assert_eq!(page["encoding"], "Shift_JIS");
    let edited = setup.edit("sjis", "\u{30C8}\\", "\u{8868}/").await.unwrap();
    assert_eq!(edited["files"][0]["encoding"], "Shift_JIS");
    let expected = b"\x95\x5C\x8E\xA6\n\x83\x65\x83\x58\x95\x5C/\n";
    assert_eq!(setup.content("sjis"), expected);
    let written = setup.write("sjis", "\u{8868}\u{793A}\n").await.unwrap();
    assert_eq!(
        written["note"],
        "the encoding Shift_JIS of the file was kept"
    );
    assert_eq!(setup.content("sjis"), b"\x95\x5C\x8E\xA6\n");
    let refused = setup.write("sjis", "\u{E9}").await.unwrap_err();
    assert!(
        refused.contains("Shift_JIS has no character U+00E9"),
        "{refused}"
    );
    setup.execute("tar czf archive.tar.gz sjis").await;
    let refused = setup.edit("archive.tar.gz", "a", "b").await.unwrap_err();
    assert_eq!(
        refused,
        "edit archive.tar.gz: file is binary (application/gzip), not text"
    );
    setup.host.shutdown().await;
}
