//! `POST /edit-files`: what a search finds, through the whole endpoint. The matcher has tests of its own.

use super::*;

/// Edits a file and returns what it has then.
async fn edited(content: &str, edits: &[Value]) -> String {
    let agent = Agent::new().await;
    let path = agent.make("file", content);
    ok(agent.edit_one(&path, edits)).await;
    agent.text("file")
}

/// Checks that edits are refused, and the file stays as it is.
async fn rejected(content: &str, edits: &[Value], text: &str) {
    let agent = Agent::new().await;
    let path = agent.make("file", content);
    let body = refused(agent.edit_one(&path, edits), 400, text).await;
    let message = body["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("edit {path}")), "{message}");
    assert_eq!(agent.text("file"), content);
}

#[tokio::test]
async fn edit_edit_ambiguous() {
    let edits = [replace("foo", "bar"), replace("bar", "qux")];
    rejected("foo bar", &edits, "matches 2 occurrences").await;
}

#[tokio::test]
async fn trailing_whitespace() {
    let edits = [replace("foo\nbar\nbaz", "replaced")];
    assert_eq!(edited("foo   \nbar\t\t\nbaz", &edits).await, "replaced   ");
}

#[tokio::test]
async fn tabs_vs_spaces() {
    let content = "\tif true {\n\t\tfoo()\n\t}\n";
    let search = "    if true {\n        foo()\n    }\n";
    let new = "\tif true {\n\t\tbar()\n\t}\n";
    assert_eq!(edited(content, &[replace(search, new)]).await, new);
}

#[tokio::test]
async fn different_indent_depth() {
    let content = "\t\t\tif true {\n\t\t\t\tfoo()\n\t\t\t}\n";
    let search = "\tif true {\n\t\tfoo()\n\t}\n";
    let new = "\t\t\tif true {\n\t\t\t\tbar()\n\t\t\t}\n";
    assert_eq!(edited(content, &[replace(search, new)]).await, new);
}

#[tokio::test]
async fn exact_match_preferred() {
    let edits = [replace("hello world", "goodbye world")];
    assert_eq!(edited("hello world\n", &edits).await, "goodbye world\n");
}

#[tokio::test]
async fn no_match_errors() {
    let edits = [replace("something else", "x")];
    rejected("foo bar", &edits, "search string not found in file").await;
}

#[tokio::test]
async fn ambiguous_exact_match() {
    let edits = [replace("foo", "qux")];
    rejected("foo bar foo baz foo", &edits, "matches 3 occurrences").await;
}

#[tokio::test]
async fn replace_all_exact() {
    let edits = [replace_all("foo", "qux")];
    assert_eq!(
        edited("foo bar foo baz foo", &edits).await,
        "qux bar qux baz qux"
    );
}

#[tokio::test]
async fn replace_all_fuzzy_trailing() {
    let edits = [replace_all("hello\n", "bye\n")];
    let content = "hello   \nworld\nhello   \nagain";
    assert_eq!(
        edited(content, &edits).await,
        "bye   \nworld\nbye   \nagain"
    );
}

#[tokio::test]
async fn replace_all_fuzzy_indent() {
    let edits = [replace_all("    alpha\n", "\t\tREPLACED\n")];
    let content = "\t\talpha\n\t\tbeta\n\t\talpha\n";
    assert_eq!(
        edited(content, &edits).await,
        "\t\tREPLACED\n\t\tbeta\n\t\tREPLACED\n"
    );
}

#[tokio::test]
async fn mixed_whitespace_multiline() {
    let content = "func main() {\n\tif a {\n\t\tb()\n\t}\n}\n";
    let search = "  if a {\n    b()\n  }";
    let new = "\tif a {\n\t\tc()\n\t}";
    let expected = "func main() {\n\tif a {\n\t\tc()\n\t}\n}\n";
    assert_eq!(edited(content, &[replace(search, new)]).await, expected);
}

#[tokio::test]
async fn an_empty_search_is_refused() {
    let text = "search string must not be empty; include the text you want to match";
    for edit in [replace("", "x"), replace_all("", "x"), json!({})] {
        rejected("foo", &[edit], text).await;
    }
}

/// Bytes that are no text stay as they are, where nothing is replaced.
#[tokio::test]
async fn bytes_that_are_no_text() {
    let agent = Agent::new().await;
    let path = agent.make("file", b"\xff foo \xfe\n");
    ok(agent.edit_one(&path, &[replace("foo", "bar")])).await;
    let content = std::fs::read(agent.root().join("file")).unwrap();
    assert_eq!(content, b"\xff bar \xfe\n");
}
