//! Finding files in memory, all of which were changed at 1,000 s.

use toolhost_sdk::testing::{self, FakeFiles};

use super::*;

const NOW: u64 = 1_000_000 + 3_600_000;

fn find(json: &str) -> Result<Found, String> {
    let files = FakeFiles::new()
        .with("a.rs", "12345")
        .with("src/b.rs", "1")
        .with("src/deep/c.py", "")
        .with("My Docs/a b.txt", "123456");
    let found = run(&files, &testing::arguments(json).unwrap(), NOW);
    found.map_err(|refusal| match refusal {
        Refusal::Report(text) => text,
        Refusal::Error(error) => error.to_string(),
    })
}

#[test]
fn files_are_found_by_names_and_facts() {
    for (json, expected) in [
        (
            "{}",
            &["My Docs/a b.txt", "a.rs", "src/b.rs", "src/deep/c.py"][..],
        ),
        (r#"{"glob": "*.rs"}"#, &["a.rs", "src/b.rs"]),
        (r#"{"glob": "*.rs !src"}"#, &["a.rs"]),
        (r#"{"pattern": "*.py"}"#, &["src/deep/c.py"]),
        (
            r#"{"type": "py rs", "path": "src"}"#,
            &["src/b.rs", "src/deep/c.py"],
        ),
        (
            r#"{"max_depth": 2}"#,
            &["My Docs/a b.txt", "a.rs", "src/b.rs"],
        ),
        (r#"{"min_size": 1, "max_size": 4}"#, &["src/b.rs"]),
        (r#"{"newer_than": "2h", "glob": "a.*"}"#, &["a.rs"]),
        (r#"{"newer_than": "30m"}"#, &[]),
        (r#"{"older_than": "30m", "glob": "a.*"}"#, &["a.rs"]),
    ] {
        let found = find(json).unwrap();
        assert_eq!(found.paths.unwrap(), expected, "{json}");
    }
    for (json, expected) in [
        (r#"{"glob": "./src/*.rs"}"#, &["src/b.rs"][..]),
        (r#"{"glob": "/workspace/src/**/*.py"}"#, &["src/deep/c.py"]),
        (
            r#"{"path": "src", "glob": "/workspace/src/*.rs"}"#,
            &["src/b.rs"],
        ),
        (
            r#"{"path": "src", "glob": "/workspace/**/*.py"}"#,
            &["src/deep/c.py"],
        ),
        (r#"{"glob": "My Docs/**"}"#, &["My Docs/a b.txt"]),
        (r#"{"glob": "a b.txt"}"#, &["My Docs/a b.txt"]),
        (r#"{"glob": "a\\ b.txt"}"#, &["My Docs/a b.txt"]),
        (r#"{"glob": "{a b.txt,zzz}"}"#, &["My Docs/a b.txt"]),
        (r#"{"glob": "b.*, c.*"}"#, &["src/b.rs", "src/deep/c.py"]),
        (
            r#"{"glob": ["a b.txt", "c.py"]}"#,
            &["My Docs/a b.txt", "src/deep/c.py"],
        ),
    ] {
        let found = find(json).unwrap();
        assert_eq!(found.paths.unwrap(), expected, "{json}");
    }
    let outside = find(r#"{"path": "src", "glob": "/workspace/*.rs"}"#).unwrap_err();
    assert!(outside.contains("names nothing below /workspace/src"));
    let several = find(r#"{"glob": "Makefile *.mk"}"#).unwrap().note.unwrap();
    assert!(several.contains("as a list"), "{several}");
    let nothing = find(r#"{"glob": "*.go"}"#).unwrap();
    assert!(nothing.note.unwrap().starts_with("not searched: "));
}

#[test]
fn a_page_and_details() {
    let page = find(r#"{"limit": 1, "offset": 2, "details": true}"#).unwrap();
    assert_eq!((page.total, page.next_offset), (4, Some(3)));
    let file = &page.files.unwrap()[0];
    assert_eq!(
        (
            file.path.as_str(),
            file.kind,
            file.size,
            file.modified.as_str()
        ),
        ("src/b.rs", "file", 1, "1970-01-01T00:16:40Z")
    );
}

#[test]
fn what_is_wrong_is_told() {
    assert!(
        find(r#"{"newer_than": "yesterday"}"#)
            .unwrap_err()
            .contains("newer_than")
    );
    assert!(
        find(r#"{"min_size": -1}"#)
            .unwrap_err()
            .contains("min_size")
    );
    assert_eq!(
        find(r#"{"path": "gone"}"#).unwrap_err(),
        "file does not exist: gone"
    );
    assert_eq!(
        find(r#"{"path": "src/depe"}"#).unwrap_err(),
        "file does not exist: src/depe; did you mean src/deep?"
    );
}
