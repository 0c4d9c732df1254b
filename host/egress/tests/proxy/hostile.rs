//! Tests of hostile clients: ambiguous requests, disguised hosts, and bytes that are no request.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use tokio::io::AsyncWriteExt;

use super::servers::{listen, mirror};
use super::support::{Running, head, rest};

/// Asserts the status of the answer to a request, after which the proxy closes the connection.
async fn refused(running: &Running, request: &[u8], status: &str) {
    let answer = running.send(request).await;
    let shown = String::from_utf8_lossy(&request[..request.len().min(200)]);
    assert!(
        answer.starts_with(&format!("HTTP/1.1 {status} ")),
        "{shown:?}: {answer:?}"
    );
}

#[tokio::test]
async fn hosts_in_disguise_are_refused() {
    // If the proxy took one of these for a listed host, it would connect, and the observer would record that.
    let running = Running::new(&["github.com", "*.github.com", "127.0.0.1", "[fe80::1]"]).await;
    for authority in [
        "github.com@evil.example:80",
        "github.com%40evil.example:80",
        "github.com:80@evil.example:80",
        "user:password@github.com:80",
        "2130706433:80",
        "0x7f000001:80",
        "0x7f.1:80",
        "127.1:80",
        "0177.0.0.1:80",
        "127.0.0.01:80",
        "%31%32%37.0.0.1:80",
        "[fe80::1%25lo]:80",
        "[fe80::1%lo]:80",
        "[::1]evil:80",
        "g%C3%ADthub.com:80",
        "gíthub.com:80",
        "github.com..:80",
        "github.com,evil.example:80",
        "github.com:80:80",
        "github.com:+80",
        "github.com:0",
        "github.com:65616",
        "github.com\\.evil.example:80",
        "-.github.com:80",
        ":80",
        "..github.com:80",
    ] {
        let connect = format!("CONNECT {authority} HTTP/1.1\r\n\r\n");
        refused(&running, connect.as_bytes(), "400").await;
        let get = format!("GET http://{authority}/ HTTP/1.1\r\n\r\n");
        refused(&running, get.as_bytes(), "400").await;
    }
    for authority in ["github.com", "127.0.0.1", "[fe80::1]"] {
        refused(
            &running,
            format!("CONNECT {authority} HTTP/1.1\r\n\r\n").as_bytes(),
            "400",
        )
        .await;
    }
    for name in [
        "xn--gthub-cta.com:80",
        "github.com.evil.example:80",
        "evil-github.com:80",
    ] {
        refused(
            &running,
            format!("CONNECT {name} HTTP/1.1\r\n\r\n").as_bytes(),
            "403",
        )
        .await;
    }
    assert!(running.names.asked().is_empty());
    let reports = running.reports();
    assert!(
        reports
            .iter()
            .all(|report| report.starts_with("failed ") || report.starts_with("denied ")),
        "{reports:?}"
    );
    assert!(
        reports
            .iter()
            .all(|report| !report.contains("password") && report.is_ascii()),
        "{reports:?}"
    );
}

#[tokio::test]
async fn requests_that_are_not_for_a_proxy_are_refused() {
    let running = Running::new(&["127.0.0.1"]).await;
    for request in [
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "GET https://127.0.0.1/ HTTP/1.1\r\n\r\n",
        "GET ftp://127.0.0.1/ HTTP/1.1\r\n\r\n",
        "GET file:///etc/passwd HTTP/1.1\r\n\r\n",
        "GET http:///etc/passwd HTTP/1.1\r\n\r\n",
        "CONNECT / HTTP/1.1\r\n\r\n",
        "CONNECT http://127.0.0.1:80/ HTTP/1.1\r\n\r\n",
        "CONNECT * HTTP/1.1\r\n\r\n",
        "GET http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        // A folded line, and invalid headers.
        "GET http://127.0.0.1/ HTTP/1.1\r\nX: a\r\n b\r\n\r\n",
        "GET http://127.0.0.1/ HTTP/1.1\r\n X: a\r\n\r\n",
        "GET http://127.0.0.1/ HTTP/1.1\r\nX : a\r\n\r\n",
        "GET http://127.0.0.1/ HTTP/1.1\r\nX\0: a\r\n\r\n",
        // Ambiguous lengths.
        "POST http://127.0.0.1/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST http://127.0.0.1/ HTTP/1.1\r\nContent-Length: +1\r\n\r\na",
        "POST http://127.0.0.1/ HTTP/1.1\r\nContent-Length: 1,1\r\n\r\na",
        "POST http://127.0.0.1/ HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "POST http://127.0.0.1/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n",
        "\x04\x01\x00\x50\x7f\x00\x00\x01\x00\r\n\r\n",
    ] {
        let answer = running.send(request).await;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert_eq!(status, "400", "{request:?}: {answer:?}");
    }
    refused(
        &running,
        b"POST http://127.0.0.1/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "501",
    )
    .await;
    assert!(running.reports().is_empty(), "{:?}", running.reports());
}

