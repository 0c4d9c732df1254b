//! Tests of SOCKS5.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::servers::{closed, echo};
use super::support::{Running, rest};

/// Returns a request for a name.
fn name(name: &str, port: u16) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap();
    [&[5, 1, 0, 3, length], name.as_bytes(), &port.to_be_bytes()].concat()
}

/// Sends a request, and returns the code of the reply.
async fn reply(running: &Running, request: &[u8]) -> u8 {
    let mut stream = running.connect().await;
    stream.write_all(b"\x05\x01\x00").await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    _ = stream.read_to_end(&mut answer).await;
    assert_eq!(answer[..2], [5, 0], "{answer:?}");
    assert_eq!(answer.len(), 12, "{answer:?}");
    answer[3]
}

#[tokio::test]
async fn names_and_addresses_are_reached() {
    let port = echo().await;
    let running = Running::new(&["upstream.test", "127.0.0.1"]).await;
    let [high, low] = port.to_be_bytes();
    for request in [
        name("upstream.test", port),
        name("UPSTREAM.test.", port),
        name("127.0.0.1", port),
        vec![5, 1, 0, 1, 127, 0, 0, 1, high, low],
        [
            &[5, 1, 0, 4][..],
            &[0; 10],
            &[0xff, 0xff, 127, 0, 0, 1, high, low],
        ]
        .concat(),
    ] {
        let mut stream = running.connect().await;
        // The client offers two methods, and sends everything without waiting for an answer.
        stream.write_all(b"\x05\x02\x02\x00").await.unwrap();
        stream.write_all(&request).await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut replies = [0; 12];
        stream.read_exact(&mut replies).await.unwrap();
        assert_eq!(replies, [5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(rest(&mut stream).await, "hello");
    }
}

#[tokio::test]
async fn refusals_have_their_codes() {
    let (_socket, closed) = closed();
    let running = Running::new(&["*.test", "127.0.0.1"]).await;
    for (request, code) in [
        (name("evil.example", 443), 2),
        (vec![5, 1, 0, 1, 169, 254, 169, 254, 0, 80], 2),
        (name("169.254.169.254", 80), 2),
        (name("missing.test", 443), 4),
        (name("127.0.0.1", closed), 5),
        (name("0x7f.1", 80), 1),
        (name("::1%lo", 80), 1),
        (name("a b", 80), 1),
        (name("", 80), 1),
        // The commands BIND and UDP ASSOCIATE, and an unknown one.
        (vec![5, 2, 0, 1, 127, 0, 0, 1, 0, 80], 7),
        (vec![5, 3, 0, 1, 127, 0, 0, 1, 0, 80], 7),
        (vec![5, 9, 0, 1, 127, 0, 0, 1, 0, 80], 7),
        (vec![5, 1, 0, 9], 8),
    ] {
        assert_eq!(reply(&running, &request).await, code, "{request:?}");
    }
    assert_eq!(running.names.asked(), ["missing.test"]);
    assert_eq!(running.reports()[0], "denied evil.example:443");
}

#[tokio::test]
async fn a_client_that_requires_authentication_is_refused() {
    let running = Running::new(&["127.0.0.1"]).await;
    let mut stream = running.connect().await;
    stream.write_all(b"\x05\x01\x02").await.unwrap();
    let mut answer = Vec::new();
    _ = stream.read_to_end(&mut answer).await;
    assert_eq!(answer, [5, 0xff]);
}

#[tokio::test]
async fn a_handshake_byte_by_byte_is_one() {
    let port = echo().await;
    let running = Running::new(&["upstream.test", "127.0.0.1"]).await;
    let mut stream = running.connect().await;
    for byte in [&b"\x05\x01\x00"[..], &name("upstream.test", port)].concat() {
        stream.write_all(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut replies = [0; 12];
    stream.read_exact(&mut replies).await.unwrap();
    assert_eq!(replies[3], 0);
}
