//! Searches of files in memory.

use toolhost_sdk::testing::{self, FakeFiles};

use super::*;

fn files() -> FakeFiles {
    FakeFiles::new()
        .with("a.rs", "fn main() {\n    run();\n}\n\nfn run() {}\n")
        .with("src/b.py", "run()\n")
        .with(".hidden", "run")
}

fn search(files: &FakeFiles, json: &str) -> Result<Searched, String> {
    let found = run(files, &testing::arguments(json).unwrap(), Reader::Model);
    found.map_err(|refusal| match refusal {
        Refusal::Report(text) => text,
        Refusal::Error(error) => error.to_string(),
    })
}

#[test]
fn lines_are_below_their_files() {
    let found = search(&files(), r#"{"pattern": "run", "before": 1}"#).unwrap();
    let expected = "a.rs\n1-fn main() {\n2:    run();\n--\n4-\n5:fn run() {}\n\nsrc/b.py\n1:run()";
    assert_eq!(found.content.as_deref(), Some(expected));
    assert_eq!((found.total_matches, found.total_files), (3, 2));
    assert_eq!((found.next_offset, found.note), (None, None));
}

#[test]
fn only_context_is_divided() {
    let plain = search(&files(), r#"{"pattern": "run", "path": "a.rs"}"#).unwrap();
    let expected = "a.rs\n2:    run();\n5:fn run() {}";
    assert_eq!(plain.content.as_deref(), Some(expected));
}

#[test]
fn a_script_gets_lines_apart() {
    let arguments = testing::arguments(r#"{"pattern": "run", "glob": "*.py"}"#).unwrap();
    let found = run(&files(), &arguments, Reader::Program).unwrap();
    let lines = &found.files.unwrap()[0].lines;
    assert_eq!((lines[0].line, lines[0].text.as_str()), (1, "run()"));
    assert_eq!(found.content, None);
}

#[test]
fn files_and_counts() {
    let paths = search(&files(), r#"{"pattern": "run", "output": "files"}"#).unwrap();
    assert_eq!(paths.paths.unwrap(), ["a.rs", "src/b.py"]);
    let counts = search(
        &files(),
        r#"{"pattern": "run", "output": "counts", "limit": 1}"#,
    )
    .unwrap();
    assert_eq!(counts.next_offset, Some(1));
    let counts = counts.files.unwrap();
    assert_eq!((counts[0].path.as_str(), counts[0].matches), ("a.rs", 2));
}

#[test]
fn pages_follow_each_other() {
    let many: String = (0..500).map(|number| format!("x{number}\n")).collect();
    let files = FakeFiles::new()
        .with("many", many)
        .with("wide", "x".repeat(600));
    let (mut offset, mut lines) = (0, 0);
    loop {
        let json = format!(r#"{{"pattern": "x", "offset": {offset}}}"#);
        let page = search(&files, &json).unwrap();
        let content = page.content.unwrap();
        assert!(content.len() <= MAX_BYTES + 100);
        lines += content.lines().filter(|line| line.contains(':')).count();
        match page.next_offset {
            Some(next) => offset = next,
            None => {
                assert!(content.ends_with("[line cut]"));
                break;
            }
        }
    }
    assert_eq!((lines, offset), (501, 400));
}

#[test]
fn a_page_has_room_for_so_many_bytes() {
    let line = format!("{}\n", "x".repeat(400));
    let files = FakeFiles::new().with("f", line.repeat(200));
    let page = search(&files, r#"{"pattern": "x"}"#).unwrap();
    let next = page.next_offset.unwrap();
    assert!((70..90).contains(&next) && page.content.unwrap().len() <= MAX_BYTES);
}

#[test]
fn a_binary_file_is_searched_if_it_is_named() {
    let files = FakeFiles::new().with("n.log", b"one\0error\n");
    let nothing = search(&files, r#"{"pattern": "error"}"#).unwrap();
    let note = nothing.note.unwrap();
    assert!(note.starts_with("0 files were searched; "), "{note}");
    assert!(note.contains("binary files"), "{note}");
    let named = search(&files, r#"{"pattern": "error", "path": "n.log"}"#).unwrap();
    assert_eq!(named.content.as_deref(), Some("n.log\n1:one<U+0000>error"));
}

#[test]
fn what_is_left_out_or_wrong_is_told() {
    let nothing = search(&files(), r#"{"pattern": "nowhere"}"#).unwrap();
    let note = nothing.note.unwrap();
    assert!(
        note.starts_with("2 files were searched; not searched: "),
        "{note}"
    );
    assert_eq!(nothing.content, None);
    let refused = |json: &str| search(&files(), json).unwrap_err();
    assert!(refused(r#"{"pattern": ""}"#).contains("pattern is required"));
    assert!(refused(r#"{"pattern": "run("}"#).contains("set literal"));
    for pattern in ["(?<=a)b", "a(?!b)", r"(a)\\1"] {
        let text = refused(&format!(r#"{{"pattern": "{pattern}"}}"#));
        assert!(text.ends_with("look-around and backreferences"), "{text}");
        assert!(text.contains("grep -P"), "{text}");
    }
    assert!(refused(r#"{"pattern": "x", "offset": -1}"#).contains("offset must not be negative"));
    assert!(refused(r#"{"pattern": "x", "offset": 100000}"#).contains("100000"));
    assert_eq!(
        refused(r#"{"pattern": "x", "path": "gone"}"#),
        "file does not exist: gone"
    );
    let literal = search(&files(), r#"{"pattern": "run(", "literal": true}"#).unwrap();
    assert_eq!(literal.total_matches, 3);
}
