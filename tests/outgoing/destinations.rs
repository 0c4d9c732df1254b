//! Where requests go: spellings of addresses, names that resolve to private ones, and names that change their mind.

use hyper::Request;
use toolhost_plugin::outgoing::SendError;

use super::support::{Names, QUOTA, Server, fetch, response, session};

#[tokio::test]
async fn a_granted_name_is_reached() {
    let mut server = Server::answering(response("200 OK", "hello")).await;
    let port = server.port;
    let names = Names::new(&[&["127.0.0.1"]]);
    let (session, told) = session(&[format!("private:http://api.test:{port}")], &names, QUOTA);
    let got = fetch(&session, &format!("http://API.test.:{port}?q=secret"))
        .await
        .unwrap();
    assert_eq!(got, (200, "hello".into()));
    let request = server.request().await;
    assert_eq!(
        request,
        format!("GET /?q=secret HTTP/1.1\r\nhost: api.test:{port}\r\nconnection: close\r\n\r\n")
    );
    assert_eq!(
        told.all(),
        [format!("GET http://api.test:{port} Some(200)")]
    );
    assert_eq!(*names.asked.lock().unwrap(), ["api.test"]);
}

/// Each URL means the server on loopback to somebody; with `*` none may reach it.
#[tokio::test]
async fn no_spelling_of_loopback_is_public() {
    let mut server = Server::answering(response("200 OK", "secret")).await;
    let port = server.port;
    let names = Names::new(&[&["127.0.0.1", "::1"]]);
    let (session, _) = session(&[format!("http://*:{port}")], &names, QUOTA);
    for host in [
        "127.0.0.1",
        "127.0.0.1.",
        "127.255.255.254",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "0.0.0.0",
        "0",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "localhost",
        "LOCALHOST.",
        "anything.example",
        "user@127.0.0.1",
        "example.com@127.0.0.1",
        "user:secret@localhost",
    ] {
        let url = format!("http://{host}:{port}/");
        let error = fetch(&session, &url).await.expect_err(&url);
        assert!(
            matches!(error, SendError::Prohibited(_) | SendError::Host(_)),
            "{url}: {error:?}"
        );
    }
    assert!(server.is_untouched());
}

#[tokio::test]
async fn a_name_with_no_public_address_is_refused() {
    for address in [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "192.0.2.1",
        "198.18.0.1",
        "240.0.0.1",
        "192.0.0.192",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "100::1",
        "::ffff:10.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "2002:c0a8:1::1",
        "2001:0:101:101::80ff:fffe",
    ] {
        let names = Names::new(&[&[address]]);
        let (session, told) = session(
            &["http://*".into(), "http://api.test".into()],
            &names,
            QUOTA,
        );
        let error = fetch(&session, "http://api.test/").await.unwrap_err();
        assert!(
            matches!(error, SendError::Prohibited(_)),
            "{address}: {error:?}"
        );
        let expected = "denied http://api.test: http://api.test is no public address of another machine: if that is intended, add \
                        \"private:http://api.test\" to the plugin's grant `http`";
        assert_eq!(told.all(), [expected], "{address}");
    }
}

/// The opt-in for private names does not reach where clouds serve credentials.
#[tokio::test]
async fn of_a_mixed_answer_only_good_addresses_are_used() {
    let server = Server::answering(response("200 OK", "hello")).await;
    let port = server.port;
    let names = Names::new(&[
        &["169.254.169.254", "::", "127.0.0.1"],
        &["169.254.169.254"],
    ]);
    let (session, _) = session(&[format!("private:http://*.test:{port}")], &names, QUOTA);
    let url = format!("http://api.test:{port}/");
    assert_eq!(fetch(&session, &url).await.unwrap().1, "hello");
    let error = fetch(&session, &url).await.unwrap_err();
    assert!(matches!(error, SendError::Prohibited(_)), "{error:?}");
}

