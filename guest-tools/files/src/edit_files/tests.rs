//! Edits of files in memory. Where they match is tested beside what finds that.

use toolhost_sdk::testing::{self, FakeFiles};

use super::*;

fn edit(files: &FakeFiles, json: &str) -> Result<Edited, Refusal> {
    run(files, &testing::arguments(json).unwrap())
}

fn refused(files: &FakeFiles, json: &str) -> String {
    match edit(files, json).unwrap_err() {
        Refusal::Report(text) => text,
        Refusal::Error(error) => error.to_string(),
    }
}

#[test]
fn several_files_are_edited_together() {
    let files = FakeFiles::new()
        .with("a", "one\ntwo\n")
        .with("b", "three\n")
        .with("c", "same\n");
    let edited = edit(
        &files,
        r#"{"files": [
            {"path": "a", "edits": [{"old_text": "one", "new_text": "1"}, {"old_text": "two", "new_text": "2"}]},
            {"path": "/workspace/b", "edits": [{"old_text": "three", "new_text": ""}]},
            {"path": "c", "edits": [{"old_text": "same", "new_text": "same"}]}
        ]}"#,
    )
    .unwrap();
    insta::assert_json_snapshot!(edited, @r#"
    {
      "ok": true,
      "files": [
        {
          "path": "a",
          "diff": "--- a\n+++ a\n@@ -1,2 +1,2 @@\n-one\n-two\n+1\n+2\n"
        },
        {
          "path": "/workspace/b",
          "diff": "--- /workspace/b\n+++ /workspace/b\n@@ -1 +1 @@\n-three\n+\n"
        },
        {
          "path": "c",
          "diff": ""
        }
      ]
    }
    "#);
    assert_eq!(files.text("a").unwrap(), "1\n2\n");
    assert_eq!(files.text("b").unwrap(), "\n");
    let written = files.written();
    let paths: Vec<_> = written[0].iter().map(|write| write.path.as_str()).collect();
    assert_eq!((written.len(), paths), (1, vec!["a", "/workspace/b"]));
}