#[tokio::test]
async fn a_head_beyond_its_bounds_is_refused() {
    let running = Running::new(&["127.0.0.1"]).await;
    let long = format!(
        "GET http://127.0.0.1/ HTTP/1.1\r\nX: {}\r\n\r\n",
        "a".repeat(200 << 10)
    );
    refused(&running, long.as_bytes(), "431").await;
    let many = format!(
        "GET http://127.0.0.1/ HTTP/1.1\r\n{}\r\n",
        "X: a\r\n".repeat(200)
    );
    refused(&running, many.as_bytes(), "431").await;
    let uri = format!(
        "GET http://127.0.0.1/{} HTTP/1.1\r\n\r\n",
        "a".repeat(200 << 10)
    );
    let answer = running.send(uri).await;
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
}

#[tokio::test]
async fn one_request_stays_one_request() {
    let (listener, port) = listen("127.0.0.1").await;
    let running = Running::new(&["127.0.0.1"]).await;
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let length = 5 + smuggled.len();
    for framing in [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
        format!(
            "Content-Length: {length}\r\nTransfer-Encoding: chunked\r\nConnection: transfer-encoding\r\n"
        ),
    ] {
        let mut client = running.connect().await;
        let request =
            format!("POST http://127.0.0.1:{port}/ HTTP/1.1\r\n{framing}\r\n0\r\n\r\n{smuggled}");
        client.write_all(request.as_bytes()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let head = head(&mut server).await.to_ascii_lowercase();
        assert!(head.contains("transfer-encoding: chunked\r\n"), "{head}");
        assert!(!head.contains("content-length"), "{head}");
        server
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            .await
            .unwrap();
        let answer = rest(&mut client).await;
        // The bytes that follow belong to no request, and must not reach that server.
        assert_eq!(rest(&mut server).await, "0\r\n\r\n", "{answer}");
    }
}

#[tokio::test]
async fn the_uri_decides_and_not_the_header_host() {
    let (listed, other) = (mirror("127.0.0.1").await, mirror("127.0.0.2").await);
    let running = Running::new(&["127.0.0.1"]).await;
    let request = |uri: u16, address: &str, host: &str| {
        format!("GET http://{address}:{uri}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    };
    let host = format!("127.0.0.2:{other}");
    let answer = running.send(request(listed, "127.0.0.1", &host)).await;
    assert!(
        answer.contains(&format!("host=127.0.0.1:{listed}]")),
        "{answer}"
    );
    let answer = running.send(request(other, "127.0.0.2", "127.0.0.1")).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

static PANICKED: AtomicBool = AtomicBool::new(false);

/// Records every panic from now on, because a panic in a task does not fail the test.
fn note_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICKED.store(true, Ordering::SeqCst);
            hook(info);
        }));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_bytes_panic(
        before in proptest::sample::select(vec!["", "GET http://127.0.0.1:9", "CONNECT ", "GET / HTTP/1.1\r\n", "\x05\x01\x00", "\x05"]),
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        after in proptest::sample::select(vec!["", " HTTP/1.1\r\n\r\n", "\r\n\r\n", "\r\n"]),
    ) {
        note_panics();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut running = Running::new(&["github.com"]).await;
            let mut stream = running.connect().await;
            _ = stream.write_all(&[before.as_bytes(), &bytes, after.as_bytes()].concat()).await;
            _ = stream.shutdown().await;
            rest(&mut stream).await;
            running.cancel().await;
        });
        prop_assert!(!PANICKED.load(Ordering::SeqCst));
    }
}
