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
        (r#"{"path": " /workspace/old ", "content": ""}"#, "old", ""),
        (
            r#"{"file_path": "old", "content": "y", "if_unmodified_since": ""}"#,
            "old",
            "y",
        ),
    ] {
        let written = write(&files, json).unwrap();
        assert!(written.ok);
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
        report("file changed since it was read: a")
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
    assert_eq!(write(&files, r#"{"path": "  ", "content": "x"}"#), missing);
    let missing = Err(Refusal::invalid(
        "content is required; to make an empty file, pass \"\"",
    ));
    assert_eq!(write(&files, r#"{"path": "x"}"#), missing);
    for (path, text) in [
        ("directory", "not a file: directory"),
        ("directory/file/x", "not a directory: directory/file/x"),
        ("locked", "permission denied: locked"),
        ("full", "no space left on device: full"),
        (
            "/etc/passwd",
            "/etc/passwd is outside of the workspace; use paths in /workspace",
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
    insta::assert_snapshot!(schema.value().to_string(), @r#"{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","description":"The file to write: absolute, or relative to the workspace directory. Directories that are missing above it are made."},"content":{"type":"string","description":"The whole new content of the file."},"if_unmodified_since":{"type":"string","description":"The version that read_file replied with. If the file has another one by now, nothing is written."}},"required":["path","content"]}"#);
}