#[test]
fn older_names_still_work_each_by_itself() {
    for (edits, expected) in [
        (r#"{"search": "cat", "replace": "cow"}"#, "cow dog dog"),
        (
            r#"{"old_string": "cat", "new_string": "cow"}"#,
            "cow dog dog",
        ),
        (
            r#"{"search": "dog", "replace": "pig", "replace_all": true}"#,
            "cat pig pig",
        ),
        (
            r#"{"old_text": "cat", "search": "dog", "new_text": "cow", "replace": "pig"}"#,
            "cow dog dog",
        ),
        (r#"{"old_text": "cat", "replace": "cow"}"#, "cow dog dog"),
    ] {
        let files = FakeFiles::new().with("f", "cat dog dog");
        let json = format!(r#"{{"files": [{{"path": "f", "edits": [{edits}]}}]}}"#);
        edit(&files, &json).unwrap();
        assert_eq!(files.text("f").unwrap(), expected, "{edits}");
    }
}

#[test]
fn nothing_is_written_if_anything_is_wrong() {
    let files = FakeFiles::new()
        .with("a", "one")
        .with("directory/x", "")
        .alias("link", "a")
        .fails("locked", Error::Denied("permission denied".into()));
    let one = |path: &str, old: &str| {
        format!(r#"{{"path": "{path}", "edits": [{{"old_text": "{old}", "new_text": "new"}}]}}"#)
    };
    let all =
        |entries: &[String]| refused(&files, &format!(r#"{{"files": [{}]}}"#, entries.join(",")));
    assert_eq!(refused(&files, r#"{}"#), "files is required");
    assert_eq!(refused(&files, r#"{"files": []}"#), "files is required");
    assert_eq!(
        refused(&files, r#"{"files": [{"path": " ", "edits": []}]}"#),
        "\"path\" is required"
    );
    assert_eq!(
        refused(&files, r#"{"files": [{"path": "a"}]}"#),
        "must specify at least one edit"
    );
    insta::assert_snapshot!(all(&[one("a", "one"), one("missing", "x"), one("directory", "x"), one("locked", "x"), one("../x", "x")]), @r#"
    open missing: no such file or directory
    open directory: not a file
    open locked: permission denied
    open ../x: outside of the workspace; use paths in /workspace
    "#);
    insta::assert_snapshot!(all(&[one("a", "one"), one("link", "new")]), @r#"duplicate file path "link" aliases "a" (same real file): combine edits into a single entry's "edits" list"#);
    assert!(files.written().is_empty());
    assert_eq!(files.text("a").unwrap(), "one");
}

#[test]
fn a_file_that_changed_meanwhile_is_not_written() {
    /// Files of which one changes as soon as it has been read.
    #[derive(Debug)]
    struct Changing(FakeFiles);

    impl Files for Changing {
        fn metadata(&self, path: &str) -> Result<toolhost_sdk::files::Metadata, Error> {
            self.0.metadata(path)
        }
        fn read(
            &self,
            path: &str,
            offset: u64,
            max: u32,
        ) -> Result<toolhost_sdk::files::Chunk, Error> {
            let chunk = self.0.read(path, offset, max)?;
            let write = Write {
                path: "a".into(),
                data: b"one, and another".into(),
                when: Precondition::Any,
            };
            self.0.write_all(&[write]).unwrap();
            Ok(chunk)
        }
        fn skip_lines(
            &self,
            path: &str,
            offset: u64,
            lines: u64,
        ) -> Result<toolhost_sdk::files::Skipped, Error> {
            self.0.skip_lines(path, offset, lines)
        }
        fn write_all(
            &self,
            writes: &[Write],
        ) -> Result<Vec<toolhost_sdk::files::Metadata>, (usize, Error)> {
            self.0.write_all(writes)
        }
        fn read_directory(
            &self,
            path: &str,
            after: Option<&str>,
            max: u32,
        ) -> Result<(Vec<toolhost_sdk::files::Entry>, bool), Error> {
            self.0.read_directory(path, after, max)
        }
    }

    let files = Changing(FakeFiles::new().with("a", "one").with("b", "two"));
    let call = |json: &str| run(&files, &testing::arguments(json).unwrap()).unwrap_err();
    let only = r#"{"files": [{"path": "a", "edits": [{"old_text": "one", "new_text": "1"}]}]}"#;
    assert_eq!(
        call(only),
        Refusal::report("file changed since it was read: a")
    );
    files
        .0
        .write_all(&[Write {
            path: "a".into(),
            data: b"one".into(),
            when: Precondition::Any,
        }])
        .unwrap();
    let both = r#"{"files": [
        {"path": "a", "edits": [{"old_text": "one", "new_text": "1"}]},
        {"path": "b", "edits": [{"old_text": "two", "new_text": "2"}]}
    ]}"#;
    assert_eq!(
        call(both),
        Refusal::report("file changed since it was read: a; no file was written")
    );
    assert_eq!(files.0.text("b").unwrap(), "two");
}

#[test]
fn large_differences_are_cut_and_large_files_refused() {
    let text: String = (0..10_000).map(|line| format!("line {line} x\n")).collect();
    let files = FakeFiles::new()
        .with("a", &text)
        .with("b", "x")
        .with("huge", "x".repeat((4 << 20) + 1));
    let edited = edit(
        &files,
        r#"{"files": [
            {"path": "a", "edits": [{"old_text": " x", "new_text": " y", "replace_all": true}]},
            {"path": "b", "edits": [{"old_text": "x", "new_text": "y"}]}
        ]}"#,
    )
    .unwrap();
    let sizes: Vec<_> = edited.files.iter().map(|file| file.diff.len()).collect();
    assert!(
        (10_000..18_000).contains(&sizes[0]) && sizes[1] < 200,
        "{sizes:?}"
    );
    assert!(edited.files[0].diff.ends_with(" more lines of the diff]"));
    let text = refused(
        &files,
        r#"{"files": [{"path": "huge", "edits": [{"old_text": "y", "new_text": "z"}]}]}"#,
    );
    insta::assert_snapshot!(text, @"open huge: file is 4194305 bytes, and the largest that can be edited has 4194304; use execute with sed, awk or a script");
    // Seven megabytes together are too many.
    let mut files = FakeFiles::new();
    let mut entries = Vec::new();
    for name in ["a", "b", "c"] {
        files = files.with(name, "x".repeat(3 << 20) + "end");
        entries.push(format!(
            r#"{{"path": "{name}", "edits": [{{"old_text": "end", "new_text": ""}}]}}"#
        ));
    }
    let text = refused(&files, &format!(r#"{{"files": [{}]}}"#, entries.join(",")));
    assert_eq!(
        text,
        "the files together are too large for one call; edit fewer at once"
    );
}

/// What was forgotten is no wish to delete.
#[test]
fn a_new_text_is_needed() {
    let files = FakeFiles::new().with("a", "one two");
    let edit_with = |new: &str| {
        format!(r#"{{"files": [{{"path": "a", "edits": [{{"old_text": "one "{new}}}]}}]}}"#)
    };
    assert_eq!(
        refused(&files, &edit_with("")),
        "new_text is required in each edit; to delete old_text, pass \"\""
    );
    edit(&files, &edit_with(r#", "new_text": """#)).unwrap();
    assert_eq!(files.text("a").unwrap(), "two");
}

#[test]
fn the_schema_has_the_names_of_today() {
    let schema = Schema::of_arguments::<Arguments>();
    insta::assert_snapshot!(schema.value().to_string(), @r#"{"type":"object","additionalProperties":false,"properties":{"files":{"type":"array","items":{"description":"One file.","type":"object","properties":{"path":{"description":"The file to edit: absolute, or relative to the workspace directory.","type":"string"},"edits":{"description":"The edits, made in order.","type":"array","items":{"description":"One edit.","type":"object","properties":{"old_text":{"description":"The text to replace, exactly as it is in the file, with enough of what is around it to occur once.","type":"string"},"new_text":{"description":"The text to put in its place; empty to delete it.","type":"string"},"replace_all":{"description":"Replace every occurrence, instead of refusing where there are several.","type":"boolean","default":false}},"additionalProperties":false,"required":["old_text","new_text"]},"minItems":1}},"additionalProperties":false,"required":["path","edits"]},"description":"The files to edit.","minItems":1}},"required":["files"]}"#);
}
