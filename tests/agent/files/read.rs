//! `GET /read-file`. Rows of `NoPermissions` are in `permissions`.

use reqwest::Response;

use super::*;
use crate::cli::{Serving, server};
use crate::harness::TOKEN;

async fn content(agent: &Agent, query: &[(&str, &str)]) -> (String, Vec<u8>) {
    let response = agent.ask("read-file", query).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let headers = response.headers().clone();
    assert_eq!(headers["x-content-type-options"], "nosniff");
    let kind = headers["content-type"].to_str().unwrap().to_owned();
    let length: usize = headers["content-length"].to_str().unwrap().parse().unwrap();
    let content = response.bytes().await.unwrap().to_vec();
    assert_eq!(content.len(), length);
    (kind, content)
}

/// Reads a stretch of a file whose content is `content`.
async fn stretch(offset: Option<&str>, limit: Option<&str>) -> String {
    let agent = Agent::new().await;
    let path = agent.make("file", "content");
    let mut query = vec![("path", path.as_str())];
    query.extend(offset.map(|offset| ("offset", offset)));
    query.extend(limit.map(|limit| ("limit", limit)));
    let (kind, content) = content(&agent, &query).await;
    assert_eq!(kind, "application/octet-stream");
    String::from_utf8(content).unwrap()
}

