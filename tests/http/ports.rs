//! Servers of chats that people open with a link: who is let in, what passes, and when it ends.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::redirect::Policy;
use toolhost_call::call::Actor;
use toolhost_core::{Link, PublicAddress, Target};
use toolhost_needs::needs;

use super::*;

/// A server that shows the file `index.html`.
const FILES: &str = "echo hello > index.html; exec python3 -m http.server 0 --bind 127.0.0.1";

/// A server that changes the protocol of its connections, and then sends back what it gets.
const ECHO: &str = r#"exec python3 -c '
import socket
server = socket.create_server(("127.0.0.1", 0))
while True:
    peer, _ = server.accept()
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += peer.recv(1)
    peer.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n" + head)
    while True:
        got = peer.recv(65536)
        if not got:
            break
        peer.sendall(got)
    peer.close()
'"#;

/// The servers of chats at a server.
struct Shown {
    setup: Setup,
    server: Server,
    /// Follows no redirects.
    client: reqwest::Client,
}

/// The answer to a person.
struct Page {
    status: u16,
    cookie: String,
    location: String,
    text: String,
}

impl Shown {
    async fn new() -> Self {
        let (setup, server) = server().await;
        let authority = server.url.trim_start_matches("http://");
        let port = authority.rsplit_once(':').unwrap().1;
        setup.host.set_public_address(PublicAddress {
            origin: server.url.clone(),
            ports: Some(format!("http://localhost:{port}")),
        });
        let client = crate::harness::http_client().redirect(Policy::none());
        Self {
            setup,
            server,
            client: client.build().unwrap(),
        }
    }

    /// Starts a server in a chat, and returns its process, its port and its link.
    async fn start(&self, chat: &str, call: &str, command: &str) -> (String, u16, reqwest::Url) {
        let mut body = execute(command);
        body["arguments"]["server"] = true.into();
        body["arguments"]["timeout"] = "5m".into();
        let (status, reply) = self.server.put(chat, call, body).await;
        assert_eq!(status, 200, "{reply}");
        let reply = &reply["structured"];
        let port = &reply["ports"][0];
        let url = port["url"].as_str().unwrap_or_else(|| panic!("{reply}"));
        (
            reply["background_process_id"].as_str().unwrap().to_owned(),
            port["port"].as_u64().unwrap().try_into().unwrap(),
            url.parse().unwrap(),
        )
    }

    /// Opens an address as a browser with a cookie would.
    async fn open(&self, host: &str, path: &str, cookie: &str, headers: &[(&str, &str)]) -> Page {
        let mut request = self.client.get(format!("{}{path}", self.server.url));
        request = request.header("host", host);
        if !cookie.is_empty() {
            request = request.header("cookie", cookie);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        let header = |name| {
            let value = response.headers().get(name);
            value.map_or("", |value| value.to_str().unwrap()).to_owned()
        };
        Page {
            status: response.status().as_u16(),
            cookie: header("set-cookie"),
            location: header("location"),
            text: response.text().await.unwrap(),
        }
    }

    /// Enters by a link, and returns the host name and the cookie.
    async fn enter(&self, url: &reqwest::Url) -> (String, String) {
        let host = host(url);
        let path = format!("/?{}", url.query().unwrap());
        let page = self.open(&host, &path, "", &[]).await;
        assert_eq!((page.status, &*page.location), (303, "/"), "{}", page.text);
        assert!(page.cookie.contains("HttpOnly"), "{}", page.cookie);
        let cookie = page.cookie.split(';').next().unwrap().to_owned();
        (host, cookie)
    }
}

fn host(url: &reqwest::Url) -> String {
    format!("{}:{}", url.host_str().unwrap(), url.port().unwrap())
}

fn in_seconds(seconds: u64) -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
        + seconds
}

#[needs(program = "python3")]
#[tokio::test]
async fn a_person_opens_a_server_with_its_link() {
    let shown = Shown::new().await;
    let (_, port, url) = shown.start("a", "1", FILES).await;
    let (host, cookie) = shown.enter(&url).await;
    let own = format!("{cookie}; theme=dark");
    let page = shown.open(&host, "/", &own, &[]).await;
    assert_eq!((page.status, &*page.text), (200, "hello\n"));
    // The routes of the host are not there.
    assert_eq!(shown.open(&host, "/v1/tools", &own, &[]).await.status, 404);
    // Nor is the server at any other name.
    let away = shown
        .open(&host.replacen('.', "x.", 1), "/", &own, &[])
        .await;
    assert_eq!(away.status, 403);
    for (cookie, headers) in [
        ("", &[][..]),
        ("toolhost-link=AAAA", &[]),
        (&own, &[("origin", "http://evil.example")]),
        (
            &own,
            &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")],
        ),
    ] {
        let page = shown.open(&host, "/", cookie, headers).await;
        assert_eq!(page.status, 403, "{cookie} {headers:?}: {}", page.text);
    }
    let path = format!("/v1/chats/a/ports/{port}/");
    let request = shown.client.get(format!("{}{path}", shown.server.url));
    let opened = request.bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(opened.status(), 303);
    let location = opened.headers()["location"].to_str().unwrap();
    assert!(
        location.starts_with(&format!("http://{host}/?")),
        "{location}"
    );
}

