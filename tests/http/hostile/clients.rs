//! Clients that take their time, or want everything: each is bounded, and another client goes on working.

use std::time::Duration;

use tokio::task::JoinSet;

use super::*;
use crate::harness::serving::Serving;
use crate::harness::{program, with_code};

async fn connect(server: &Server) -> TcpStream {
    connect_to(&server.url).await
}

async fn connect_to(url: &str) -> TcpStream {
    let address = url.trim_start_matches("http://");
    TcpStream::connect(address).await.unwrap()
}

/// Another client, on a connection of its own for each request and on one that it keeps.
async fn others_work(url: &str, request: impl Fn(Method, &str) -> reqwest::RequestBuilder) {
    let fresh = crate::harness::http_client()
        .pool_max_idle_per_host(0)
        .timeout(PATIENCE)
        .build()
        .unwrap();
    for _ in 0..5 {
        let new = fresh.get(format!("{url}/v1/tools"));
        let answer = new.bearer_auth(TOKEN).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let kept = request(Method::GET, "/v1/tools").send().await;
        assert_eq!(kept.unwrap().status(), 200);
    }
}

/// Whether the server has closed a connection on which it said nothing.
fn is_closed(stream: &TcpStream) -> bool {
    match stream.try_read(&mut [0; 1]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

/// A server takes as many connections as half of its descriptors. This one is a process of its own, so that it has few of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_clients_make_room_for_others() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "ulimit -n 400; exec \"$0\" \"$@\""])
        .arg(program())
        .arg("--workspace")
        .arg(workspace.path())
        .arg("--state-dir")
        .arg(with_code(workspace.path().join(".state"), None))
        .env("TOOLHOST_WORKSPACE_ANYWAY", "1")
        .env("TOOLHOST_TOKEN", TOKEN);
    let serving = Serving::start(command);
    let mut idle = Vec::new();
    for _ in 0..350 {
        idle.push(connect_to(&serving.url).await);
    }
    others_work(&serving.url, |method, path| serving.request(method, path)).await;
    let call = serving.request(Method::PUT, "/v1/chats/a/calls/1");
    let called = call.json(&execute("true")).send().await.unwrap();
    assert_eq!(called.status(), 200);
    // Those that were there first have gone, and the others may stay until they have been idle for too long.
    for stream in &idle[..150] {
        stream.readable().await.unwrap();
        assert!(is_closed(stream));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_clients_hold_nobody_up() {
    let (_setup, server) = server().await;
    let body = format!(
        "PUT /v1/chats/a/calls/1 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: 1000\r\n\r\n"
    );
    let mut slow = JoinSet::new();
    for start in ["GET /v1/tools HTTP/1.1\r\nx: ", "\r\n\r\n", &body] {
        for _ in 0..50 {
            let mut stream = connect(&server).await;
            stream.write_all(start.as_bytes()).await.unwrap();
            slow.spawn(async move {
                while stream.write_all(b" ").await.is_ok() {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            });
        }
    }
    // And those that take one byte a second of what they asked for.
    for _ in 0..10 {
        let mut stream = connect(&server).await;
        let request = format!(
            "GET /v1/tools HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
        );
        stream
            .write_all(request.repeat(100).as_bytes())
            .await
            .unwrap();
        slow.spawn(async move {
            while stream.read_u8().await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
    }
    others_work(&server.url, |method, path| server.request(method, path)).await;
    slow.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_of_100_mb_is_refused_before_it_is_there() {
    const SIZE: usize = 100 << 20;
    let (_setup, server) = server().await;
    let head =
        |more: &str| format!("PUT /v1/chats/a/calls/1 HTTP/1.1\r\nhost: localhost\r\n{more}\r\n");
    let token = format!("authorization: Bearer {TOKEN}\r\n");
    let sized = format!("content-length: {SIZE}\r\n");
    let chunked = "transfer-encoding: chunked\r\n";
    for (head, status) in [
        (head(&format!("{token}{sized}")), "413"),
        (head(&format!("{token}{chunked}")), "413"),
        (head(&sized), "401"),
        (head(chunked), "401"),
    ] {
        let (mut read, mut write) = connect(&server).await.into_split();
        write.write_all(head.as_bytes()).await.unwrap();
        let is_chunked = head.contains("chunked");
        let writing = tokio::spawn(async move {
            let piece = [b'x'; 64 << 10];
            let mut sent = 0;
            while sent < SIZE {
                let mut whole = Vec::new();
                if is_chunked {
                    whole.extend_from_slice(b"10000\r\n");
                }
                whole.extend_from_slice(&piece);
                if is_chunked {
                    whole.extend_from_slice(b"\r\n");
                }
                if write.write_all(&whole).await.is_err() {
                    break;
                }
                sent += piece.len();
            }
            sent
        });
        let mut answer = Vec::new();
        // What is not read any more can lead to a reset, behind which the answer may be lost.
        _ = read.read_to_end(&mut answer).await;
        drop(read);
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.is_empty() || answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
        let sent = writing.await.unwrap();
        assert!(sent < SIZE, "all of it was taken");
    }
    others_work(&server.url, |method, path| server.request(method, path)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_headers_is_refused() {
    let (_setup, server) = server().await;
    let start = "GET /v1/tools HTTP/1.1\r\nhost: localhost\r\n";
    for header in ["x: y\r\n", &format!("x: {}\r\n", "y".repeat(8000))] {
        let mut stream = connect(&server).await;
        stream.write_all(start.as_bytes()).await.unwrap();
        let mut sent = 0;
        // Until it is closed: there is no end of them.
        while stream.write_all(header.as_bytes()).await.is_ok() {
            sent += header.len();
            assert!(sent < 64 << 20, "headers without end are read");
        }
    }
    others_work(&server.url, |method, path| server.request(method, path)).await;
}
