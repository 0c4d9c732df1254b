//! Files of any size, with little memory.

use std::os::unix::fs::FileExt;

use toolhost_core::{Grants, Options};
use toolhost_plugin::Limits;
use toolhost_workspace::files::FilesGrant;

use super::*;

/// A host whose file tools have little memory.
async fn small() -> Setup {
    let options = Options {
        grants: Grants::default().with_files(FilesGrant::Write),
        limits: Limits {
            memory: 16 << 20,
            ..Limits::default()
        },
        ..Options::new("small")
    };
    Setup::with(|builder| {
        builder
            .files(FilesGrant::None)
            .plugin(toolhost_artifacts::FILES, options)
    })
    .await
}

/// Five gigabytes with text at both ends and in the middle, page by page, with 16 MiB of memory.
#[tokio::test]
async fn a_sparse_file_can_be_paged() {
    const MIDDLE: u64 = 5 << 29;
    const END: u64 = 5 << 30;
    let setup = small().await;
    let file = std::fs::File::create(setup.root().join("sparse")).unwrap();
    let lines = |word: &str| {
        (0..3000)
            .map(|line| format!("{word} {line}\n"))
            .collect::<String>()
    };
    file.write_all_at(lines("first").as_bytes(), 0).unwrap();
    file.write_all_at(format!("\n{}", lines("middle")).as_bytes(), MIDDLE)
        .unwrap();
    file.write_all_at(format!("\n{}", lines("last")).as_bytes(), END)
        .unwrap();
    drop(file);
    let (mut offset, mut seen, mut pages) = (1, Vec::new(), 0);
    loop {
        let page = setup
            .call("read_file", json!({ "path": "sparse", "offset": offset }))
            .await;
        let text = page["content"].as_str().unwrap();
        seen.extend(
            text.lines()
                .map(|line| line.split_once('\t').unwrap().1.to_owned()),
        );
        pages += 1;
        assert!(page["file_size"].as_u64().unwrap() > END);
        match page["next_offset"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert!(pages >= 5, "{pages}");
    assert_eq!(seen.len(), 9002);
    assert_eq!(
        (seen[0].as_str(), seen[2999].as_str()),
        ("first 0", "first 2999")
    );
    assert!(
        seen[3000].ends_with("bytes that are not text]"),
        "{}",
        seen[3000]
    );
    assert_eq!(seen[3001], "middle 0");
    assert_eq!(seen[9001], "last 2999");
    let beyond = json!({ "path": "sparse", "offset": 9003 });
    let refused = setup.try_call("read_file", beyond).await.unwrap_err();
    assert_eq!(
        refused,
        "offset 9003 is beyond the file length of 9002 lines"
    );
    setup.host.shutdown().await;
}

/// The largest file that can be edited, with the memory that plugins have by default.
#[tokio::test]
async fn four_mebibytes_can_be_edited() {
    let setup = Setup::new().await;
    let line = "0123456789abcde\n";
    let text = line.repeat((4 << 20) / line.len() - 1) + "the last line\r\n\n";
    assert_eq!(text.len(), 4 << 20);
    setup.make("file", &text);
    let edited = setup
        .edit("file", "the last line", "THE END")
        .await
        .unwrap();
    assert!(
        edited["files"][0]["diff"]
            .as_str()
            .unwrap()
            .contains("+THE END")
    );
    assert_eq!(
        setup.content("file"),
        text.replace("the last line", "THE END").as_bytes()
    );
    setup.make("file", text + "x");
    let refused = setup
        .edit("file", "the last line", "THE END")
        .await
        .unwrap_err();
    assert!(
        refused.starts_with("open file: file is 4194305 bytes"),
        "{refused}"
    );
    setup.host.shutdown().await;
}

/// Every line differs, each by itself, and all of them are replaced.
#[tokio::test]
async fn a_large_file_can_be_replaced_all_over() {
    let setup = Setup::new().await;
    let text: String = (0..100_000)
        .map(|line| format!("let x{line} = old;\n"))
        .collect();
    setup.make("file", &text);
    let edits = json!([{ "old_text": "old", "new_text": "new", "replace_all": true }]);
    let files = json!([{ "path": "file", "edits": edits }]);
    let edited = setup.call("edit_files", json!({ "files": files })).await;
    let diff = edited["files"][0]["diff"].as_str().unwrap();
    assert!(diff.len() < 40_000 && diff.ends_with("more lines of the diff]"));
    assert_eq!(setup.content("file"), text.replace("old", "new").as_bytes());
    setup.host.shutdown().await;
}
