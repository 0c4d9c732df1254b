//! Limits and time-outs of requests, and what is left of them when nobody waits any more.

use std::convert::Infallible;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::Request;
use hyper::body::Frame;
use toolhost_plugin::outgoing::{Quota, SendError, Session, Timeouts};

use super::support::{Names, QUOTA, Script, Seen, Server, fetch, response, session};

/// A session that may use one server.
fn allowed(server: &Server, quota: Quota) -> (Session, String) {
    let address = format!("http://127.0.0.1:{}", server.port);
    (
        session(std::slice::from_ref(&address), &Names::new(&[]), quota).0,
        address + "/",
    )
}

fn get(url: &str) -> Request<Empty<Bytes>> {
    Request::get(url).body(Empty::new()).unwrap()
}

#[tokio::test]
async fn requests_are_counted_whatever_becomes_of_them() {
    let server = Server::answering(response("200 OK", "hello")).await;
    let (session, url) = allowed(
        &server,
        Quota {
            requests: 3,
            ..QUOTA
        },
    );
    fetch(&session, &url).await.unwrap();
    fetch(&session, "http://elsewhere.test/").await.unwrap_err();
    fetch(&session, &url).await.unwrap();
    assert_eq!(session.reached(), None);
    let error = fetch(&session, &url).await.unwrap_err();
    insta::assert_snapshot!(error, @"limit of 3 HTTP requests for one call reached");
    insta::assert_snapshot!(session.reached().unwrap(), @"limit of 3 HTTP requests for one call reached");
}

/// However a response says where it ends.
#[tokio::test]
async fn a_response_that_is_too_large_ends_with_an_error() {
    let long = "x".repeat(100_000);
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{long}\r\n0\r\n\r\n",
        long.len()
    );
    let endless = Script {
        answer: b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
        drip: Some(b'x'),
        hold: false,
    };
    let headers = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", &long[..30_000]);
    for script in [
        Script {
            answer: response("200 OK", &long),
            drip: None,
            hold: false,
        },
        Script {
            answer: chunked.into_bytes(),
            drip: None,
            hold: false,
        },
        Script {
            answer: headers.into_bytes(),
            drip: None,
            hold: false,
        },
        endless,
    ] {
        let server = Server::scripted(script).await;
        let (session, url) = allowed(
            &server,
            Quota {
                bytes: 20_000,
                ..QUOTA
            },
        );
        let error = fetch(&session, &url).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "limit of 20000 bytes of HTTP for one call reached"
        );
        // What was used up stays used up.
        let error = fetch(&session, &url).await.unwrap_err();
        assert!(matches!(error, SendError::Limit(_)), "{error:?}");
    }
}

#[tokio::test]
async fn the_bytes_of_all_requests_and_responses_are_summed() {
    let server = Server::answering(response("200 OK", &"x".repeat(1000))).await;
    let (session, url) = allowed(
        &server,
        Quota {
            bytes: 5_000,
            ..QUOTA
        },
    );
    let mut got = 0;
    let error = loop {
        match fetch(&session, &url).await {
            Ok(_) => got += 1,
            Err(error) => break error,
        }
    };
    // Each is a little more than 1,000 bytes with its headers.
    assert!(matches!(error, SendError::Limit(_)), "{error:?}");
    assert_eq!(got, 4);
    let (session, url) = allowed(
        &server,
        Quota {
            bytes: 5_000,
            ..QUOTA
        },
    );
    let request = Request::post(&url)
        .body(Full::new(Bytes::from(vec![b'x'; 6_000])))
        .unwrap();
    let error = session
        .send(request, Timeouts::default())
        .await
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(error, SendError::Limit(_)), "{error:?}");
}

