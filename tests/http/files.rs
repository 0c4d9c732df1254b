//! Files of a chat over HTTP: what goes up comes down, whole or not at all.

mod archives;
mod hostile;
mod memory;
mod rights;

use std::collections::BTreeSet;
use std::path::Path;

use reqwest::header::HeaderMap;

use super::*;
use crate::harness::until;

/// The answer to a request.
pub(super) struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Returns the status, and the code of a problem.
    fn code(&self) -> (u16, String) {
        let code = self.json()["code"].as_str().unwrap().to_owned();
        (self.status, code)
    }
}

/// Sends a request for the files of the chat `a`.
async fn send(
    server: &Server,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<reqwest::Body>,
) -> Answer {
    let path = format!("/v1/chats/a/files{path}");
    let mut request = server.request(method, &path).body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    Answer {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        body: response.bytes().await.unwrap().to_vec(),
    }
}

async fn get(server: &Server, path: &str, headers: &[(&str, &str)]) -> Answer {
    send(server, Method::GET, path, headers, "").await
}

async fn put(server: &Server, path: &str, body: impl Into<reqwest::Body>) -> Answer {
    send(server, Method::PUT, path, &[], body).await
}

/// Returns the names in a directory but those of the host itself.
fn names(directory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != ".state").collect()
}

/// Returns bytes of which no stretch is as another.
fn bytes(length: usize) -> Vec<u8> {
    let numbers = 0_u32..;
    let bytes = numbers.flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes());
    bytes.take(length).collect()
}

/// Returns a body of so many pieces, whose size is not announced.
fn pieces(piece: bytes::Bytes, count: u64) -> reqwest::Body {
    let frames = (0..count).map(move |_| {
        let frame = hyper::body::Frame::data(piece.clone());
        Ok::<_, std::io::Error>(frame)
    });
    let body = http_body_util::StreamBody::new(futures_util::stream::iter(frames));
    reqwest::Body::wrap(body)
}

#[tokio::test]
async fn a_file_goes_up_and_comes_down() {
    let (setup, server) = server().await;
    // One piece, pieces whose last is full, and more of them.
    for (name, length) in [
        ("a.txt", 5),
        ("b", 0),
        ("c", 6 << 20),
        ("d.bin", (9 << 20) + 7),
    ] {
        let content = bytes(length);
        let path = format!("/sub/dir/{name}");
        let made = put(&server, &path, content.clone()).await;
        assert_eq!((made.status, &made.body[..]), (201, &b""[..]), "{name}");
        let on_disk = std::fs::read(setup.root().join("sub/dir").join(name)).unwrap();
        assert!(on_disk == content, "{name}");
        let got = get(&server, &path, &[]).await;
        assert_eq!(got.status, 200, "{name}");
        assert!(got.body == content, "{name}");
        assert_eq!(got.header("content-length"), length.to_string());
        assert_eq!(got.header("etag"), made.header("etag"));
        assert_eq!(got.header("accept-ranges"), "bytes");
        let head = send(&server, Method::HEAD, &path, &[], "").await;
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(head.header("content-length"), length.to_string());
        let again = put(&server, &path, content).await;
        assert_eq!(again.status, 204, "a repeat is no error");
    }
    let text = get(&server, "/sub/dir/a.txt", &[]).await;
    assert_eq!(text.header("content-type"), "text/plain");
    assert_eq!(text.header("x-content-type-options"), "nosniff");
    let disposition = text.header("content-disposition");
    assert_eq!(
        disposition,
        "attachment; filename=\"a.txt\"; filename*=UTF-8''a.txt"
    );
    let inline = get(&server, "/sub/dir/a.txt?inline", &[]).await;
    assert!(inline.header("content-disposition").starts_with("inline"));
    assert!(
        inline
            .header("content-security-policy")
            .starts_with("sandbox; default-src 'none'")
    );
    // The tools see the same file in the same version, by its absolute path as well.
    let absolute = format!(
        "/%2F{}",
        &setup.root().join("sub/dir/a.txt").display().to_string()[1..]
    );
    assert_eq!(get(&server, &absolute, &[]).await.body, text.body);
    assert_eq!(
        names(&setup.root().join("sub/dir")).len(),
        4,
        "no temporary file stays"
    );
    let removed = send(&server, Method::DELETE, "/sub/dir/b", &[], "").await;
    assert_eq!((removed.status, &removed.body[..]), (204, &b""[..]));
    assert_eq!(
        get(&server, "/sub/dir/b", &[]).await.code(),
        (404, "unknown_file".into())
    );
    let removed = send(&server, Method::DELETE, "/sub/dir/b", &[], "").await;
    assert_eq!(removed.code(), (404, "unknown_file".into()));
    let full = send(&server, Method::DELETE, "/sub", &[], "").await;
    assert_eq!(full.code(), (409, "file_conflict".into()));
    assert!(setup.root().join("sub/dir/a.txt").exists());
    let all = send(&server, Method::DELETE, "/sub/?recursive=true", &[], "").await;
    assert_eq!(all.status, 204);
    assert!(!setup.root().join("sub").exists());
}

