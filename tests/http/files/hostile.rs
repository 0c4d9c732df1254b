//! Paths, bodies and headers that are meant to do harm.

use super::*;

#[tokio::test]
async fn no_path_leads_out() {
    let (setup, server) = server().await;
    std::fs::write(setup.root().join("file"), "x").unwrap();
    std::os::unix::fs::symlink("/etc", setup.root().join("etc")).unwrap();
    let long = "x".repeat(300);
    let longest = "x/".repeat(3000);
    let address = server.url.trim_start_matches("http://");
    for (path, status) in [
        ("../x", 400),
        ("a/%2e%2e/%2e%2e/x", 400),
        ("%2e%2e%2fx", 400),
        ("a%00b", 400),
        ("%ff", 400),
        (&long, 400),
        (&longest, 400),
        ("%2Fetc/passwd", 403),
        ("etc/passwd", 403),
        ("file/below", 409),
    ] {
        for method in ["GET", "PUT", "DELETE"] {
            let request = format!(
                "{method} /v1/chats/a/files/{path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
                 Content-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let answer = raw(&server, &request).await;
            let expected = format!("HTTP/1.1 {status} ");
            assert!(answer.starts_with(&expected), "{method} {path}: {answer}");
            assert!(answer.contains("application/problem+json"), "{answer}");
        }
    }
    // The link itself is removed, and not what it leads to.
    let removed = send(&server, Method::DELETE, "/etc", &[], "").await;
    assert_eq!(removed.status, 204);
    assert!(Path::new("/etc").exists());
    let root = format!("/%2F{}", &setup.root().display().to_string()[1..]);
    for path in ["/%2E", "/%2F", &root] {
        let path = format!("{path}?recursive");
        let removed = send(&server, Method::DELETE, &path, &[], "").await;
        assert!(removed.status >= 400, "{path}");
    }
    assert_eq!(names(&setup.root()), ["file".to_owned()].into());
}

/// Uploads that never go on take no more of what their token may hold than they announce.
#[tokio::test]
async fn small_uploads_that_stop_hold_up_nothing() {
    const COUNT: usize = 100;
    let (setup, server) = server().await;
    let address = server.url.trim_start_matches("http://");
    let mut streams = Vec::new();
    for number in 0..COUNT {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "PUT /v1/chats/a/files/{number} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 10\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        streams.push(stream);
    }
    until("all have begun", || {
        (names(&setup.root()).len() == COUNT).then_some(())
    })
    .await;
    let other = put(&server, "/other", "there").await;
    assert_eq!(other.status, 201);
}

#[tokio::test]
async fn a_link_in_a_tree_is_removed_and_not_followed() {
    let (setup, server) = server().await;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("kept"), "x").unwrap();
    std::fs::create_dir_all(setup.root().join("tree/deep")).unwrap();
    let link = setup.root().join("tree/deep/out");
    std::os::unix::fs::symlink(outside.path(), link).unwrap();
    let removed = send(&server, Method::DELETE, "/tree?recursive", &[], "").await;
    assert_eq!(removed.status, 204);
    assert!(!setup.root().join("tree").exists());
    assert!(outside.path().join("kept").exists());
}

#[tokio::test]
async fn bodies_are_whole_files_of_a_bounded_size() {
    let setup = Setup::new().await;
    let parts = toolhost_server::ServerParts::from(setup.host.clone());
    let server = Server::start(parts.with_file_size(1 << 20)).await;
    let fits = put(&server, "/fits", bytes(1 << 20)).await;
    assert_eq!(fits.status, 201);
    let announced = put(&server, "/large", bytes((1 << 20) + 1)).await;
    assert_eq!(announced.code(), (413, "too_large".into()));
    // A body whose size is not announced is refused when it is too large.
    let unannounced = put(&server, "/large", pieces(vec![0; 512 << 10].into(), 3)).await;
    assert_eq!(unannounced.code(), (413, "too_large".into()));
    for (header, value, status) in [
        ("content-range", "bytes 0-1/4", 400),
        ("content-encoding", "gzip", 415),
    ] {
        let answer = send(&server, Method::PUT, "/large", &[(header, value)], "x").await;
        assert_eq!(answer.status, status, "{header}");
    }
    std::fs::create_dir(setup.root().join("directory")).unwrap();
    let onto = put(&server, "/directory", "x").await;
    assert_eq!(onto.code(), (409, "file_conflict".into()));
    until("nothing but the file is there", || {
        let expected = ["directory".to_owned(), "fits".to_owned()];
        (names(&setup.root()) == expected.into()).then_some(())
    })
    .await;
}
