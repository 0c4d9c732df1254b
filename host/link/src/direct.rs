//! Requests over connections that the host makes to an agent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use hyper::header::{AUTHORIZATION, HeaderValue};
use parking_lot::Mutex;
use reqwest::Url;
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use toolhost_call::client;

use crate::explain;
use crate::roots::Roots;
use crate::transport::{Answer, Request, RequestBody, SendError, Transport};
use toolhost_state::secret::Secret;

/// Where an agent is, and what authenticates both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its address: `http://` or `https://`, a host and a port.
    pub url: String,
    /// The token with which it lets this host in.
    pub token: Secret,
    /// The TLS settings.
    pub tls: TlsFiles,
}

/// Files with certificates and keys, in PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificates of the authorities of the agent, or its own; `None`: those of the system.
    pub authorities: Option<PathBuf>,
    /// The certificate and the key of this host, for agents that ask for one.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// An address that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The address is not one of HTTP.
    #[error("{0:?} is no address of an agent: write it as http://HOST:PORT or https://HOST:PORT")]
    Url(String),
    /// The token cannot be sent.
    #[error("the token of the agent has characters that no token has")]
    Token,
    /// A certificate or key cannot be used.
    #[error("{path}: {reason}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

/// Connections to one address.
#[derive(Debug)]
pub(crate) struct Direct {
    /// The client with the idle connections; replaced when one of them fails.
    client: Mutex<Arc<reqwest::Client>>,
    /// The client for connections to ports, each of which has a connection of its own. These may stand still for as long as they like.
    streams: Arc<reqwest::Client>,
    tls: ClientConfig,
    url: Url,
    /// The address as errors show it.
    shown: String,
    /// The agent there.
    agent: String,
    authorization: HeaderValue,
}

impl Direct {
    /// Prepares connections, and makes none.
    ///
    /// # Errors
    ///
    /// If the address cannot be used.
    pub(crate) fn new(address: &Address, roots: &Roots) -> Result<Self, AddressError> {
        let wrong = || AddressError::Url(address.url.clone());
        let direct = Self::below(address, roots)?;
        match direct.url.path() == "/" {
            true => Ok(direct),
            false => Err(wrong()),
        }
    }

    /// The same for an address below which the paths of requests are.
    ///
    /// # Errors
    ///
    /// If the address cannot be used.
    pub(crate) fn below(address: &Address, roots: &Roots) -> Result<Self, AddressError> {
        let wrong = || AddressError::Url(address.url.clone());
        let url = Url::parse(&address.url).map_err(|_| wrong())?;
        let is_bare = url.query().is_none() && url.fragment().is_none();
        let is_http = matches!(url.scheme(), "http" | "https");
        if !is_http || !url.has_host() || !is_bare || !url.username().is_empty() {
            return Err(wrong());
        }
        let bearer = format!("Bearer {}", address.token.reveal());
        let mut authorization = HeaderValue::from_str(&bearer).map_err(|_| AddressError::Token)?;
        authorization.set_sensitive(true);
        let tls = address.tls.config(&address.url, roots)?;
        let client = client::for_peers(tls.clone()).build();
        let client = client.map_err(|error| AddressError::Tls(error.to_string()))?;
        let streams = client::for_peers(tls.clone())
            .tcp_user_timeout(None)
            .pool_max_idle_per_host(0);
        let streams = streams
            .build()
            .map_err(|error| AddressError::Tls(error.to_string()))?;
        let shown = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self {
            client: Mutex::new(Arc::new(client)),
            streams: Arc::new(streams),
            tls,
            url,
            agent: format!("the agent at {shown}"),
            shown,
            authorization,
        })
    }

    /// Uses none of the idle connections any more after one of them failed: the others may lead to the same dead end.
    fn renew(&self, failed: &Arc<reqwest::Client>) {
        let mut client = self.client.lock();
        if Arc::ptr_eq(&client, failed)
            && let Ok(new) = client::for_peers(self.tls.clone()).build()
        {
            *client = Arc::new(new);
        }
    }
}

impl Transport for Direct {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Answer, SendError>> {
        Box::pin(async move {
            let mut url = self.url.clone();
            let below = url.path().trim_end_matches('/');
            url.set_path(&format!("{below}{}", request.path));
            let (client, body) = match request.body {
                RequestBody::Bytes(bytes) => (Arc::clone(&self.client.lock()), bytes.into()),
                RequestBody::Stream(stream) => {
                    (Arc::clone(&self.streams), reqwest::Body::wrap(stream))
                }
            };
            let sending = client
                .request(request.method, url)
                .headers(request.headers)
                .header(AUTHORIZATION, self.authorization.clone())
                .body(body)
                .send();
            let sent = tokio::time::timeout(request.within, sending).await;
            let Ok(sent) = sent else {
                self.renew(&client);
                let text = format!("{} did not answer in time", self.agent);
                return Err(SendError::Broken(text));
            };
            let response = sent.map_err(|error| {
                let error = explain::unsent(&self.shown, &error);
                if let SendError::Broken(_) = error {
                    self.renew(&client);
                }
                error
            })?;
            Ok(Answer::of(response.into()))
        })
    }

    fn agent(&self) -> &str {
        &self.agent
    }
}

impl TlsFiles {
    /// Returns the settings for connections to an address.
    pub(crate) fn config(&self, url: &str, system: &Roots) -> Result<ClientConfig, AddressError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let failed = |error: rustls::Error| AddressError::Tls(error.to_string());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(failed)?;
        let builder = match &self.authorities {
            None => builder.with_root_certificates(system.of(url)),
            Some(path) => {
                let verifier = client::trusting(path);
                let verifier = verifier.map_err(|error| file(&error.path, &error.reason))?;
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(verifier)
            }
        };
        let Some((certificate, key)) = &self.identity else {
            return Ok(builder.with_no_client_auth());
        };
        let chain = certificates(certificate)?;
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| file(key, &error))?;
        builder
            .with_client_auth_cert(chain, private)
            .map_err(failed)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, AddressError> {
    let found = CertificateDer::pem_file_iter(path).map_err(|error| file(path, &error))?;
    let found: Vec<_> = found
        .collect::<Result<_, _>>()
        .map_err(|error| file(path, &error))?;
    match found.is_empty() {
        true => Err(file(path, &"it has no certificate")),
        false => Ok(found),
    }
}

fn file(path: &Path, reason: &impl ToString) -> AddressError {
    AddressError::File {
        path: path.to_path_buf(),
        reason: reason.to_string(),
    }
}