#[tokio::test]
async fn ranges_are_of_one_version() {
    let (_setup, server) = server().await;
    for length in [1000, (5 << 20) + 3] {
        let content = bytes(length);
        let made = put(&server, "/file", content.clone()).await;
        let etag = made.header("etag").to_owned();
        let last = format!("bytes={}-", length - 10);
        for (range, part) in [
            ("bytes=0-9", 0..10),
            ("bytes=-10", length - 10..length),
            (&last, length - 10..length),
            ("bytes=500-99999999999", 500..length),
        ] {
            let got = get(&server, "/file", &[("range", range), ("if-range", &etag)]).await;
            assert_eq!(got.status, 206, "{range}");
            assert!(got.body == content[part.clone()], "{range}");
            let expected = format!("bytes {}-{}/{length}", part.start, part.end - 1);
            assert_eq!(got.header("content-range"), expected);
        }
        for headers in [
            &[("range", "bytes=0-9"), ("if-range", "\"other\"")][..],
            &[("range", "bytes=0-9,20-29")],
            &[("range", "lines=1-2")],
        ] {
            let got = get(&server, "/file", headers).await;
            assert_eq!((got.status, got.body.len()), (200, length), "{headers:?}");
        }
        let beyond = format!("bytes={length}-");
        let got = get(&server, "/file", &[("range", &beyond)]).await;
        assert_eq!(got.code(), (416, "no_range".into()));
        assert_eq!(got.header("content-range"), format!("bytes */{length}"));
    }
}

#[tokio::test]
async fn conditions_are_kept() {
    let (setup, server) = server().await;
    let with = async |method: Method, header: (&str, &str), body: &str| {
        let answer = send(&server, method, "/file", &[header], body.to_owned()).await;
        (answer.status, answer.header("etag").to_owned())
    };
    let only_new = ("if-none-match", "*");
    let (status, first) = with(Method::PUT, only_new, "1").await;
    assert_eq!(status, 201);
    assert_eq!(with(Method::PUT, only_new, "x").await.0, 412);
    let (status, second) = with(Method::PUT, ("if-match", &first), "2").await;
    assert_eq!(status, 204);
    assert_eq!(with(Method::PUT, ("if-match", &first), "x").await.0, 412);
    assert_eq!(with(Method::DELETE, ("if-match", &first), "").await.0, 412);
    assert_eq!(std::fs::read(setup.root().join("file")).unwrap(), b"2");
    let known = get(&server, "/file", &[("if-none-match", &second)]).await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    assert_eq!(known.header("etag"), second);
    let known = get(&server, "/file", &[("if-none-match", &first)]).await;
    assert_eq!((known.status, &known.body[..]), (200, &b"2"[..]));
    let modified = known.header("last-modified").to_owned();
    let known = get(&server, "/file", &[("if-modified-since", &modified)]).await;
    assert_eq!(known.status, 304);
    let other = get(&server, "/file", &[("if-match", &first)]).await;
    assert_eq!(other.code(), (412, "file_changed".into()));
    assert_eq!(with(Method::DELETE, ("if-match", &second), "").await.0, 204);
    assert_eq!(with(Method::DELETE, ("if-match", "*"), "").await.0, 412);
}

