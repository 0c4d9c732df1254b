//! Tests of the limits and of the end of a proxy. Tests of timeouts use a paused clock, which jumps ahead when all tasks wait.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::servers::{closed, echo, listen, mirror};
use super::support::{Running, head, rest, tunnel};
use toolhost_egress::Limits;

#[tokio::test]
async fn cancelling_closes_every_connection() {
    let (listener, port) = listen("127.0.0.1").await;
    let mut running = Running::new(&["127.0.0.1"]).await;
    let mut open = tunnel(&running, &format!("127.0.0.1:{port}")).await;
    let (mut server, _) = listener.accept().await.unwrap();
    let mut idle = running.connect().await;
    let mut half = running.connect().await;
    half.write_all(b"GET http").await.unwrap();
    running.cancel().await;
    assert_eq!(rest(&mut open).await, "");
    assert_eq!(rest(&mut server).await, "");
    assert_eq!(rest(&mut idle).await, "");
    assert_eq!(rest(&mut half).await, "");
}

#[tokio::test]
async fn beyond_the_most_connections_the_next_waits() {
    let port = mirror("127.0.0.1").await;
    let limits = Limits {
        connections: 2,
        ..Limits::default()
    };
    let running = Running::with(&["127.0.0.1"], &[], limits).await;
    let target = format!("127.0.0.1:{port}");
    let (first, second) = (
        tunnel(&running, &target).await,
        tunnel(&running, &target).await,
    );
    let mut third = running.connect().await;
    let request = format!("GET http://{target}/ HTTP/1.1\r\nConnection: close\r\n\r\n");
    third.write_all(request.as_bytes()).await.unwrap();
    // The kernel has accepted the third connection, but the proxy has not. So it connects to no server for this client.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(running.reports().len(), 2);
    drop(first);
    assert!(rest(&mut third).await.starts_with("HTTP/1.1 200 "));
    assert_eq!(running.reports().len(), 3);
    drop(second);
}

#[tokio::test(start_paused = true)]
async fn a_slow_handshake_ends() {
    let running = Running::new(&["127.0.0.1"]).await;
    for begun in [
        "",
        "GET http://127.0.0.1/ HTTP/1.1\r\nX: ",
        "\x05",
        "\x05\x01\x00",
        "\x05\x01\x00\x05\x01\x00\x03",
    ] {
        let mut stream = running.connect().await;
        _ = stream.write_all(begun.as_bytes()).await;
        rest(&mut stream).await;
    }
}

#[tokio::test]
async fn a_connection_without_another_request_ends() {
    let (listener, port) = listen("127.0.0.1").await;
    let running = Running::new(&["127.0.0.1"]).await;
    let mut stream = running.connect().await;
    let request = format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    head(&mut server).await;
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    server.write_all(response.as_bytes()).await.unwrap();
    let answer = head(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    tokio::time::pause();
    assert_eq!(rest(&mut stream).await, "");
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_given_up() {
    // The kernel drops attempts to connect with a listener whose queue is full.
    let (socket, port) = closed();
    let _listener = socket.listen(0).unwrap();
    let _filler = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let running = Running::new(&["upstream.test", "127.0.0.1"]).await;
    let mut stream = running.connect().await;
    let request = format!("CONNECT upstream.test:{port} HTTP/1.1\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    while running.names.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    let answer = rest(&mut stream).await;
    let expected = format!(
        "HTTP/1.1 504 toolhost: commands cannot reach upstream.test:{port}: making the connection took too long\r\n"
    );
    assert!(answer.starts_with(&expected), "{answer}");
}

#[tokio::test]
async fn a_silent_tunnel_ends_only_if_it_is_half_closed() {
    let (listener, port) = listen("127.0.0.1").await;
    let running = Running::new(&["127.0.0.1"]).await;
    let mut client = tunnel(&running, &format!("127.0.0.1:{port}")).await;
    let (mut server, _) = listener.accept().await.unwrap();
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(24 * 60 * 60)).await;
    server.write_all(b"still").await.unwrap();
    let mut read = [0; 5];
    client.read_exact(&mut read).await.unwrap();
    assert_eq!(&read, b"still");

    client.shutdown().await.unwrap();
    assert_eq!(server.read(&mut [0]).await.unwrap(), 0);
    // The server sends nothing more, and keeps its side open.
    assert_eq!(rest(&mut client).await, "");
}

#[tokio::test]
async fn an_end_of_the_client_by_reset_reaches_the_server() {
    let (listener, port) = listen("127.0.0.1").await;
    let running = Running::new(&["127.0.0.1"]).await;
    let client = tunnel(&running, &format!("127.0.0.1:{port}")).await;
    let (mut server, _) = listener.accept().await.unwrap();
    client.set_zero_linger().unwrap();
    drop(client);
    rest(&mut server).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_read_for() {
    // If the proxy had no bound, it would accept all these bytes, and the server would finish sending.
    let (listener, port) = listen("127.0.0.1").await;
    let running = Running::new(&["127.0.0.1"]).await;
    for request in [
        format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"),
        format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n"),
    ] {
        let mut client = running.connect().await;
        client.write_all(request.as_bytes()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        if request.starts_with("GET") {
            head(&mut server).await;
        }
        let length = 1_u64 << 30;
        let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        server.write_all(response.as_bytes()).await.unwrap();
        let mut sent = 0;
        let piece = vec![0; 1 << 20];
        // If a write waits while all other tasks are idle, the proxy accepts no more bytes.
        loop {
            match server.try_write(&piece) {
                Ok(count) => sent += count as u64,
                Err(_) => {
                    let rested = settle(&server).await;
                    if rested {
                        break;
                    }
                }
            }
            assert!(sent < length / 4, "the proxy took {sent} bytes");
        }
        drop(client);
    }
}

/// Returns whether a socket stays full after all other tasks have run.
async fn settle(server: &TcpStream) -> bool {
    for _ in 0..1000 {
        tokio::task::yield_now().await;
        let writable = tokio::time::timeout(Duration::ZERO, server.writable()).await;
        if writable.is_ok() {
            return false;
        }
    }
    true
}

#[tokio::test]
async fn a_proxy_that_is_dropped_closes_its_connections() {
    let port = echo().await;
    let rules = toolhost_egress::Rules::new(&["127.0.0.1"]).unwrap();
    let recorder = std::sync::Arc::new(super::support::Recorder::default());
    let names = std::sync::Arc::new(super::support::Names::default());
    let proxy = toolhost_egress::Proxy::new(rules, names, recorder);
    let (listener, here) = listen("127.0.0.1").await;
    let serving = tokio::spawn(proxy.serve(listener, tokio_util::sync::CancellationToken::new()));
    let mut stream = TcpStream::connect(("127.0.0.1", here)).await.unwrap();
    let request = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    head(&mut stream).await;
    serving.abort();
    assert_eq!(rest(&mut stream).await, "");
}
