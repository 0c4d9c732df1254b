//! `CONNECT`: tunnels, refusals and their texts.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::servers::{closed, echo, listen};
use super::support::{Running, head, rest, tunnel};
use toolhost_egress::Limits;

fn request(target: &str) -> String {
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")
}

#[tokio::test]
async fn bytes_go_both_ways_and_each_end_is_passed_on() {
    let port = echo().await;
    let running = Running::new(&["upstream.test", &format!("127.0.0.1:{port}")]).await;
    let mut stream = tunnel(&running, &format!("upstream.test:{port}")).await;
    let sent = "x".repeat(1 << 20);
    stream.write_all(sent.as_bytes()).await.unwrap();
    // The server answers only after the end.
    stream.shutdown().await.unwrap();
    assert_eq!(rest(&mut stream).await, sent);
    let expected = format!("upstream.test:{port} at 127.0.0.1");
    assert_eq!(running.reports(), [expected]);
    assert_eq!(running.names.asked(), ["upstream.test"]);
}

#[tokio::test]
async fn the_end_of_the_server_is_passed_on_and_the_client_goes_on() {
    let (listener, port) = listen("127.0.0.1").await;
    let running = Running::new(&[&format!("127.0.0.1:{port}")]).await;
    let mut stream = tunnel(&running, &format!("127.0.0.1:{port}")).await;
    let (mut server, _) = listener.accept().await.unwrap();
    server.shutdown().await.unwrap();
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    stream.write_all(b"late").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(rest(&mut server).await, "late");
}

#[tokio::test]
async fn bytes_that_come_with_the_request_are_the_first_of_the_tunnel() {
    let port = echo().await;
    let running = Running::new(&["127.0.0.1"]).await;
    let target = format!("127.0.0.1:{port}");
    let mut stream = running.connect().await;
    let early = request(&target) + "early";
    stream.write_all(early.as_bytes()).await.unwrap();
    head(&mut stream).await;
    stream.shutdown().await.unwrap();
    assert_eq!(rest(&mut stream).await, "early");
}

