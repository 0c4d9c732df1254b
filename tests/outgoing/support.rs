//! Servers on loopback that say what they saw, names by script, and sessions that tell what became of requests.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use toolhost_plugin::outgoing::{
    Destination, Network, Observer, Quota, Resolve, Resolving, SendError, Sender, Session, Timeouts,
};

use crate::harness::PATIENCE;

/// What a server on loopback saw.
#[derive(Debug, PartialEq)]
pub(crate) enum Seen {
    /// The head of a request.
    Request(String),
    /// The other side closed the connection.
    Closed,
}

/// What a server does with each connection.
#[derive(Clone)]
pub(crate) struct Script {
    /// What it answers.
    pub(crate) answer: Vec<u8>,
    /// Whether it goes on with this, byte by byte, until the other side closes; else it closes after the answer.
    pub(crate) drip: Option<u8>,
    /// Whether it answers nothing more, and waits until the other side closes.
    pub(crate) hold: bool,
}

/// A server on loopback.
pub(crate) struct Server {
    pub(crate) port: u16,
    seen: UnboundedReceiver<Seen>,
}

/// A whole response.
pub(crate) fn response(head: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

impl Server {
    /// Answers every request with this text.
    pub(crate) async fn answering(answer: Vec<u8>) -> Self {
        Self::scripted(Script {
            answer,
            drip: None,
            hold: false,
        })
        .await
    }

    /// Answers with this, and then with nothing more.
    pub(crate) async fn holding(answer: &str) -> Self {
        let answer = answer.as_bytes().to_vec();
        Self::scripted(Script {
            answer,
            drip: None,
            hold: true,
        })
        .await
    }

    pub(crate) async fn scripted(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, receiver) = unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, script.clone(), seen.clone()));
            }
        });
        Self {
            port,
            seen: receiver,
        }
    }

    /// Waits for what it sees next.
    pub(crate) async fn seen(&mut self) -> Seen {
        let seen = tokio::time::timeout(PATIENCE, self.seen.recv()).await;
        seen.expect("the server saw nothing").unwrap()
    }

    /// Waits for the next request.
    pub(crate) async fn request(&mut self) -> String {
        loop {
            if let Seen::Request(request) = self.seen().await {
                return request;
            }
        }
    }

    /// Whether nobody was there.
    pub(crate) fn is_untouched(&mut self) -> bool {
        self.seen.try_recv().is_err()
    }
}

/// Plays a script on one connection.
pub(crate) async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    script: Script,
    seen: UnboundedSender<Seen>,
) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    _ = seen.send(Seen::Request(String::from_utf8(request).unwrap()));
    let mut open = stream.write_all(&script.answer).await.is_ok() && stream.flush().await.is_ok();
    while let (true, Some(byte)) = (open, script.drip) {
        open = stream.write_all(&[byte]).await.is_ok();
    }
    if script.hold {
        while stream.read_u8().await.is_ok() {}
    }
    if script.hold || script.drip.is_some() {
        _ = seen.send(Seen::Closed);
    }
    _ = stream.shutdown().await;
    // A connection that is closed before its request was read is reset, and the response may be lost.
    _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
}

/// Resolves every name to one answer after the other; the last one stays.
#[derive(Debug, Default)]
pub(crate) struct Names {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    pub(crate) asked: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn new(answers: &[&[&str]]) -> Arc<Self> {
        let answer = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self {
            answers: Mutex::new(answers.iter().map(answer).collect()),
            asked: Mutex::default(),
        })
    }
}

impl Resolve for Names {
    fn resolve(&self, name: &str) -> Resolving {
        self.asked.lock().unwrap().push(name.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 {
            answers.pop_front()
        } else {
            answers.front().cloned()
        };
        Box::pin(async move { Ok(answer.unwrap_or_default()) })
    }
}

/// Keeps what became of requests.
#[derive(Debug, Default)]
pub(crate) struct Told(Mutex<Vec<String>>);

impl Told {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Told {
    fn sent(&self, method: &str, destination: &Destination, status: Option<u16>) {
        let text = format!("{method} {destination} {status:?}");
        self.0.lock().unwrap().push(text);
    }

    fn denied(&self, destination: &Destination, why: &SendError) {
        self.0
            .lock()
            .unwrap()
            .push(format!("denied {destination}: {why}"));
    }
}

/// More than any test here needs.
pub(crate) const QUOTA: Quota = Quota {
    requests: 1000,
    bytes: 1 << 30,
    concurrent: 16,
};

/// A session with these grants.
pub(crate) fn session(
    patterns: &[String],
    names: &Arc<Names>,
    quota: Quota,
) -> (Session, Arc<Told>) {
    session_over(
        patterns,
        Network::new(
            Arc::clone(names) as Arc<dyn Resolve>,
            rustls::RootCertStore::empty(),
        ),
        quota,
    )
}

pub(crate) fn session_over(
    patterns: &[String],
    network: Network,
    quota: Quota,
) -> (Session, Arc<Told>) {
    let told = Arc::new(Told::default());
    let patterns = patterns.iter().map(|text| text.parse().unwrap()).collect();
    let observer = Arc::clone(&told) as Arc<dyn Observer>;
    (
        Sender::new(patterns, network).session(quota, observer, None),
        told,
    )
}

/// Gets a URL, and returns status and body.
pub(crate) async fn fetch(session: &Session, url: &str) -> Result<(u16, String), SendError> {
    let request = Request::get(url).body(Empty::<Bytes>::new()).unwrap();
    let (response, connection) = session.send(request, Timeouts::default()).await?;
    let driving = tokio::spawn(connection);
    let status = response.status().as_u16();
    let body = response.into_body().collect().await;
    driving.abort();
    Ok((
        status,
        String::from_utf8(body?.to_bytes().to_vec()).unwrap(),
    ))
}