/// A client that goes in the middle of an upload leaves nothing, and the file that was there.
#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let (setup, server) = server().await;
    let old = setup.root().join("old");
    std::fs::write(&old, "old").unwrap();
    for path in ["old", "new/deep/file"] {
        let address = server.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "PUT /v1/chats/a/files/{path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 9000000\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b'x'; 3 << 20]).await.unwrap();
        let directory = setup.root().join(path);
        let directory = directory.parent().unwrap();
        until("a temporary file is there", || {
            let is_there =
                directory.exists() && names(directory).iter().any(|name| name.contains(".tmp."));
            is_there.then_some(())
        })
        .await;
        drop(stream);
        until("the temporary file is gone", || {
            (names(&setup.root()) == ["old".to_owned()].into()).then_some(())
        })
        .await;
    }
    assert_eq!(std::fs::read(&old).unwrap(), b"old");
}

/// A file that is replaced while a client downloads it is not mixed with the new one.
#[tokio::test]
async fn a_download_is_of_one_version_or_breaks() {
    let (setup, server) = server().await;
    let path = setup.root().join("file");
    std::fs::write(&path, vec![b'a'; 64 << 20]).unwrap();
    let request = server.request(Method::GET, "/v1/chats/a/files/file");
    let mut response = request.send().await.unwrap();
    let mut seen = response.chunk().await.unwrap().unwrap().to_vec();
    std::fs::write(setup.root().join("next"), vec![b'b'; 64 << 20]).unwrap();
    std::fs::rename(setup.root().join("next"), &path).unwrap();
    let broke = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => seen.extend_from_slice(&chunk),
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    assert!(broke && seen.len() < 64 << 20, "{broke} {}", seen.len());
    assert!(seen.iter().all(|byte| *byte == b'a'));
}

#[tokio::test]
async fn directories_are_listed_in_pages() {
    let (setup, server) = server().await;
    let root = setup.root();
    std::fs::create_dir(root.join("d")).unwrap();
    std::fs::create_dir(root.join("d/sub")).unwrap();
    std::fs::write(root.join("d/.hidden"), "12").unwrap();
    std::fs::write(root.join("d/.gitignore"), "b\n").unwrap();
    std::fs::write(root.join("d/b"), "123").unwrap();
    std::fs::write(root.join("d/sub/deep"), "").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.join("d/link")).unwrap();
    let mut listed = get(&server, "/d", &[]).await.json();
    let entries = listed["entries"].as_array_mut().unwrap();
    for entry in entries {
        let modified = entry.as_object_mut().unwrap().remove("modified_at_unix_ms");
        assert!(modified.unwrap().as_u64().unwrap() > 1_500_000_000_000);
    }
    assert_eq!(
        listed,
        json!({ "path": "d", "total": 5, "entries": [
            { "name": ".gitignore", "kind": "file", "size": 2 },
            { "name": ".hidden", "kind": "file", "size": 2 },
            { "name": "b", "kind": "file", "size": 3 },
            { "name": "link", "kind": "symlink" },
            { "name": "sub", "kind": "directory" },
        ] })
    );
    let first = get(&server, "/d?limit=3", &[]).await.json();
    assert_eq!(
        (first["entries"].as_array().unwrap().len(), &first["next"]),
        (3, &json!(3))
    );
    let rest = get(&server, "/d?limit=3&after=3", &[]).await.json();
    assert_eq!(
        (&rest["entries"][0]["name"], &rest["next"]),
        (&json!("link"), &Value::Null)
    );
    let root = get(&server, "", &[]).await.json();
    let names = root["entries"].as_array().unwrap().iter();
    assert!(
        names.map(|entry| &entry["name"]).any(|name| name == "d"),
        "{root}"
    );
    for bad in [
        "?limit=0",
        "?limit=1001",
        "?after=x",
        "?archive=rar",
        "?inline=7",
        "?other=1",
    ] {
        let answer = get(&server, &format!("/d{bad}"), &[]).await;
        assert_eq!(answer.code(), (400, "broken_request".into()), "{bad}");
    }
}
