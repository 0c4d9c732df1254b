//! One request to a server: over TCP, TLS, or a Unix socket.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Method, Response, StatusCode, Url};
use rustls::RootCertStore;
use serde::de::DeserializeOwned;

use super::trust;
use toolhost_call::client;

/// The address of a server, and how to trust it.
pub(super) struct Endpoint {
    client: Client,
    /// The URL to which the paths of requests are appended.
    base: Url,
    /// The Unix socket that it listens on, if it is named by one.
    pub(super) socket: Option<PathBuf>,
    /// The file with the certificates that are trusted, if one was named.
    pub(super) ca: Option<PathBuf>,
}

/// The answer of a server.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    body: Bytes,
}

impl Endpoint {
    /// Parses the name of a server.
    pub(super) fn new(url: &str, ca: Option<&Path>) -> anyhow::Result<Self> {
        let untrusting = || client::tls(RootCertStore::empty());
        if let Some(path) = url.strip_prefix("unix:") {
            if !path.starts_with('/') {
                bail!("{url:?} cannot be reached: name a socket as unix:/PATH");
            }
            return Ok(Self {
                client: client::builder(untrusting()?).unix_socket(path).build()?,
                base: Url::parse("http://localhost")?,
                socket: Some(path.into()),
                ca: None,
            });
        }
        let unusable = || {
            format!(
                "{url:?} cannot be reached: name a server as http://HOST:PORT, https://HOST:PORT or unix:/PATH"
            )
        };
        let base: Url = url.parse().ok().with_context(unusable)?;
        let more = (base.password(), base.query(), base.fragment());
        if more != (None, None, None) || !base.username().is_empty() {
            bail!(unusable());
        }
        let (tls, ca) = match base.scheme() {
            "http" => (untrusting()?, None),
            "https" => (trust::config(ca)?, ca),
            _ => bail!(unusable()),
        };
        Ok(Self {
            client: client::builder(tls).build()?,
            base,
            socket: None,
            ca: ca.map(Path::to_owned),
        })
    }

    /// Returns the URL of a path, whose segments it encodes.
    pub(super) fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// Sends a request and waits for the head of its answer, without a timeout.
    pub(super) async fn ask(
        &self,
        method: &Method,
        url: &Url,
        token: Option<&str>,
        body: &Option<String>,
        accept: Option<&str>,
    ) -> anyhow::Result<Response> {
        if let Some(path) = &self.socket {
            check_owner(path)?;
        }
        let mut request = self.client.request(method.clone(), url.clone());
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            let body = body.clone();
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        if let Some(accept) = accept {
            request = request.header(ACCEPT, accept);
        }
        let answer = request.send().await;
        answer.map_err(|error| self.explain(&error))
    }

    /// Waits for the rest of an answer.
    pub(super) async fn read(&self, response: Response) -> anyhow::Result<Answer> {
        let status = response.status();
        let body = response.bytes().await;
        let body = body.map_err(|error| self.explain(&error))?;
        Ok(Answer { status, body })
    }

    /// Returns the error for a request without an answer, with the remedy.
    fn explain(&self, error: &reqwest::Error) -> anyhow::Error {
        let cause = client::cause(error);
        if let Some(refused) = cause.downcast_ref() {
            return trust::connection_error(error.url(), refused, self.ca.as_deref());
        }
        let said = anyhow::anyhow!("{cause}");
        if error.is_connect() {
            return said;
        }
        let exchange = cause.downcast_ref::<hyper::Error>();
        // The client speaks HTTP/1 alone, so the server began a TLS handshake, or speaks another protocol.
        let text = match exchange.is_some_and(hyper::Error::is_parse) {
            true => "this is no HTTP server; if it has a certificate, write https://",
            false => "the answer was lost; a call is repeated with `--call` and its id",
        };
        said.context(text)
    }
}

impl Answer {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.body.into()
    }

    pub(super) fn json<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.body)
    }
}

/// Checks that a socket does not belong to another user, who would get the token.
fn check_owner(path: &Path) -> anyhow::Result<()> {
    let found = std::fs::metadata(path)?;
    let user = nix::unistd::geteuid().as_raw();
    if !found.file_type().is_socket() {
        bail!("it is no socket");
    }
    // In a directory such as /tmp, every user can make a socket.
    let directory = std::fs::metadata(path.parent().unwrap_or(path))?;
    if directory.mode() & 0o002 != 0 && ![user, 0].contains(&found.uid()) {
        bail!(
            "it belongs to user {}, in a directory that everybody may write to",
            found.uid()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_by_url_or_socket() {
        let place = |url: &str| Endpoint::new(url, None).map_err(|error| error.to_string());
        let socket = place("unix:/run/x").unwrap().socket;
        assert_eq!(socket.as_deref(), Some(Path::new("/run/x")));
        let tcp = place("http://[::1]:1/base/").unwrap();
        // Ids can contain these characters.
        let url = tcp.url(&["calls", "call_7Qx-1.~", "a?b#c%d"]);
        let expected = "http://[::1]:1/base/calls/call_7Qx-1.~/a%3Fb%23c%25d";
        assert_eq!((url.as_str(), tcp.socket), (expected, None));
        for bad in [
            "",
            "127.0.0.1:7411",
            "localhost:7411",
            "ftp://a",
            "http://",
            "http://user:secret@a",
            "http://user@a",
            "http://a?b",
            "http://a#b",
            "unix:x",
            "unix:",
        ] {
            assert!(place(bad).is_err(), "{bad}");
        }
        let missing = Endpoint::new("https://a", Some(Path::new("/nonexistent")));
        assert!(missing.err().unwrap().to_string().contains("/nonexistent"));
    }
}