#[tokio::test]
async fn a_response_that_ends_too_early_is_an_error() {
    let server =
        Server::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".to_vec()).await;
    let (session, url) = allowed(&server, QUOTA);
    let error = fetch(&session, &url).await.unwrap_err();
    assert!(matches!(error, SendError::Incomplete), "{error:?}");
    let server = Server::answering(b"no HTTP at all\r\n\r\n".to_vec()).await;
    let (session, url) = allowed(&server, QUOTA);
    let error = fetch(&session, &url).await.unwrap_err();
    assert!(matches!(error, SendError::Http(_)), "{error:?}");
}

#[tokio::test]
async fn a_guest_says_how_long_it_waits() {
    let soon = Some(Duration::from_millis(1));
    let server = Server::holding("").await;
    let (session, url) = allowed(&server, QUOTA);
    let timeouts = Timeouts {
        first_byte: soon,
        ..Timeouts::default()
    };
    let error = session
        .send(get(&url), timeouts)
        .await
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(error, SendError::ResponseTimeout), "{error:?}");
    let server = Server::holding("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await;
    let (session, url) = allowed(&server, QUOTA);
    let timeouts = Timeouts {
        between_bytes: soon,
        ..Timeouts::default()
    };
    let (response, connection) = session.send(get(&url), timeouts).await.unwrap();
    let driving = tokio::spawn(connection);
    let error = response.into_body().collect().await.unwrap_err();
    assert!(matches!(error, SendError::ReadTimeout), "{error:?}");
    driving.abort();
}

#[tokio::test]
async fn more_requests_than_may_run_at_once_wait() {
    let mut server = Server::holding("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await;
    let (session, url) = allowed(
        &server,
        Quota {
            concurrent: 1,
            ..QUOTA
        },
    );
    let first = session.send(get(&url), Timeouts::default()).await.unwrap();
    server.request().await;
    let timeouts = Timeouts {
        connect: Some(Duration::from_millis(1)),
        ..Timeouts::default()
    };
    let error = session
        .send(get(&url), timeouts)
        .await
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(error, SendError::Crowded), "{error:?}");
    let mut second = Box::pin(session.send(get(&url), Timeouts::default()));
    assert!(futures_util::poll!(&mut second).is_pending());
    drop(first);
    assert_eq!(second.await.unwrap().0.status(), 200);
}

/// A server may refuse a request before it has read it, and close.
#[tokio::test]
async fn a_response_that_comes_before_the_request_is_whole_is_read() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (session, _) = session(std::slice::from_ref(&address), &Names::new(&[]), QUOTA);
    let (has_head, head_there) = std::sync::mpsc::channel();
    let (answer, may_answer) = std::sync::mpsc::channel::<()>();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        has_head.send(()).unwrap();
        may_answer.recv().unwrap();
        stream.write_all(&response("413 No", "hello")).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        stream
    });
    let body = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
    let request = Request::post(address + "/").body(body).unwrap();
    let mut sending = Box::pin(session.send(request, Timeouts::default()));
    while head_there.try_recv().is_err() {
        assert!(futures_util::poll!(&mut sending).is_pending());
        tokio::task::yield_now().await;
    }
    // The whole response, and the end of the connection, are there before the client looks again.
    answer.send(()).unwrap();
    let _stream = server.join().unwrap();
    let (response, connection) = sending.await.unwrap();
    assert_eq!(response.status(), 413);
    let (body, ()) = tokio::join!(response.into_body().collect(), connection);
    assert_eq!(body.unwrap().to_bytes(), "hello");
}

#[tokio::test]
async fn dropping_what_waits_closes_the_connection() {
    // Before the response.
    let mut server = Server::holding("").await;
    let (session, url) = allowed(&server, QUOTA);
    let sending = tokio::spawn(session.send(get(&url), Timeouts::default()));
    server.request().await;
    sending.abort();
    assert_eq!(server.seen().await, Seen::Closed);
    // Within it.
    let mut server = Server::holding("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await;
    let (session, url) = allowed(&server, QUOTA);
    let exchange = session.send(get(&url), Timeouts::default()).await.unwrap();
    server.request().await;
    drop(exchange);
    assert_eq!(server.seen().await, Seen::Closed);
}
