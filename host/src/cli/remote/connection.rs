//! One request to a server: over TCP, TLS, or a Unix socket.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use axum::body::{Body, Bytes};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use super::trust;

/// Where a server is.
pub(super) enum Endpoint {
    Tcp {
        authority: Authority,
        tls: Option<Tls>,
        /// What paths begin with.
        base: String,
    },
    Unix(PathBuf),
}

/// How a server is known.
pub(super) struct Tls {
    config: Arc<ClientConfig>,
    /// The file with the certificates that are trusted, if one was named.
    ca: Option<PathBuf>,
}

/// What a server answers.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    body: Bytes,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Endpoint {
    /// Reads the name of a server.
    pub(super) fn new(url: &str, ca: Option<&Path>) -> anyhow::Result<Self> {
        if let Some(path) = url.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            if !path.is_absolute() {
                bail!("{url:?} cannot be reached: name a socket as unix:/PATH");
            }
            return Ok(Self::Unix(path));
        }
        let unusable = || {
            format!(
                "{url:?} cannot be reached: name a server as http://HOST:PORT, https://HOST:PORT or unix:/PATH"
            )
        };
        let uri: Uri = url.parse().ok().with_context(unusable)?;
        let authority = uri.authority().with_context(unusable)?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            bail!(unusable());
        }
        let tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => None,
            Some(scheme) if *scheme == Scheme::HTTPS => Some(Tls {
                config: trust::config(ca)?,
                ca: ca.map(Path::to_owned),
            }),
            _ => bail!(unusable()),
        };
        Ok(Self::Tcp {
            authority: authority.clone(),
            tls,
            base: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Returns whether it is a Unix socket.
    pub(super) fn is_socket(&self) -> bool {
        matches!(self, Self::Unix(_))
    }

    /// Sends a request and waits for its answer, which takes as long as it takes.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Option<String>,
    ) -> anyhow::Result<Answer> {
        let (stream, host, base) = match self {
            Self::Unix(path) => (socket(path).await?, "localhost", ""),
            Self::Tcp {
                authority,
                tls,
                base,
            } => {
                let stream = connect(authority, tls.as_ref()).await?;
                (stream, authority.as_str(), base.as_str())
            }
        };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{base}{path}"))
            .header(HOST, host);
        if let Some(token) = token {
            let value = HeaderValue::from_str(&format!("Bearer {token}"));
            let mut value = value.context("the token is none that can be sent")?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request = request.body(Body::from(body.unwrap_or_default()))?;
        let io = TokioIo::new(stream);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
        let exchange = async {
            let response = sender.send_request(request).await?;
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            Ok(Answer { status, body })
        };
        let mut exchange = std::pin::pin!(exchange);
        let answer: Result<Answer, hyper::Error> = tokio::select! {
            biased;
            answer = &mut exchange => answer,
            // What it had to say may be there all the same.
            _ = connection => exchange.await,
        };
        answer.map_err(|error| {
            // The client speaks HTTP/1 alone, so the server began a TLS handshake, or speaks another protocol.
            let text = match error.is_parse() {
                true => "this is no HTTP server; if it has a certificate, write https://",
                false => "the answer was lost; a call is repeated with `--call` and its id",
            };
            anyhow::Error::from(error).context(text)
        })
    }
}

impl Answer {
    pub(super) fn json<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.body)
    }
}

async fn connect(authority: &Authority, tls: Option<&Tls>) -> anyhow::Result<Box<dyn Stream>> {
    let host = authority.host();
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let port = if tls.is_some() { 443 } else { 80 };
    let port = authority.port_u16().unwrap_or(port);
    let stream = TcpStream::connect((host, port)).await?;
    // A request is written as a whole; waiting for more would only delay it.
    _ = stream.set_nodelay(true);
    let Some(tls) = tls else {
        return Ok(Box::new(stream));
    };
    let name = ServerName::try_from(host.to_owned())?;
    let connecting = TlsConnector::from(Arc::clone(&tls.config)).connect(name, stream);
    let connected = connecting.await;
    Ok(Box::new(connected.map_err(|error| {
        trust::refused(host, error, tls.ca.as_deref())
    })?))
}

/// Connects to a socket, which must not be a stranger's, who would get the token.
async fn socket(path: &Path) -> anyhow::Result<Box<dyn Stream>> {
    let found = std::fs::metadata(path)?;
    let user = nix::unistd::geteuid().as_raw();
    if !found.file_type().is_socket() {
        bail!("it is no socket");
    }
    // In a directory such as /tmp anybody can make one.
    let directory = std::fs::metadata(path.parent().unwrap_or(path))?;
    if directory.mode() & 0o002 != 0 && ![user, 0].contains(&found.uid()) {
        bail!(
            "it belongs to user {}, in a directory that everybody may write to",
            found.uid()
        );
    }
    Ok(Box::new(UnixStream::connect(path).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_by_url_or_socket() {
        let place = |url: &str| Endpoint::new(url, None).map_err(|error| error.to_string());
        assert!(place("unix:/run/x").unwrap().is_socket());
        let Ok(Endpoint::Tcp {
            authority,
            tls,
            base,
        }) = place("http://[::1]:1/base/")
        else {
            panic!()
        };
        assert_eq!((authority.host(), base.as_str()), ("[::1]", "/base"));
        assert!(tls.is_none());
        for bad in [
            "",
            "127.0.0.1:7411",
            "ftp://a",
            "http://",
            "http://user:secret@a",
            "http://a?b",
            "unix:x",
            "unix:",
        ] {
            assert!(place(bad).is_err(), "{bad}");
        }
        let missing = Endpoint::new("https://a", Some(Path::new("/nonexistent")));
        assert!(missing.err().unwrap().to_string().contains("/nonexistent"));
    }
}