/// A name is looked up once for a request, and the connection goes to what was checked. The next request is judged anew.
#[tokio::test]
async fn a_name_that_changes_its_address_gains_nothing() {
    let mut server = Server::answering(response("200 OK", "hello")).await;
    let port = server.port;
    // What would be rebound to never listens, so that a second lookup would show.
    let names = Names::new(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let (session, _) = session(
        &[format!("private:http://rebind.test:{port}")],
        &names,
        QUOTA,
    );
    let url = format!("http://rebind.test:{port}/");
    assert_eq!(fetch(&session, &url).await.unwrap().1, "hello");
    assert_eq!(names.asked.lock().unwrap().len(), 1);
    server.request().await;
    assert!(matches!(
        fetch(&session, &url).await.unwrap_err(),
        SendError::Prohibited(_)
    ));
    assert!(server.is_untouched());
}

#[tokio::test]
async fn an_address_that_was_granted_is_reached_and_no_other() {
    let mut server = Server::answering(response("200 OK", "hello")).await;
    let mut other = Server::answering(response("200 OK", "secret")).await;
    let names = Names::new(&[&["127.0.0.1"]]);
    let (session, told) = session(
        &[format!("http://127.0.0.1:{}", server.port)],
        &names,
        QUOTA,
    );
    let at = |host: &str, port| format!("http://{host}:{port}/");
    assert_eq!(
        fetch(&session, &at("127.0.0.1", server.port))
            .await
            .unwrap()
            .1,
        "hello"
    );
    assert_eq!(
        fetch(&session, &at("[::ffff:127.0.0.1]", server.port))
            .await
            .unwrap()
            .1,
        "hello"
    );
    for url in [
        at("127.0.0.1", other.port),
        at("localhost", server.port),
        at("127.0.0.2", server.port),
    ] {
        let error = fetch(&session, &url).await.unwrap_err();
        assert!(
            matches!(error, SendError::NotGranted(_)),
            "{url}: {error:?}"
        );
    }
    assert!(names.asked.lock().unwrap().is_empty());
    assert!(other.is_untouched());
    server.request().await;
    assert_eq!(
        told.all()
            .iter()
            .filter(|told| told.starts_with("denied"))
            .count(),
        3
    );
}

/// Nothing follows a redirect here: whoever does sends another request.
#[tokio::test]
async fn a_redirect_is_a_response_like_any_other() {
    let mut inner = Server::answering(response("200 OK", "secret")).await;
    let location = format!("http://127.0.0.1:{}/", inner.port);
    let outer = Server::answering(response(
        &format!("302 Found\r\nLocation: {location}"),
        "moved",
    ))
    .await;
    let names = Names::new(&[&["127.0.0.1"]]);
    let (session, _) = session(
        &[format!("private:http://api.test:{}", outer.port)],
        &names,
        QUOTA,
    );
    let got = fetch(&session, &format!("http://api.test:{}/", outer.port))
        .await
        .unwrap();
    assert_eq!(got, (302, "moved".into()));
    let error = fetch(&session, &location).await.unwrap_err();
    assert!(matches!(error, SendError::NotGranted(_)), "{error:?}");
    assert!(inner.is_untouched());
}

/// The header `Host` is ours, tunnels are refused, and so are schemes that nobody speaks.
#[tokio::test]
async fn what_a_guest_says_of_the_host_is_not_passed_on() {
    let mut server = Server::answering(response("200 OK", "")).await;
    let port = server.port;
    let (session, _) = session(
        &[format!("http://127.0.0.1:{port}")],
        &Names::new(&[]),
        QUOTA,
    );
    let url = format!("http://127.0.0.1:{port}/");
    let request = |method: &str, url: &str| {
        let request = Request::builder()
            .method(method)
            .uri(url)
            .header("host", "evil.example");
        request
            .body(http_body_util::Empty::<bytes::Bytes>::new())
            .unwrap()
    };
    _ = session
        .send(request("GET", &url), Default::default())
        .await
        .unwrap();
    let seen = server.request().await;
    assert!(
        seen.contains(&format!("host: 127.0.0.1:{port}\r\n")) && !seen.contains("evil"),
        "{seen}"
    );
    let error = session
        .send(request("CONNECT", &url), Default::default())
        .await
        .err()
        .unwrap();
    assert!(matches!(error, SendError::Method(_)), "{error:?}");
    for url in [format!("ftp://127.0.0.1:{port}/"), "/".into()] {
        let error = session
            .send(request("GET", &url), Default::default())
            .await
            .err()
            .unwrap();
        assert!(matches!(error, SendError::Scheme), "{error:?}");
    }
}
