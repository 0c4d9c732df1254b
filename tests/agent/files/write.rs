//! `POST /write-file`. Rows of `NoPermissions` are in `permissions`.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use toolhost_link::router;

use crate::agent::offer;
use toolhost_http::access::{Access, LocalAddress, Token};
use tower::ServiceExt;

use super::*;
use crate::harness::{PATIENCE, TOKEN};

#[tokio::test]
async fn no_path() {
    let agent = Agent::new().await;
    for query in [&[][..], &[("path", "")]] {
        let request = agent.write(query, "content");
        invalid(request, "path", r#""path" is required"#).await;
    }
    let request = agent.write(&[("path", "/x"), ("mode", "0600")], "content");
    invalid(request, "mode", "not a valid query param").await;
}

#[tokio::test]
async fn relative_path_dot_slash() {
    let agent = Agent::new().await;
    let request = agent.write(&[("path", "./file")], "content");
    refused(request, 400, r#"file path must be absolute: "./file""#).await;
}

#[tokio::test]
async fn relative_path() {
    let agent = Agent::new().await;
    let request = agent.write(&[("path", "file")], "content");
    refused(request, 400, r#"file path must be absolute: "file""#).await;
}

#[tokio::test]
async fn non_existent() {
    let agent = Agent::new().await;
    let path = agent.path("nested/deeply/file");
    let body = ok(agent.write(&[("path", &path)], "content")).await;
    let message = format!("Successfully wrote to {path:?}");
    assert_eq!(body, json!({ "message": message }));
    assert_eq!(agent.text("nested/deeply/file"), "content");
    let mode = |name: &str| {
        let found = std::fs::metadata(agent.root().join(name)).unwrap();
        found.permissions().mode() & 0o777
    };
    // The umask takes nothing from these, but may take something from what others get.
    assert_eq!(mode("nested") & 0o700, 0o700);
    assert_eq!(mode("nested") & 0o022, 0);
}

#[tokio::test]
async fn is_dir() {
    let agent = Agent::new().await;
    let path = agent.directory("directory");
    let request = agent.write(&[("path", &path)], "content");
    refused(request, 400, &format!("open {path}: is a directory")).await;
}

#[tokio::test]
async fn is_not_dir() {
    let agent = Agent::new().await;
    let path = agent.make("file", "old") + "/below";
    let request = agent.write(&[("path", &path)], "content");
    refused(request, 400, "not a directory").await;
    assert_eq!(agent.text("file"), "old");
}

/// The router alone, for bodies that no client would send.
async fn send(agent: &Agent, path: &str, body: Body) -> (u16, Value) {
    let access = Access {
        tokens: Token::new(TOKEN).unwrap().into(),
        ..Access::default()
    };
    let local = LocalAddress("127.0.0.1:1".parse().unwrap());
    let request = axum::http::Request::post(target("write-file", &[("path", path)]))
        .header("host", "localhost")
        .header("authorization", format!("Bearer {TOKEN}"))
        .extension(local)
        .body(body);
    let response = router(offer(&agent.local), access)
        .oneshot(request.unwrap())
        .await;
    let (parts, body) = response.unwrap().into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let body = serde_json::from_slice(&body).unwrap();
    (parts.status.as_u16(), body)
}

#[tokio::test]
async fn reports_io_error() {
    let agent = Agent::new().await;
    let path = agent.make("file", "old");
    let pieces = [
        Ok(Bytes::from_static(b"new")),
        Err(std::io::Error::other("no more of it")),
    ];
    let body = Body::from_stream(stream::iter(pieces));
    let (status, body) = send(&agent, &path, body).await;
    assert_eq!(status, 500, "{body}");
    assert_eq!(body["message"], "Request body broke off.");
    assert_eq!(body["detail"], "no more of it");
    assert_eq!(agent.text("file"), "old");
    assert_eq!(names(&agent), ["file"]);
}

/// The names in the workspace, in order.
fn names(agent: &Agent) -> Vec<String> {
    let entries = std::fs::read_dir(agent.root()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// A client that goes away in the middle.
#[tokio::test]
async fn a_body_that_breaks_off_leaves_the_file_alone() {
    let agent = Agent::new().await;
    let path = agent.make("file", "old");
    let answer = raw(&agent, &path, 100, Some("new")).await;
    // Whether it still hears the answer is up to the connection.
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 500 "),
        "{answer}"
    );
    assert_eq!(agent.text("file"), "old");
    assert_eq!(names(&agent), ["file"]);
}

/// Announces a body of this size, sends a part of it and says that no more will come, if there is a part; returns the
/// answer.
async fn raw(agent: &Agent, path: &str, size: usize, part: Option<&str>) -> String {
    let address = agent.server.url.trim_start_matches("http://");
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let target = target("write-file", &[("path", path)]);
    let request = format!(
        "POST {target} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\ncontent-length: {size}\r\n\r\n{}",
        part.unwrap_or_default()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    if part.is_some() {
        stream.shutdown().await.unwrap();
    }
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer));
    read.await.unwrap().unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn preserves_permissions() {
    let agent = Agent::new().await;
    let path = agent.make("file", "old");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    ok(agent.write(&[("path", &path)], "new")).await;
    let found = std::fs::metadata(&path).unwrap();
    assert_eq!(found.permissions().mode() & 0o7777, 0o755);
    assert_eq!(agent.text("file"), "new");
}

#[tokio::test]
async fn follows_symlinks() {
    let agent = Agent::new().await;
    agent.directory("directory");
    let target = agent.make("directory/target", "old");
    let link = agent.link("link", &target);
    ok(agent.write(&[("path", &link)], "new")).await;
    assert_eq!(std::fs::read_link(&link).unwrap().to_str(), Some(&*target));
    assert_eq!(agent.text("directory/target"), "new");
    // Also one whose target is not there yet.
    let dangling = agent.link("dangling", "directory/other");
    ok(agent.write(&[("path", &dangling)], "new")).await;
    assert_eq!(agent.text("directory/other"), "new");
}

#[tokio::test]
async fn any_bytes_and_none() {
    let agent = Agent::new().await;
    let bytes: Vec<u8> = (0..=255).cycle().take(5 << 20).collect();
    let path = agent.path("file");
    // More than a body of JSON may have.
    ok(agent.write(&[("path", &path)], bytes.clone())).await;
    assert!(std::fs::read(&path).unwrap() == bytes);
    ok(agent.write(&[("path", &path)], "")).await;
    assert_eq!(std::fs::read(&path).unwrap(), b"");
}

/// The other names of a file keep its content.
#[tokio::test]
async fn a_file_is_replaced_and_not_written_to() {
    let agent = Agent::new().await;
    let path = agent.make("file", "old");
    let other = agent.root().join("other");
    std::fs::hard_link(&path, &other).unwrap();
    ok(agent.write(&[("path", &path)], "new")).await;
    assert_eq!(
        (agent.text("file"), agent.text("other")),
        ("new".into(), "old".into())
    );
    assert_eq!(std::fs::metadata(&path).unwrap().nlink(), 1);
}

#[tokio::test]
async fn a_body_has_a_largest_size() {
    const MOST: usize = 64 << 20;
    let agent = Agent::new().await;
    let path = agent.make("file", "old");
    let text = format!("Request body must have at most {MOST} bytes.");
    // What says how large it is need not be sent for the answer.
    let answer = raw(&agent, &path, MOST + 1, None).await;
    assert!(
        answer.starts_with("HTTP/1.1 413 ") && answer.contains(&text),
        "{answer}"
    );
    // What does not is read up to there.
    let piece = Bytes::from(vec![b'x'; 1 << 20]);
    let pieces = |count: usize, rest: &'static [u8]| {
        let pieces = std::iter::repeat_n(piece.clone(), count);
        let pieces = pieces
            .chain([Bytes::from_static(rest)])
            .map(Ok::<_, std::io::Error>);
        Body::from_stream(stream::iter(pieces))
    };
    let (status, body) = send(&agent, &path, pieces(64, b"x")).await;
    assert_eq!((status, body["message"].as_str()), (413, Some(&*text)));
    assert_eq!(agent.text("file"), "old");
    let (status, body) = send(&agent, &path, pieces(64, b"")).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), MOST as u64);
}
