//! Requests with an absolute URI.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::servers::{listen, mirror};
use super::support::{Running, head, rest};

/// Starts a server that echoes each request in its response, and a proxy that reaches it.
async fn mirrored() -> (Running, u16) {
    let port = mirror("127.0.0.1").await;
    let running = Running::new(&["upstream.test", "127.0.0.1"]).await;
    (running, port)
}

#[tokio::test]
async fn a_request_arrives_as_one_to_the_server_itself() {
    let (running, port) = mirrored().await;
    for (request, expected) in [
        (
            "GET http://HOST/a?b=c HTTP/1.1\r\n\r\n",
            "GET /a?b=c [connection=close host=HOST] ",
        ),
        (
            "GET http://HOST HTTP/1.1\r\n\r\n",
            "GET / [connection=close host=HOST] ",
        ),
        (
            "GET http://HOST?q HTTP/1.1\r\n\r\n",
            "GET /?q [connection=close host=HOST] ",
        ),
        (
            "GET http://HOST/ HTTP/1.0\r\n\r\n",
            "GET / [connection=close host=HOST] ",
        ),
        (
            "PATCH http://HOST/ HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi",
            "PATCH / [connection=close content-length=2 host=HOST] hi",
        ),
        (
            "GET http://HOST/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            "GET / [connection=close host=HOST transfer-encoding=chunked] hi",
        ),
        (
            "POST http://HOST/ HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
            "POST / [connection=close content-length=0 host=HOST] ",
        ),
        (
            "GET http://HOST/ HTTP/1.1\r\nHost: other.test\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\n\
             Connection: x-hop\r\nX-Hop: 1\r\nX-Kept: 1\r\n\r\n",
            "GET / [connection=close host=HOST x-kept=1] ",
        ),
    ] {
        let host = format!("upstream.test:{port}");
        let request = request.replace("HOST", &host);
        let mut stream = running.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let answer = rest(&mut stream).await;
        let expected = expected.replace("HOST", &host);
        assert!(
            answer.contains(&format!("\r\n\r\n{expected}")),
            "{request}{answer}"
        );
    }
}

#[tokio::test]
async fn a_connection_serves_several_requests_and_judges_each() {
    let (running, port) = mirrored().await;
    let requests = format!(
        "GET http://upstream.test:{port}/1 HTTP/1.1\r\n\r\nPOST http://127.0.0.1:{port}/2 HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi\
         GET http://evil.test/3 HTTP/1.1\r\n\r\n"
    );
    let answer = running.send(requests).await;
    let statuses: Vec<_> = answer
        .match_indices("HTTP/1.1 ")
        .map(|(at, _)| &answer[at + 9..at + 12])
        .collect();
    assert_eq!(statuses, ["200", "200", "403"], "{answer}");
    assert!(
        answer.contains("commands may not reach evil.test:80: "),
        "{answer}"
    );
}

#[tokio::test]
async fn bodies_are_streamed_in_both_directions() {
    let (listener, port) = listen("127.0.0.1").await;
    let running = Running::new(&["127.0.0.1"]).await;
    let mut client = running.connect().await;
    let request = format!(
        "POST http://127.0.0.1:{port}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n"
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    head(&mut server).await;
    let mut chunk = [0; 8];
    server.read_exact(&mut chunk).await.unwrap();
    assert_eq!(&chunk, b"3\r\none\r\n");
    // The response begins before the request has ended.
    let response = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n";
    server.write_all(response.as_bytes()).await.unwrap();
    assert!(head(&mut client).await.starts_with("HTTP/1.1 200 "));
    client.read_exact(&mut chunk).await.unwrap();
    assert_eq!(&chunk, b"3\r\ntwo\r\n");
    client.write_all(b"5\r\nthree\r\n0\r\n\r\n").await.unwrap();
    let mut last = [0; 15];
    server.read_exact(&mut last).await.unwrap();
    assert_eq!(&last, b"5\r\nthree\r\n0\r\n\r\n");
    server.write_all(b"0\r\n\r\n").await.unwrap();
    let mut end = [0; 5];
    client.read_exact(&mut end).await.unwrap();
    assert_eq!(&end, b"0\r\n\r\n");
}

#[tokio::test]
async fn responses_end_for_the_client_where_they_end() {
    for (response, body) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi"),
        ("HTTP/1.0 200 OK\r\n\r\nhi", "2\r\nhi\r\n0\r\n\r\n"),
        ("HTTP/1.1 204 No Content\r\n\r\n", ""),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            "hi",
        ),
    ] {
        let (listener, port) = listen("127.0.0.1").await;
        let running = Running::new(&["127.0.0.1"]).await;
        let mut client = running.connect().await;
        let request = format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\nConnection: close\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        head(&mut server).await;
        server.write_all(response.as_bytes()).await.unwrap();
        drop(server);
        let answer = rest(&mut client).await;
        assert_eq!(answer.split_once("\r\n\r\n").unwrap().1, body, "{answer}");
    }
}

#[tokio::test]
async fn a_server_without_a_response_is_reported() {
    let (listener, port) = listen("127.0.0.1").await;
    let running = Running::new(&["127.0.0.1"]).await;
    for garbage in ["", "SSH-2.0-x\r\n\r\n"] {
        let mut client = running.connect().await;
        let request = format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        head(&mut server).await;
        server.write_all(garbage.as_bytes()).await.unwrap();
        drop(server);
        let answer = rest(&mut client).await;
        let expected = format!("HTTP/1.1 502 toolhost: 127.0.0.1:{port} gave no response: ");
        assert!(answer.starts_with(&expected), "{answer}");
    }
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_connection_along() {
    let (listener, port) = listen("127.0.0.1").await;
    let running = Running::new(&["127.0.0.1"]).await;
    let mut client = running.connect().await;
    let request = format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n");
    client.write_all(request.as_bytes()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    head(&mut server).await;
    drop(client);
    assert_eq!(rest(&mut server).await, "");
}
