//! Edits of files in memory. Where they match is tested beside what finds that.

use toolhost_sdk::files::Error;
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

/// Models write the arguments of one file without the list.
#[test]
fn one_file_needs_no_list() {
    for json in [
        r#"{"file_path": "a", "old_string": "one", "new_string": "1"}"#,
        r#"{"path": "a", "old_text": "one", "new_text": "1", "replace_all": true}"#,
        r#"{"path": "a", "edits": [{"old_text": "one", "new_text": "1"}]}"#,
    ] {
        let files = FakeFiles::new().with("a", "one\n");
        edit(&files, json).unwrap();
        assert_eq!(files.text("a").unwrap(), "1\n", "{json}");
    }
    let files = FakeFiles::new().with("a", "one\n");
    for (json, why) in [
        (
            r#"{"path": "a", "old_text": "one"}"#,
            "new_text is required in each edit",
        ),
        (
            r#"{"old_text": "one", "new_text": "1"}"#,
            "\"path\" is required",
        ),
        (
            r#"{"path": "a", "files": [{"path": "b", "edits": []}]}"#,
            "belong to an entry of files",
        ),
    ] {
        let text = refused(&files, json);
        assert!(text.contains(why), "{json}: {text}");
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
          "diff": "",
          "note": "nothing changed: the new text is the old one"
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
        refused(&files, r#"{"files": [{"path": "", "edits": []}]}"#),
        "\"path\" is required"
    );
    assert_eq!(
        refused(&files, r#"{"files": [{"path": "a"}]}"#),
        "must specify at least one edit"
    );
    insta::assert_snapshot!(all(&[one("a", "one"), one("missing", "x"), one("directory", "x"), one("locked", "x"), one("../x", "x")]), @r#"
    open missing: no such file or directory; to make a new file, use write_file
    open directory: not a file
    open locked: permission denied
    open ../x: outside of the workspace; use paths in /workspace
    "#);
    insta::assert_snapshot!(all(&[one("a", "one"), one("link", "new")]), @r#"duplicate file path "link" aliases "a" (same real file): combine edits into a single entry's "edits" list"#);
    assert!(files.written().is_empty());
    assert_eq!(files.text("a").unwrap(), "one");
}

#[test]
fn what_others_write_meanwhile_stays() {
    /// Files of which one becomes this as soon as it has been read.
    #[derive(Debug)]
    struct Changing(FakeFiles, &'static str);

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
                data: self.1.into(),
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

    let both = r#"{"files": [
        {"path": "a", "edits": [{"old_text": "one", "new_text": "1"}]},
        {"path": "b", "edits": [{"old_text": "two", "new_text": "2"}]}
    ]}"#;
    let call = |files: &Changing| run(files, &testing::arguments(both).unwrap());
    let files = Changing(
        FakeFiles::new().with("a", "one").with("b", "two"),
        "one, and another",
    );
    call(&files).unwrap();
    assert_eq!(files.0.text("a").unwrap(), "1, and another");
    assert_eq!(files.0.text("b").unwrap(), "2");
    let files = Changing(
        FakeFiles::new().with("a", "zero\none\n").with("b", "two"),
        "zero\nuno\n1\n",
    );
    let Err(Refusal::Report(text)) = call(&files) else {
        panic!("no conflict");
    };
    insta::assert_snapshot!(text, @r"
    edit a: another writer changed lines 2-3 at the same time; read the file again
    edit a: search string not found in file. Verify the search string matches the file content exactly, including whitespace and indentation
    ");
    assert_eq!(files.0.text("a").unwrap(), "zero\nuno\n1\n");
    assert_eq!(files.0.text("b").unwrap(), "two");
}

/// Every place that commands and other tools write bytes in.
#[test]
fn files_keep_their_encoding() {
    let utf16 = |text: &str| -> Vec<u8> {
        let units = text.encode_utf16();
        units.flat_map(u16::to_le_bytes).collect()
    };
    let edits = |old: &str, new: &str| {
        serde_json::json!({"files": [{"path": "f", "edits": [{"old_text": old, "new_text": new}]}]})
            .to_string()
    };
    for (content, old, new, expected, encoding) in [
        (
            utf16("\u{FEFF}a\r\nb\r\n"),
            "a\n",
            "cd\n",
            utf16("\u{FEFF}cd\r\nb\r\n"),
            Some("UTF-16LE"),
        ),
        (
            b"\x95\x5C\x8E\xA6\n\x83\x65\x83\x58\x83\x67\\\n".to_vec(),
            "\\",
            "/",
            b"\x95\x5C\x8E\xA6\n\x83\x65\x83\x58\x83\x67/\n".to_vec(),
            Some("Shift_JIS"),
        ),
        (
            b"# caf\xE9\nx=1\n".to_vec(),
            "x=1",
            "x=\u{E9}",
            b"# caf\xE9\nx=\xE9\n".to_vec(),
            Some("windows-1252"),
        ),
        (
            "\u{FEFF}a\n".into(),
            "a",
            "\u{2192}",
            "\u{FEFF}\u{2192}\n".into(),
            None,
        ),
    ] {
        let files = FakeFiles::new().with("f", &content);
        let edited = edit(&files, &edits(old, new)).unwrap();
        assert_eq!(edited.files[0].encoding, encoding);
        assert_eq!(files.read("f", 0, 99).unwrap().data, expected);
    }
    for (content, why) in [
        (
            &b"PK\x03\x04 x=1 \0"[..],
            "edit f: file is binary (application/zip), not text",
        ),
        (
            &[b"\x7FELFx=1".as_slice(), &[0; 64]].concat(),
            "edit f: file is binary (application/x-executable), not text",
        ),
        (
            b"# caf\xE9\nx=1\n",
            "edit f: windows-1252 has no character U+65E5 \"\u{65E5}\", which line 2 of the new text has; use other characters, or \
             convert the file to UTF-8 first",
        ),
    ] {
        let files = FakeFiles::new().with("f", content);
        assert_eq!(refused(&files, &edits("x=1", "x=\u{65E5}")), why);
        assert!(files.written().is_empty());
    }
    let unknown = r#"{"files": [{"path": "f", "encoding": "rot13", "edits": [{"old_text": "a", "new_text": "b"}]}]}"#;
    assert_eq!(
        refused(&FakeFiles::new(), unknown),
        "encoding \"rot13\" is not known; use a name such as utf-8, utf-16le, windows-1252 or shift_jis"
    );
}

#[test]
fn paths_mean_what_models_mean() {
    let files = FakeFiles::new()
        .with("a b", "one")
        .with("sp", "one")
        .with("sp ", "one");
    let one = |path: &str| {
        format!(
            r#"{{"files": [{{"path": "{path}", "edits": [{{"old_text": "one", "new_text": "1"}}]}}]}}"#
        )
    };
    let edited = edit(&files, &one("file:///workspace/a%20b")).unwrap();
    assert_eq!(edited.files[0].path, "/workspace/a b");
    edit(&files, &one("sp ")).unwrap();
    let texts = ["a b", "sp", "sp "].map(|path| files.text(path).unwrap());
    assert_eq!(texts, ["1", "one", "1"]);
    for path in ["~/x", "$HOME/x", "C:\\\\x"] {
        let text = refused(&files, &one(path));
        assert!(
            text.contains("use a path in /workspace, absolute or relative to it"),
            "{text}"
        );
    }
}

#[test]
fn a_new_file_is_for_another_tool() {
    let files = FakeFiles::new().with("empty", "");
    let text = refused(
        &files,
        r#"{"files": [
            {"path": "empty", "edits": [{"old_text": "a", "new_text": "b"}]},
            {"path": "new", "edits": [{"old_text": "a", "new_text": "b"}]}
        ]}"#,
    );
    insta::assert_snapshot!(text, @r"
    open empty: file is empty; to write it as a whole, use write_file
    open new: no such file or directory; to make a new file, use write_file
    ");
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
        "the files together are too large for one call, which takes 7340032 bytes: the largest, c, has 3145731; edit fewer at once"
    );
    let files = FakeFiles::new().with("f", "x\n".repeat(1 << 20));
    let long = "y".repeat(10);
    let json = format!(
        r#"{{"files": [{{"path": "f", "edits": [{{"old_text": "x", "new_text": "{long}", "replace_all": true}}]}}]}}"#
    );
    assert_eq!(
        refused(&files, &json),
        "edit f: the file would become 11534336 bytes, and the most that one call can write is 7340032; replace less"
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
    insta::assert_snapshot!(schema.value().to_string(), @r#"{"type":"object","additionalProperties":false,"properties":{"files":{"type":"array","items":{"description":"One file.","type":"object","properties":{"path":{"description":"The file to edit: absolute, or relative to the workspace directory.","type":"string"},"edits":{"description":"The edits, made in order.","type":"array","items":{"description":"One edit.","type":"object","properties":{"old_text":{"description":"The text to replace, exactly as it is in the file, with enough of what is around it to occur once.","type":"string"},"new_text":{"description":"The text to put in its place; empty to delete it.","type":"string"},"replace_all":{"description":"Replace every occurrence, instead of refusing where there are several.","type":"boolean","default":false}},"additionalProperties":false,"required":["old_text","new_text"]},"minItems":1},"encoding":{"description":"The encoding of the file, such as \"shift_jis\". Default: the one that it seems to have.","type":"string"}},"additionalProperties":false,"required":["path","edits"]},"description":"The files to edit.","minItems":1}},"required":["files"]}"#);
}
