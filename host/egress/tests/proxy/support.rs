//! A proxy under test, a scripted resolver, and an observer that records its reports.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolhost_egress::{EgressError, Limits, Observer, Proxy, Resolve, Resolving, Rules, Target};

/// A resolver that answers by a script and records its questions. If a name has several answers, each is used once, and the last one
/// repeatedly.
#[derive(Debug, Default)]
pub(crate) struct Names {
    answers: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolve for Names {
    fn resolve(&self, name: &str) -> Resolving {
        self.asked.lock().unwrap().push(name.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answer = answers.get_mut(name).map(|answers| {
            if answers.len() > 1 {
                answers.remove(0)
            } else {
                answers[0].clone()
            }
        });
        let none = || io::Error::new(io::ErrorKind::NotFound, "no such name");
        Box::pin(std::future::ready(answer.ok_or_else(none)))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Vec<String>>);

impl Observer for Recorder {
    fn connected(&self, target: &Target, address: IpAddr) {
        self.0
            .lock()
            .unwrap()
            .push(format!("{target} at {address}"));
    }

    fn refused(&self, target: &str, why: &EgressError) {
        let kind = if why.is_denial() { "denied" } else { "failed" };
        self.0.lock().unwrap().push(format!("{kind} {target}"));
    }

    fn left_out(&self, connected: u64, refused: u64) {
        self.0
            .lock()
            .unwrap()
            .push(format!("left out {connected} {refused}"));
    }
}

/// A running proxy. It ends when this value is dropped.
pub(crate) struct Running {
    pub(crate) port: u16,
    pub(crate) names: Arc<Names>,
    pub(crate) until: CancellationToken,
    recorder: Arc<Recorder>,
    serving: JoinHandle<()>,
}

impl Running {
    /// Starts a proxy for a list of hosts. The name `upstream.test` resolves to 127.0.0.1.
    pub(crate) async fn new(hosts: &[&str]) -> Self {
        Self::with(hosts, &[], Limits::default()).await
    }

    /// Starts a proxy whose resolver also knows these names, each with these addresses.
    pub(crate) async fn with(hosts: &[&str], names: &[(&str, &[&str])], limits: Limits) -> Self {
        let mut answers = HashMap::new();
        for (name, addresses) in [("upstream.test", &["127.0.0.1"][..])].iter().chain(names) {
            let answer = addresses
                .iter()
                .map(|address| address.parse().unwrap())
                .collect();
            answers
                .entry((*name).to_owned())
                .or_insert_with(Vec::new)
                .push(answer);
        }
        let names = Arc::new(Names {
            answers: Mutex::new(answers),
            asked: Mutex::default(),
        });
        let recorder = Arc::new(Recorder::default());
        let rules = Rules::new(hosts).unwrap();
        let proxy = Proxy::with_limits(
            rules,
            Arc::clone(&names) as _,
            Arc::clone(&recorder) as _,
            limits,
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let until = CancellationToken::new();
        let serving = tokio::spawn(proxy.serve(listener, until.clone()));
        Self {
            port,
            names,
            until,
            recorder,
            serving,
        }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).await.unwrap()
    }

    /// Sends bytes, and returns everything that the proxy sends until it closes the connection.
    pub(crate) async fn send(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes.as_ref()).await.unwrap();
        rest(&mut stream).await
    }

    /// Returns the reports that the observer has recorded.
    pub(crate) fn reports(&self) -> Vec<String> {
        self.recorder.0.lock().unwrap().clone()
    }

    /// Cancels the proxy, and waits until it has ended.
    pub(crate) async fn cancel(&mut self) {
        self.until.cancel();
        (&mut self.serving).await.unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.until.cancel();
    }
}

/// Reads until the other side closes or resets the connection.
pub(crate) async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads the head of a response.
pub(crate) async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Opens a tunnel to a server.
pub(crate) async fn tunnel(running: &Running, target: &str) -> TcpStream {
    let mut stream = running.connect().await;
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let head = head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    stream
}
