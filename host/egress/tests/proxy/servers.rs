//! Servers on loopback, for tests.

use std::convert::Infallible;
use std::path::PathBuf;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};

/// Listens on a free port of a loopback address.
pub(crate) async fn listen(address: &str) -> (TcpListener, u16) {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Returns a loopback port that refuses connections while the returned socket is open.
pub(crate) fn closed() -> (TcpSocket, u16) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

/// Starts a server that reads all bytes of a connection and then sends them back. Returns its port.
pub(crate) async fn echo() -> u16 {
    let (listener, port) = listen("127.0.0.1").await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                _ = stream.read_to_end(&mut bytes).await;
                _ = stream.write_all(&bytes).await;
            });
        }
    });
    port
}

/// Starts a server that echoes each request in its response: method, path, headers and body. Returns its port.
pub(crate) async fn mirror(address: &str) -> u16 {
    http(address, |request| async move {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let headers = head.headers.iter();
        let mut headers: Vec<_> = headers
            .map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(value.as_bytes())))
            .collect();
        headers.sort_unstable();
        let body = String::from_utf8_lossy(&body).into_owned();
        let text = format!(
            "{} {} [{}] {body}",
            head.method,
            head.uri,
            headers.join(" ")
        );
        Response::new(Full::new(Bytes::from(text)))
    })
    .await
}

/// Starts a server of the files below a directory; `/-/ping` is an empty JSON object. Returns its port.
pub(crate) async fn files(root: PathBuf) -> u16 {
    http("127.0.0.1", move |request| {
        let path = request.uri().path().trim_start_matches('/').to_owned();
        let found = match path.as_str() {
            "-/ping" => Ok(b"{}".to_vec()),
            path => std::fs::read(root.join(path)),
        };
        let mut response = Response::new(Full::new(Bytes::new()));
        match found {
            Ok(bytes) => *response.body_mut() = Full::new(bytes.into()),
            Err(_) => *response.status_mut() = StatusCode::NOT_FOUND,
        }
        std::future::ready(response)
    })
    .await
}

async fn http<S, F>(address: &str, service: S) -> u16
where
    S: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Full<Bytes>>> + Send,
{
    let (listener, port) = listen(address).await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service.clone();
            tokio::spawn(async move {
                let answer = service_fn(|request| {
                    let answer = service(request);
                    async move { Ok::<_, Infallible>(answer.await) }
                });
                let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
                _ = serving.await;
            });
        }
    });
    port
}
