//! One connection to a host.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::names::{NAME, OPERATIONS, TOKEN};
use crate::tunnel::{self, Tunnel};
use axum::http::header::{
    AUTHORIZATION, CONNECTION, HOST, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderValue, Request, StatusCode, Uri};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::Error as WebSocketError;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use toolhost_state::secret::Secret;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::operation::VERSION;

/// The longest time for a connection, with TLS and the answer to its request.
const CONNECT: Duration = Duration::from_secs(20);

/// The most of an answer that is shown.
const MAX_ANSWER: usize = 1024;

/// A host, and how this agent introduces itself.
#[derive(Clone, Debug)]
pub struct Dial {
    url: Uri,
    shown: String,
    server: String,
    port: u16,
    tls: Option<Arc<ClientConfig>>,
    /// The Unix socket of the host, in the place of its address.
    socket: Option<PathBuf>,
    name: WorkspaceName,
    token: Secret,
    /// The token with which this agent lets the host in.
    lets_in: Secret,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The host cannot be reached.
    #[error("{0} cannot be reached: {1}")]
    Unreachable(String, #[source] io::Error),
    /// The host did not answer in time.
    #[error("{0} did not answer in time")]
    Slow(String),
    /// The host, or a balancer before it, takes no agents now.
    #[error("{0}")]
    Unready(String),
    /// The host refuses. It may do so until its operator changes something.
    #[error("{0}")]
    Refused(String),
    /// The answer is none of a host.
    #[error("{0} is no host of agents: {1}")]
    NoHost(String, #[source] WebSocketError),
}

impl Dial {
    /// Makes it of the address of `/agents` of a host, the name of this agent, and a token of the host. With `tls`, the connection is
    /// encrypted.
    pub fn new(url: Uri, name: WorkspaceName, token: Secret, tls: Option<ClientConfig>) -> Self {
        let server = url.host().unwrap_or_default();
        let port = if tls.is_some() { 443 } else { 80 };
        Self {
            shown: url.to_string(),
            server: server.trim_matches(['[', ']']).to_owned(),
            port: url.port_u16().unwrap_or(port),
            url,
            tls: tls.map(Arc::new),
            socket: None,
            name,
            token,
            lets_in: Secret::new(""),
        }
    }

    /// Makes it of a Unix socket at which a host listens on this machine, the name of this agent, and a token of the host.
    pub fn unix(socket: &Path, name: WorkspaceName, token: Secret) -> Self {
        // The request has an address all the same.
        let url = Uri::from_static("ws://localhost/agents");
        Self {
            shown: format!("unix:{}", socket.display()),
            socket: Some(socket.to_path_buf()),
            ..Self::new(url, name, token, None)
        }
    }

    /// Tells the host to send this token with its requests.
    #[must_use]
    pub fn letting_in(self, token: String) -> Self {
        Self {
            lets_in: Secret::new(token),
            ..self
        }
    }

    /// Returns the address of the host.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns the name of this agent.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Connects to the host.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub async fn connect(&self) -> Result<Tunnel, ConnectError> {
        let connecting = timeout(CONNECT, self.try_connect()).await;
        connecting.unwrap_or_else(|_| Err(ConnectError::Slow(self.shown.clone())))
    }

    async fn try_connect(&self) -> Result<Tunnel, ConnectError> {
        let unreachable = |error| ConnectError::Unreachable(self.shown.clone(), error);
        if let Some(socket) = &self.socket {
            let stream = UnixStream::connect(socket).await.map_err(unreachable)?;
            return self.ask(stream).await;
        }
        let stream = TcpStream::connect((self.server.as_str(), self.port));
        let stream = stream.await.map_err(unreachable)?;
        stream.set_nodelay(true).map_err(unreachable)?;
        let Some(tls) = &self.tls else {
            return self.ask(stream).await;
        };
        let name = ServerName::try_from(self.server.clone())
            .map_err(|error| unreachable(io::Error::other(error)))?;
        let tls = TlsConnector::from(Arc::clone(tls));
        let stream = tls.connect(name, stream).await.map_err(unreachable)?;
        self.ask(stream).await
    }

    async fn ask<S>(&self, stream: S) -> Result<Tunnel, ConnectError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let host = match self.server.parse::<IpAddr>() {
            Ok(IpAddr::V6(address)) => format!("[{address}]:{}", self.port),
            _ => format!("{}:{}", self.server, self.port),
        };
        let bearer = format!("Bearer {}", self.token.reveal());
        let mut request = Request::get(self.url.clone())
            .header(HOST, host)
            .header(CONNECTION, HeaderValue::from_static("Upgrade"))
            .header(UPGRADE, HeaderValue::from_static("websocket"))
            .header(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"))
            .header(SEC_WEBSOCKET_KEY, generate_key());
        for (name, value, is_secret) in [
            (AUTHORIZATION, bearer.as_str(), true),
            (TOKEN, self.lets_in.reveal(), true),
            (NAME, self.name.as_str(), false),
            (OPERATIONS, &VERSION.to_string(), false),
        ] {
            let value = HeaderValue::from_str(value).map(|mut value| {
                value.set_sensitive(is_secret);
                value
            });
            let unsendable = |_| ConnectError::Refused(format!("{name} cannot be sent"));
            request = request.header(&name, value.map_err(unsendable)?);
        }
        let request = request
            .body(())
            .map_err(|error| ConnectError::Refused(error.to_string()))?;
        let asked = client_async_with_config(request, stream, Some(tunnel::config())).await;
        match asked {
            Ok((socket, _)) => Ok(Tunnel::new(socket)),
            Err(WebSocketError::Http(answer)) => {
                let status = answer.status();
                let said = answer.body().as_deref().unwrap_or_default();
                let said = said.get(..MAX_ANSWER).unwrap_or(said);
                let said = String::from_utf8_lossy(said);
                let text = format!("{} answers {status}: {}", self.shown, said.trim());
                let is_passing =
                    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
                Err(match is_passing {
                    true => ConnectError::Unready(text),
                    false => ConnectError::Refused(text),
                })
            }
            Err(WebSocketError::Io(error)) => {
                Err(ConnectError::Unreachable(self.shown.clone(), error))
            }
            Err(error) => Err(ConnectError::NoHost(self.shown.clone(), error)),
        }
    }
}
