//! Writes of files in memory.

use toolhost_sdk::Content;
use toolhost_sdk::files::Error;
use toolhost_sdk::testing::{self, FakeFiles, surroundings};

use super::*;

fn arguments(json: &str) -> Arguments {
    testing::arguments(json).unwrap()
}

fn write(files: &FakeFiles, json: &str) -> Result<Written, Refusal> {
    run(files, arguments(json))
}

fn report(text: &str) -> Result<Written, Refusal> {
    Err(Refusal::report(text))
}

#[test]
fn files_are_written_whole() {
    let files = FakeFiles::new().with("old", "old");
    for (json, path, content) in [
        (
            r#"{"path": "new/deep", "content": "x\n"}"#,
            "new/deep",
            "x\n",
        ),
        (
            r#"{"path": "file:///workspace/old", "content": ""}"#,
            "old",
            "",
        ),
        (r#"{"path": "old ", "content": "z"}"#, "old ", "z"),
        (
            r#"{"file_path": "old", "content": "y", "if_unmodified_since": ""}"#,
            "old",
            "y",
        ),
    ] {
        let written = write(&files, json).unwrap();
        assert!(written.ok);
        assert_eq!(
            (written.path, written.note),
            (format!("/workspace/{path}"), None)
        );
        assert_eq!(written.version, files.metadata(path).unwrap().version);
        assert_eq!(files.text(path).unwrap(), content);
    }
}

#[test]
fn a_stale_write_is_refused() {
    let files = FakeFiles::new().with("a", "one");
    let version = files.metadata("a").unwrap().version;
    let json = format!(r#"{{"path": "a", "content": "two", "if_unmodified_since": "{version}"}}"#);
    let second = write(&files, &json).unwrap().version;
    assert_eq!(
        write(&files, &json),
        report("file changed since it was read: a; read it again")
    );
    assert_eq!(files.text("a").unwrap(), "two");
    assert_ne!(version, second);
}

#[test]
fn what_is_wrong_is_said() {
    let files = FakeFiles::new()
        .with("directory/file", "x")
        .fails("locked", Error::Denied("permission denied".into()))
        .fails("full", Error::Failed("no space left on device".into()));
    let missing = Err(Refusal::invalid("path is required"));
    assert_eq!(write(&files, r#"{"content": "x"}"#), missing);
    assert_eq!(write(&files, r#"{"path": "", "content": "x"}"#), missing);
    let missing = Err(Refusal::invalid(
        "content is required; to make an empty file, pass \"\"",
    ));
    assert_eq!(write(&files, r#"{"path": "x"}"#), missing);
    for (path, text) in [
        ("directory", "not a file: directory (it is a directory)"),
        ("directory/file/x", "not a directory: directory/file/x"),
        ("locked", "permission denied: locked"),
        ("full", "no space left on device: full"),
        (
            "/etc/passwd",
            "/etc/passwd is outside of the workspace; use paths in /workspace",
        ),
        (
            "$HOME/x",
            "$HOME/x: variables are not expanded here; use a path in /workspace, absolute or relative to it (or ./ in front, if the \
             name is meant as it is)",
        ),
    ] {
        let json = format!(r#"{{"path": "{path}", "content": "x"}}"#);
        assert_eq!(write(&files, &json), report(text));
    }
    assert!(files.written().is_empty());
    // What the operator did not grant is no fault of the path.
    let denied = "this plugin may read files, not write them";
    let files = FakeFiles::new().fails("a", Error::Denied(denied.into()));
    let refused = write(&files, r#"{"path": "a", "content": "x"}"#);
    assert_eq!(
        refused,
        Err(Refusal::Error(ToolError::Denied(denied.into())))
    );
}

/// Writes a file over another one. Returns its bytes, and the note.
fn over(old: &[u8], new: &str, more: &str) -> Result<(Vec<u8>, String), Refusal> {
    let files = FakeFiles::new().with("f", old);
    let content = serde_json::json!(new);
    let written = write(
        &files,
        &format!(r#"{{"path": "f", "content": {content}{more}}}"#),
    )?;
    let data = files.read("f", 0, 1 << 20).unwrap().data;
    Ok((data, written.note.unwrap_or_default()))
}

#[test]
fn a_file_keeps_its_form() {
    for (old, new, data, note) in [
        (
            &b"\xEF\xBB\xBFa\r\nb\r\n"[..],
            "c\nd\n",
            &b"\xEF\xBB\xBFc\r\nd\r\n"[..],
            "the CRLF line endings of the file were kept; the byte order mark of the file was kept",
        ),
        (b"\xEF\xBB\xBFa", "\u{FEFF}b", b"\xEF\xBB\xBFb", ""),
        (
            b"\xFF\xFEa\0\n\0",
            "\u{E4}",
            b"\xFF\xFE\xE4\0",
            "the byte order mark of the file was kept; the encoding UTF-16LE of the file was kept",
        ),
        (
            b"caf\xE9\n",
            "th\u{E9}\n",
            b"th\xE9\n",
            "the encoding windows-1252 of the file was kept",
        ),
        (
            b"a\nb\n",
            "a\r\nb\r\n",
            b"a\r\nb\r\n",
            "the line endings changed from LF to CRLF",
        ),
        (b"a\r\nb\n", "a\nb\n", b"a\nb\n", ""),
        (b"a\r\n", "no end", b"no end", ""),
        (b"", "\u{E4}\n", b"\xC3\xA4\n", ""),
        (
            b"PK\x03\x04\0",
            "text",
            b"text",
            "the old file is binary (application/zip), not text",
        ),
    ] {
        let written = over(old, new, "").unwrap();
        assert_eq!(written, (data.to_vec(), note.to_owned()), "{new}");
    }
}

#[test]
fn an_encoding_can_be_chosen() {
    let utf8 = over(b"caf\xE9\n", "\u{2192}", r#", "encoding": "utf-8""#).unwrap();
    assert_eq!(
        utf8,
        (
            "\u{2192}".into(),
            "the encoding changed from windows-1252 to UTF-8".into()
        )
    );
    let utf16 = over(b"", "a", r#", "encoding": "utf-16le""#).unwrap();
    assert_eq!(utf16, (b"\xFF\xFEa\0".to_vec(), String::new()));
    let plain = over(b"\xFF\xFEa\0", "b", r#", "encoding": "utf-8""#).unwrap();
    assert_eq!(
        plain,
        (
            b"b".to_vec(),
            "the encoding changed from UTF-16LE to UTF-8".into()
        )
    );
}

#[test]
fn what_would_be_lost_is_refused() {
    let refused = over(b"caf\xE9\n", "th\u{E9}\n\u{2192}", "").unwrap_err();
    assert_eq!(
        refused,
        Refusal::report(
            "write f: windows-1252 has no character U+2192 \"\u{2192}\", which line 2 of the new text has; use other characters, or \
             write all of the file in UTF-8 with encoding: \"utf-8\""
        )
    );
    let damaged = b"\xC3\xA4\xC3\xA4 \xFF\n";
    let refused = over(damaged, "a\n\u{FFFD}\n", "").unwrap_err();
    assert_eq!(
        refused,
        Refusal::report(
            "write f: line 2 of content has U+FFFD, which stands for bytes of the file that are not UTF-8: they would be lost. Use \
             edit_files, which keeps them"
        )
    );
    assert_eq!(over(damaged, "a", "").unwrap().0, b"a");
}

#[test]
fn replies() {
    let reply = refusal::reply(Err::<Written, _>(Refusal::report("no"))).unwrap();
    assert!(reply.is_error());
    assert_eq!(reply.content(), [Content::Text("no".into())]);
    surroundings(|now| now.workspace_root = "/other".into());
    let refused = run(
        &FakeFiles::new(),
        arguments(r#"{"path": "/workspace/x", "content": ""}"#),
    );
    assert_eq!(
        refused,
        report("/workspace/x is outside of the workspace; use paths in /other")
    );
    let schema = Schema::of_arguments::<Arguments>();
    insta::assert_snapshot!(schema.value().to_string(), @r#"{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","description":"The file to write: absolute, or relative to the workspace directory. Directories that are missing above it are made."},"content":{"type":"string","description":"The whole new content of the file."},"if_unmodified_since":{"type":"string","description":"The version that read_file replied with. If the file has another one by now, nothing is written."},"encoding":{"type":"string","description":"The encoding to write, such as \"utf-8\" or \"shift_jis\". Default: that of the file, or UTF-8 for a new one."}},"required":["path","content"]}"#);
}