#[tokio::test]
async fn no_path() {
    let agent = Agent::new().await;
    for query in [&[][..], &[("path", "")]] {
        let request = agent.ask("read-file", query);
        invalid(request, "path", r#""path" is required"#).await;
    }
}

#[tokio::test]
async fn relative_path_dot_slash() {
    let agent = Agent::new().await;
    agent.make("file", "content");
    let request = agent.ask("read-file", &[("path", "./file")]);
    refused(request, 400, r#"file path must be absolute: "./file""#).await;
}

#[tokio::test]
async fn relative_path() {
    let agent = Agent::new().await;
    agent.make("file", "content");
    let request = agent.ask("read-file", &[("path", "file")]);
    refused(request, 400, r#"file path must be absolute: "file""#).await;
}

#[tokio::test]
async fn negative_limit() {
    let agent = Agent::new().await;
    let request = agent.ask("read-file", &[("path", "/x"), ("limit", "-10")]);
    invalid(request, "limit", "value is negative").await;
}

#[tokio::test]
async fn negative_offset() {
    let agent = Agent::new().await;
    let request = agent.ask("read-file", &[("path", "/x"), ("offset", "-10")]);
    invalid(request, "offset", "value is negative").await;
}

#[tokio::test]
async fn non_existent() {
    let agent = Agent::new().await;
    let path = agent.path("nothing");
    let request = agent.ask("read-file", &[("path", &path)]);
    let text = format!("open {path}: no such file or directory");
    refused(request, 404, &text).await;
}

#[tokio::test]
async fn is_dir() {
    let agent = Agent::new().await;
    let path = agent.directory("directory");
    let request = agent.ask("read-file", &[("path", &path)]);
    refused(request, 400, &format!("open {path}: not a file")).await;
}

#[tokio::test]
async fn defaults() {
    assert_eq!(stretch(None, None).await, "content");
    assert_eq!(stretch(Some("0"), Some("0")).await, "content");
}

#[tokio::test]
async fn limit_1() {
    assert_eq!(stretch(None, Some("1")).await, "c");
}

#[tokio::test]
async fn offset_1() {
    assert_eq!(stretch(Some("1"), None).await, "ontent");
}

#[tokio::test]
async fn limit_1_offset_2() {
    assert_eq!(stretch(Some("2"), Some("1")).await, "n");
}

#[tokio::test]
async fn limit_7() {
    assert_eq!(stretch(None, Some("7")).await, "content");
}

#[tokio::test]
async fn limit_100() {
    assert_eq!(stretch(None, Some("100")).await, "content");
}

#[tokio::test]
async fn offset_7() {
    assert_eq!(stretch(Some("7"), None).await, "");
}

#[tokio::test]
async fn offset_100() {
    assert_eq!(stretch(Some("100"), None).await, "");
}

#[tokio::test]
async fn mime_type_png() {
    let agent = Agent::new().await;
    // The content plays no part.
    for (name, expected) in [
        ("picture.png", "image/png"),
        ("PICTURE.PNG", "image/png"),
        ("page.html", "text/html"),
        ("notes.txt", "text/plain"),
        ("unknown.zzz", "application/octet-stream"),
        ("png", "application/octet-stream"),
    ] {
        let path = agent.make(name, "<html>not a picture");
        let (kind, content) = content(&agent, &[("path", &path)]).await;
        assert_eq!((kind.as_str(), content.len()), (expected, 19), "{name}");
    }
}

/// Everything that is wrong is said at once.
#[tokio::test]
async fn parameters_that_cannot_be_used() {
    let agent = Agent::new().await;
    let query = [
        ("limit", "x"),
        ("offset", "9223372036854775808"),
        ("line", "1"),
        ("line", "2"),
    ];
    let (status, body) = reply(agent.ask("read-file", &query)).await;
    assert_eq!(status, 400);
    let fields: Vec<_> = body["validations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|validation| validation["field"].as_str().unwrap())
        .collect();
    assert_eq!(fields, ["path", "offset", "limit", "line"], "{body}");
    for number in ["+1", "1.5", "-", "--1", " 1", "0x1"] {
        let request = agent.ask("read-file", &[("path", "/x"), ("limit", number)]);
        invalid(request, "limit", "must be a whole number").await;
    }
}

#[tokio::test]
async fn bytes_that_are_no_text() {
    let agent = Agent::new().await;
    let bytes: Vec<u8> = (0..=255).collect();
    let path = agent.make("bytes", &bytes);
    assert_eq!(content(&agent, &[("path", &path)]).await.1, bytes);
    // A name that is no text cannot be asked for.
    let target = format!("/api/v0/read-file?path={path}%ff");
    refused(
        agent.server.request(Method::GET, &target),
        404,
        "no such file",
    )
    .await;
}

#[tokio::test]
async fn several_pieces_are_one_content() {
    let agent = Agent::new().await;
    // One is small enough to be hashed as a whole, and one is not.
    for size in [3 << 20, 9 << 20] {
        let bytes: Vec<u8> = (0..size + 5).map(|index| (index % 251) as u8).collect();
        let path = agent.make("large", &bytes);
        assert!(content(&agent, &[("path", &path)]).await.1 == bytes);
        let query = [
            ("path", path.as_str()),
            ("offset", "1048575"),
            ("limit", "1048578"),
        ];
        assert!(content(&agent, &query).await.1 == bytes[1048575..2097153]);
        let query = [("path", path.as_str()), ("offset", "9223372036854775807")];
        assert_eq!(content(&agent, &query).await.1, b"");
    }
}

#[tokio::test]
async fn only_the_headers() {
    let agent = Agent::new().await;
    let path = agent.make("file.txt", "content");
    let target = target("read-file", &[("path", &path)]);
    let response = agent
        .server
        .request(Method::HEAD, &target)
        .send()
        .await
        .unwrap();
    assert_eq!(response.headers()["content-length"], "7");
    assert_eq!(response.headers()["content-type"], "text/plain");
}

/// What is sent is the file that was asked for, also if it grows. If it becomes shorter, or another file takes its path, the reply
/// breaks off.
#[tokio::test]
async fn a_file_that_changes_meanwhile() {
    let agent = Agent::new().await;
    // More than fits into the buffers on the way.
    let size = 256 << 20;
    for change in ["shorter", "longer", "replaced", "removed"] {
        let path = agent.path(change);
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(size).unwrap();
        let mut response = agent
            .ask("read-file", &[("path", &path)])
            .send()
            .await
            .unwrap();
        assert_eq!(response.content_length(), Some(size));
        let first = response.chunk().await.unwrap().unwrap().len() as u64;
        match change {
            "shorter" => file.set_len(1).unwrap(),
            "longer" => file.set_len(size * 2).unwrap(),
            "removed" => std::fs::remove_file(&path).unwrap(),
            _ => {
                let other = agent.path("other");
                std::fs::File::create(&other)
                    .unwrap()
                    .set_len(size)
                    .unwrap();
                std::fs::rename(&other, &path).unwrap();
            }
        }
        match rest(response).await {
            Ok(rest) => assert_eq!((change, first + rest), ("longer", size)),
            Err(error) => assert_ne!(change, "longer", "{error}"),
        }
    }
    // And the server is there.
    let path = agent.make("file", "content");
    assert_eq!(content(&agent, &[("path", &path)]).await.1, b"content");
}

/// Reads the rest of a body, and returns its length.
async fn rest(mut response: Response) -> reqwest::Result<u64> {
    let mut length = 0;
    while let Some(piece) = response.chunk().await? {
        length += piece.len() as u64;
    }
    Ok(length)
}

/// The most memory that a process has had, in bytes.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = line
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kib << 10
}

#[tokio::test]
async fn five_gigabytes_take_little_memory() {
    use std::os::unix::fs::FileExt;
    const SIZE: u64 = 5 << 30;
    let workspace = tempfile::tempdir().unwrap();
    let path = workspace.path().canonicalize().unwrap().join("sparse");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(SIZE).unwrap();
    file.write_all_at(b"the end", SIZE - 7).unwrap();
    let mut command = server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN).arg("agent");
    let serving = Serving::of(command);
    let client = crate::harness::http_client().build().unwrap();
    let ask = async |query: &[(&str, &str)]| {
        let mut query = query.to_vec();
        query.push(("path", path.to_str().unwrap()));
        let url = format!("{}{}", serving.url, target("read-file", &query));
        let response = client.get(url).bearer_auth(TOKEN).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response
    };
    let before = peak(serving.child.id());
    let mut all = ask(&[]).await;
    assert_eq!(all.content_length(), Some(SIZE));
    let mut read = 0;
    while read < 96 << 20 {
        read += all.chunk().await.unwrap().unwrap().len();
    }
    // Who has seen enough goes away.
    drop(all);
    let offset = (SIZE - 80 - (64 << 20)).to_string();
    let tail = ask(&[("offset", &offset)]).await;
    let tail = tail.bytes().await.unwrap();
    assert_eq!(tail.len(), 80 + (64 << 20));
    assert!(tail.ends_with(b"\0the end"));
    let more = peak(serving.child.id()) - before;
    assert!(more < 32 << 20, "{more} more bytes of memory");
}
