//! Clients that take their time, or want everything: each is bounded, and another client goes on working.

use std::time::Duration;

use tokio::task::JoinSet;

use super::*;

/// How many idle connections there are, if there are enough descriptors for both of their ends.
fn idle_clients() -> usize {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (now, limit) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    // What programs begin with is often 1,024, and no more than a request not to use more.
    setrlimit(Resource::RLIMIT_NOFILE, limit.min(now.max(20_000)), limit).unwrap();
    let (limit, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // The server takes half of them at most, and other tests run beside this one.
    let count = (limit / 4).min(2000);
    if count < 2000 {
        eprintln!("only {count} idle clients, for want of descriptors");
    }
    count
}

async fn connect(server: &Server) -> TcpStream {
    let address = server.url.trim_start_matches("http://");
    TcpStream::connect(address).await.unwrap()
}

/// Another client, on a connection of its own for each request and on one that it keeps.
async fn others_work(server: &Server) {
    let fresh = crate::harness::http_client()
        .pool_max_idle_per_host(0)
        .timeout(PATIENCE)
        .build()
        .unwrap();
    for _ in 0..5 {
        let request = fresh.get(format!("{}/v1/tools", server.url));
        let answer = request.bearer_auth(TOKEN).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let kept = server.request(Method::GET, "/v1/tools").send().await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_clients_make_room_for_others() {
    let count = idle_clients();
    let (_setup, server) = server().await;
    let mut idle = Vec::new();
    for _ in 0..count {
        idle.push(connect(&server).await);
    }
    others_work(&server).await;
    assert_eq!(server.put("a", "1", execute("true")).await.0, 200);
    // Those that were there first have gone, and the others may stay until they have been idle for too long.
    if count == 2000 {
        for stream in &idle[..900] {
            stream.readable().await.unwrap();
            assert!(is_closed(stream));
        }
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
    others_work(&server).await;
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
    others_work(&server).await;
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
    others_work(&server).await;
}
