//! `GET /read-file-lines`. Rows of `NoPermissions` are in `permissions`.

use super::*;

async fn read(agent: &Agent, query: &[(&str, &str)]) -> Value {
    ok(agent.ask("read-file-lines", query)).await
}

/// Reads from a file with this content.
async fn read_of(content: impl AsRef<[u8]>, query: &[(&str, &str)]) -> Value {
    let agent = Agent::new().await;
    let path = agent.make("file", content);
    let mut query = query.to_vec();
    query.push(("path", &path));
    read(&agent, &query).await
}

fn lines(content: &str, lines_read: u64, total_lines: u64, file_size: u64) -> Value {
    json!({
        "success": true, "file_size": file_size, "total_lines": total_lines, "lines_read": lines_read,
        "content": content,
    })
}

fn failed(error: &str) -> Value {
    json!({ "success": false, "error": error })
}

const THREE: &str = "line1\nline2\nline3";

#[tokio::test]
async fn no_path() {
    let agent = Agent::new().await;
    for query in [&[][..], &[("path", "")]] {
        let request = agent.ask("read-file-lines", query);
        invalid(request, "path", "is required").await;
    }
    for name in [
        "offset",
        "limit",
        "max_file_size",
        "max_line_bytes",
        "max_response_lines",
        "max_response_bytes",
    ] {
        let request = agent.ask("read-file-lines", &[("path", "/x"), (name, "-1")]);
        invalid(request, name, "value is negative").await;
    }
    let request = agent.ask("read-file-lines", &[("path", "/x"), ("max_lines", "1")]);
    invalid(request, "max_lines", "not a valid query param").await;
}

#[tokio::test]
async fn relative_path() {
    let agent = Agent::new().await;
    agent.make("file", THREE);
    for path in ["file", "./file"] {
        let expected = failed(&format!("file path must be absolute: {path:?}"));
        assert_eq!(read(&agent, &[("path", path)]).await, expected);
    }
}

#[tokio::test]
async fn non_existent() {
    let agent = Agent::new().await;
    let path = agent.path("nothing");
    let expected = failed(&format!("file does not exist: {path}"));
    assert_eq!(read(&agent, &[("path", &path)]).await, expected);
}

#[tokio::test]
async fn is_dir() {
    let agent = Agent::new().await;
    let path = agent.directory("directory");
    let expected = failed(&format!("not a file: {path}"));
    assert_eq!(read(&agent, &[("path", &path)]).await, expected);
}

#[tokio::test]
async fn empty_file() {
    assert_eq!(read_of("", &[]).await, lines("", 0, 0, 0));
}

#[tokio::test]
async fn basic_read() {
    let expected = lines("1\tline1\n2\tline2\n3\tline3", 3, 3, 17);
    assert_eq!(read_of(THREE, &[]).await, expected);
}

#[tokio::test]
async fn offset_2() {
    let expected = lines("2\tline2\n3\tline3", 2, 3, 17);
    assert_eq!(read_of(THREE, &[("offset", "2")]).await, expected);
}

#[tokio::test]
async fn limit_1() {
    let expected = lines("1\tline1", 1, 3, 17);
    assert_eq!(read_of(THREE, &[("limit", "1")]).await, expected);
}

#[tokio::test]
async fn offset_2_limit_1() {
    let expected = lines("2\tline2", 1, 3, 17);
    let query = [("offset", "2"), ("limit", "1")];
    assert_eq!(read_of(THREE, &query).await, expected);
}

#[tokio::test]
async fn offset_beyond_file() {
    let expected = failed("offset 100 is beyond the file length of 3 lines");
    assert_eq!(read_of(THREE, &[("offset", "100")]).await, expected);
}

#[tokio::test]
async fn long_line_truncation() {
    let shown = format!("1\t{}... [truncated]", "x".repeat(1024));
    let expected = lines(&shown, 1, 1, 1025);
    assert_eq!(read_of("x".repeat(1025), &[]).await, expected);
    let expected = lines(&format!("1\t{}", "x".repeat(1024)), 1, 1, 1024);
    assert_eq!(read_of("x".repeat(1024), &[]).await, expected);
}

#[tokio::test]
async fn large_file() {
    let expected = failed(
        "file is 1048577 bytes which exceeds the maximum of 1048576 bytes. Use grep, sed, or awk to extract the content you need, or use offset and limit to read a portion.",
    );
    let content = "x".repeat((1 << 20) + 1);
    assert_eq!(read_of(&content, &[]).await, expected);
    assert_eq!(read_of(&content, &[("limit", "1")]).await, expected);
    let given = read_of(THREE, &[("max_file_size", "16")]).await;
    let error = given["error"].as_str().unwrap();
    assert!(error.starts_with("file is 17 bytes which exceeds the maximum of 16 bytes."));
}

#[tokio::test]
async fn larger_files_if_the_client_says_so() {
    // Larger than what is read at once.
    let line = "x".repeat(1023) + "\n";
    let content = line.repeat(9 << 10);
    let query = [
        ("max_file_size", "10000000"),
        ("offset", "9216"),
        ("limit", "7"),
    ];
    let read = read_of(&content, &query).await;
    let shown = format!("9216\t{}", line.trim_end());
    assert_eq!(read, lines(&shown, 1, 9 << 10, 9 << 20));
}

#[tokio::test]
async fn more_than_a_reply_may_have() {
    // 33 KB fail outright, and a part of them does not.
    let content = ("x".repeat(999) + "\n").repeat(33);
    let expected = failed(
        "output would exceed 32768 bytes. Read less at a time using offset and limit parameters.",
    );
    assert_eq!(read_of(&content, &[]).await, expected);
    let part = read_of(&content, &[("limit", "32")]).await;
    assert_eq!(
        (&part["lines_read"], &part["total_lines"]),
        (&json!(32), &json!(33))
    );
    let given = read_of(THREE, &[("max_response_bytes", "14")]).await;
    assert!(given["error"].as_str().unwrap().contains("exceed 14 bytes"));
    // Lines: 2,000 are read unless the client wants others, and more than 2,000 are an error.
    let content = "x\n".repeat(3000);
    let read = read_of(&content, &[]).await;
    assert_eq!(
        (&read["lines_read"], &read["total_lines"]),
        (&json!(2000), &json!(3000))
    );
    let expected = failed(
        "output would exceed 2000 lines. Read less at a time using offset and limit parameters.",
    );
    assert_eq!(read_of(&content, &[("limit", "2001")]).await, expected);
    let query = [("limit", "2001"), ("max_response_lines", "2001")];
    assert_eq!(read_of(&content, &query).await["lines_read"], 2001);
}

/// Ours: a line feed ends a line and begins none, and no character is cut in two.
#[tokio::test]
async fn ends_of_lines() {
    let expected = lines("1\ta\n2\tb", 2, 2, 4);
    assert_eq!(read_of("a\nb\n", &[]).await, expected);
    let expected = lines("1\ta\r\n2\t", 2, 2, 4);
    assert_eq!(read_of("a\r\n\n", &[]).await, expected);
    let read = read_of("aäb", &[("max_line_bytes", "2")]).await;
    assert_eq!(read["content"], "1\ta... [truncated]");
    let read = read_of(b"a\xffb\n", &[]).await;
    assert_eq!(read, lines("1\ta\u{fffd}b", 1, 1, 4));
}