#[tokio::test]
async fn clients_of_http_1_0_get_tunnels() {
    let port = echo().await;
    let running = Running::new(&["127.0.0.1"]).await;
    let mut stream = running.connect().await;
    let request = format!("CONNECT 127.0.0.1:{port} HTTP/1.0\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let head = head(&mut stream).await;
    assert!(head.contains(" 200 "), "{head}");
    stream.write_all(b"hello").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(rest(&mut stream).await, "hello");
}

#[tokio::test]
async fn hosts_and_ports_beside_the_list_are_refused_with_a_text() {
    let running = Running::new(&["github.com:443", "*.example.com", "10.0.0.5:5432"]).await;
    for target in [
        "evil.example:443",
        "github.com:22",
        "example.com:443",
        "github.com.evil.example:443",
        "10.0.0.5:22",
        "10.0.0.6:5432",
        "127.0.0.1:443",
        "169.254.169.254:80",
        "[::1]:443",
        "[::ffff:169.254.169.254]:80",
        "[64:ff9b::a9fe:a9fe]:80",
        "[fd00:ec2::254]:80",
        "localhost:443",
    ] {
        let answer = running.send(request(target)).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    let text = "toolhost: commands may not reach evil.example:443: it is not in the list of hosts (sandbox_network)";
    let answer = running.send(request("evil.example:443")).await;
    assert!(
        answer.starts_with(&format!("HTTP/1.1 403 {text}\r\n")),
        "{answer}"
    );
    assert!(answer.ends_with(&format!("\r\n\r\n{text}\n")), "{answer}");
    // A name that is not listed is not even resolved.
    assert!(running.names.asked().is_empty());
    assert_eq!(running.reports().len(), 14);
    assert_eq!(running.reports()[1], "denied github.com:22");
}

#[tokio::test]
async fn a_listed_name_does_not_lead_to_private_addresses() {
    let names: &[(&str, &[&str])] = &[
        ("inside.test", &["10.0.0.5"]),
        ("loop.test", &["127.0.0.1", "::1"]),
        ("cloud.test", &["169.254.169.254"]),
        ("mapped.test", &["::ffff:127.0.0.1"]),
        ("nat64.test", &["64:ff9b::a9fe:a9fe"]),
    ];
    let hosts = ["*.test", "10.0.0.5:5432"];
    let running = Running::with(&hosts, names, Limits::default()).await;
    for (name, _) in names {
        let answer = running.send(request(&format!("{name}:443"))).await;
        let expected = format!(
            "HTTP/1.1 403 toolhost: commands may not reach {name}:443: it has no public address; to allow a private \
             address, add that address to the list of hosts (sandbox_network)\r\n"
        );
        assert!(answer.starts_with(&expected), "{answer}");
    }
}

#[tokio::test]
async fn other_spellings_of_a_listed_name_are_that_name() {
    let port = echo().await;
    let running = Running::new(&["Upstream.Test.", "127.0.0.1"]).await;
    for name in [
        "upstream.test",
        "UPSTREAM.test",
        "upstream.test.",
        "UpStream.TEST.",
    ] {
        drop(tunnel(&running, &format!("{name}:{port}")).await);
    }
    assert_eq!(running.names.asked(), ["upstream.test"; 4]);
}

#[tokio::test]
async fn what_the_network_refuses_has_a_text_as_well() {
    let (_socket, port) = closed();
    let running = Running::new(&["missing.test", "127.0.0.1"]).await;
    let answer = running.send(request("missing.test:443")).await;
    let expected = "HTTP/1.1 502 toolhost: commands cannot reach missing.test:443: the name was not found: no such name\r\n";
    assert!(answer.starts_with(expected), "{answer}");
    let answer = running.send(request(&format!("127.0.0.1:{port}"))).await;
    let expected = format!(
        "HTTP/1.1 502 toolhost: commands cannot reach 127.0.0.1:{port}: no connection could be made: Connection refused\r\n"
    );
    assert!(answer.starts_with(&expected), "{answer}");
    let reports = [
        "failed missing.test:443".to_owned(),
        format!("failed 127.0.0.1:{port}"),
    ];
    assert_eq!(running.reports(), reports);
}

#[tokio::test]
async fn each_connection_goes_to_the_address_that_was_checked_for_it() {
    let (here, port) = listen("127.0.0.2").await;
    // The name resolves to a listed address first, and to an unlisted one later.
    let names: &[(&str, &[&str])] = &[
        ("moves.test", &["127.0.0.2"]),
        ("moves.test", &["127.0.0.1"]),
    ];
    let running = Running::with(&["moves.test", "127.0.0.2"], names, Limits::default()).await;
    let target = format!("moves.test:{port}");
    drop(tunnel(&running, &target).await);
    here.accept().await.unwrap();
    assert_eq!(running.names.asked().len(), 1);
    let answer = running.send(request(&target)).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(running.names.asked().len(), 2);
    let reports = [format!("{target} at 127.0.0.2"), format!("denied {target}")];
    assert_eq!(running.reports(), reports);
}

#[tokio::test]
async fn of_several_addresses_only_those_are_tried_that_may_be_reached() {
    let (listener, port) = listen("127.0.0.2").await;
    let (other, _) = listen("127.0.0.1").await;
    let names: &[(&str, &[&str])] = &[("both.test", &["127.0.0.1", "127.0.0.2"])];
    let running = Running::with(&["both.test", "127.0.0.2"], names, Limits::default()).await;
    drop(tunnel(&running, &format!("both.test:{port}")).await);
    listener.accept().await.unwrap();
    assert_eq!(
        running.reports(),
        [format!("both.test:{port} at 127.0.0.2")]
    );
    drop(other);
}