#[needs(program = "python3")]
#[tokio::test]
async fn nothing_but_the_server_of_the_link_is_reached() {
    let shown = Shown::new().await;
    let (process, port, url) = shown.start("a", "1", FILES).await;
    let (_, other_port, other) = shown.start("b", "1", FILES).await;
    let (name, cookie) = shown.enter(&url).await;
    // The cookie is for one label, and a label is of one port of one chat.
    let foreign = shown.open(&host(&other), "/", &cookie, &[]).await;
    assert_eq!(foreign.status, 403);
    let of_host = shown
        .server
        .url
        .rsplit_once(':')
        .unwrap()
        .1
        .parse()
        .unwrap();
    for port in [other_port, of_host] {
        let link = Link {
            chat: "a".parse().unwrap(),
            target: Target::Port(port),
            expires_at_unix: in_seconds(600),
            by: "test".into(),
        };
        let label = shown.setup.host.label(&link).unwrap();
        let (_, rest) = name.split_once('.').unwrap();
        let cookie = format!("toolhost-link={}", shown.setup.host.sign(&link));
        let page = shown
            .open(&format!("{label}.{rest}"), "/", &cookie, &[])
            .await;
        assert_eq!(page.status, 502, "{}", page.text);
    }
    let ports = async |chat: &str| {
        let path = format!("/v1/chats/{chat}/ports");
        let request = shown.server.request(Method::GET, &path);
        let listed: Value = request.send().await.unwrap().json().await.unwrap();
        let listed = listed["ports"].as_array().unwrap().clone();
        let ports = listed.iter().map(|port| port["port"].as_u64().unwrap());
        ports.collect::<Vec<_>>()
    };
    assert_eq!(ports("a").await, [u64::from(port)]);
    assert_eq!(ports("b").await, [u64::from(other_port)]);
    assert_eq!(ports("c").await, [0; 0]);
    // It ends, and its link leads nowhere.
    let signal = json!({ "tool": "process_signal", "arguments": { "process_id": process, "signal": "kill" } });
    assert_eq!(shown.server.put("a", "end", signal).await.0, 200);
    let wait = json!({ "tool": "process_output", "arguments": { "process_id": process } });
    assert_eq!(shown.server.put("a", "wait", wait).await.0, 200);
    let page = shown.open(&name, "/", &cookie, &[]).await;
    assert_eq!(page.status, 502, "{}", page.text);
    assert_eq!(ports("a").await, [0; 0]);
}

/// A token with a list of tools sees the servers of their calls alone.
#[needs(program = "python3")]
#[tokio::test]
async fn a_bounded_actor_sees_the_ports_of_its_tools() {
    let shown = Shown::new().await;
    let (_, port, _) = shown.start("a", "1", FILES).await;
    let chat = "a".parse().unwrap();
    let ports = async |tools: [&str; 2]| {
        let actor = Actor::new("bounded").with_tools(tools.map(str::to_owned).into());
        let found = shown.setup.host.ports_of(&chat, &actor, Duration::ZERO);
        let found = found.await.unwrap().into_iter().map(|port| port.number);
        found.collect::<Vec<_>>()
    };
    assert_eq!(ports(["process_output", "execute"]).await, [port]);
    assert_eq!(ports(["process_output", "read_file"]).await, [0; 0]);
}

#[tokio::test]
async fn a_link_ends_with_its_time() {
    let shown = Shown::new().await;
    let link = Link {
        chat: "a".parse().unwrap(),
        target: Target::Port(1),
        expires_at_unix: in_seconds(0),
        by: "test".into(),
    };
    let (signed, label) = (
        shown.setup.host.sign(&link),
        shown.setup.host.label(&link).unwrap(),
    );
    let port = shown.server.url.rsplit_once(':').unwrap().1;
    let host = format!("{label}.localhost:{port}");
    for (path, cookie) in [
        (format!("/?toolhost-link={signed}"), String::new()),
        ("/".into(), format!("toolhost-link={signed}")),
    ] {
        let page = shown.open(&host, &path, &cookie, &[]).await;
        assert_eq!(page.status, 410, "{}", page.text);
        assert!(page.text.contains("expired"), "{}", page.text);
    }
}

/// Whatever passes afterwards, such as the messages of a WebSocket.
#[needs(program = "python3")]
#[tokio::test]
async fn a_connection_changes_its_protocol_and_ends_with_the_link() {
    let shown = Shown::new().await;
    let (_, port, url) = shown.start("a", "1", ECHO).await;
    let link = Link {
        chat: "a".parse().unwrap(),
        target: Target::Port(port),
        expires_at_unix: in_seconds(5),
        by: "test".into(),
    };
    let (host, signed) = (host(&url), shown.setup.host.sign(&link));
    let address = shown.server.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "GET /socket HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: toolhost-link={signed}; a=1\r\n\
         Connection: Upgrade\r\nUpgrade: echo\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut got = Vec::new();
    let read = async |stream: &mut TcpStream, got: &mut Vec<u8>, what: &str| {
        while !String::from_utf8_lossy(got).contains(what) {
            let read = tokio::time::timeout(PATIENCE, stream.read_buf(got)).await;
            assert_ne!(
                read.unwrap().unwrap(),
                0,
                "{}",
                String::from_utf8_lossy(got)
            );
        }
    };
    read(&mut stream, &mut got, "101 Switching Protocols").await;
    // What the server was sent.
    let local = format!("localhost:{port}");
    for field in [
        format!("host: {local}"),
        format!("origin: http://{local}"),
        "cookie: a=1".to_owned(),
        "GET /socket ".to_owned(),
    ] {
        read(&mut stream, &mut got, &field).await;
    }
    assert!(!String::from_utf8_lossy(&got).contains(&signed));
    stream.write_all(b"hello there").await.unwrap();
    read(&mut stream, &mut got, "hello there").await;
    let ended = async { while stream.read_buf(&mut got).await.unwrap_or(0) > 0 {} };
    tokio::time::timeout(PATIENCE, ended).await.unwrap();
}
