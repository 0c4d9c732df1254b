//! Listeners: at addresses, plain or with TLS, and at Unix sockets.

mod peer;
mod socket;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use rustls::ServerConfig;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use super::access::{Channel, LocalAddress, Principal};
use super::stream::{Raw, Stream};
use super::tls::Tls;
use socket::SocketFile;

pub use socket::SocketError;

/// The most unsent bytes that the kernel buffers for a connection.
const UNSENT: u32 = 128 << 10;

/// The prefix of the name of a Unix socket.
const UNIX: &str = "unix:";

/// A place to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// An address; port 0 is any free one.
    Tcp(SocketAddr),
    /// A Unix socket, by its absolute path.
    Unix(PathBuf),
}

/// A text that names no place to listen at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write it as ADDRESS:PORT, such as 127.0.0.1:7411 or [::1]:7411, or as unix:/PATH")]
pub struct InvalidListen;

impl FromStr for Listen {
    type Err = InvalidListen;

    fn from_str(text: &str) -> Result<Self, InvalidListen> {
        let Some(path) = text.strip_prefix(UNIX) else {
            return text.parse().map(Self::Tcp).map_err(|_| InvalidListen);
        };
        let path = PathBuf::from(path);
        let is_good = path.is_absolute() && path.file_name().is_some();
        is_good.then_some(Self::Unix(path)).ok_or(InvalidListen)
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(formatter, "{address}"),
            Self::Unix(path) => write!(formatter, "{UNIX}{}", path.display()),
        }
    }
}

/// A place at which a server listens.
#[derive(Debug)]
pub struct Listener(Kind);

#[derive(Debug)]
enum Kind {
    Tcp {
        listener: TcpListener,
        tls: Option<Tls>,
    },
    Unix {
        listener: UnixListener,
        file: SocketFile,
        /// Whether root and the user that runs the server need no token.
        is_private: bool,
    },
}

/// An accepted connection.
pub(super) struct Incoming {
    pub(super) stream: Raw,
    pub(super) local: Option<LocalAddress>,
    pub(super) channel: Option<Channel>,
    /// The TLS configuration, if the connection must begin with a handshake.
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// The address of the client of a TCP connection.
    pub(super) client: Option<IpAddr>,
}

impl Listener {
    /// Listens at an address, with TLS if there is a certificate.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub async fn tcp(address: SocketAddr, tls: Option<Tls>) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        Ok(Self(Kind::Tcp { listener, tls }))
    }

    /// Listens at a Unix socket with this mode. With mode 0600, the user that runs this and root need no token, unless the client
    /// runs below a host, as a command of a tool does.
    ///
    /// A socket that a server has left behind is replaced. The file goes when this is dropped; `PATH.lock` beside it, by which
    /// servers keep each other out, stays.
    ///
    /// # Errors
    ///
    /// If the path is taken by a file that is no socket of this user, or by another server. If other users may write to its
    /// directory. If the path is too long. If the system refuses.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn unix(path: PathBuf, mode: u32) -> Result<Self, SocketError> {
        let (listener, file) = socket::bind(path, mode)?;
        let is_private = file.is_private();
        Ok(Self(Kind::Unix {
            listener,
            file,
            is_private,
        }))
    }

    /// Returns the same listener, where every client needs a token.
    #[must_use]
    pub fn with_tokens_only(mut self) -> Self {
        if let Kind::Unix { is_private, .. } = &mut self.0 {
            *is_private = false;
        }
        self
    }

    /// Returns the URL by which clients reach the listener.
    ///
    /// # Errors
    ///
    /// If it has no address.
    pub fn url(&self) -> io::Result<String> {
        self.url_with(|address| address)
    }

    /// Returns the URL by which clients on this machine reach the listener. For a listener at all addresses it names the
    /// loopback address: the address of all zeros is never an accepted `Host`.
    ///
    /// # Errors
    ///
    /// If it has no address.
    pub fn local_url(&self) -> io::Result<String> {
        self.url_with(|address| match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
            IpAddr::V6(ip) if ip.is_unspecified() => (Ipv6Addr::LOCALHOST, address.port()).into(),
            _ => address,
        })
    }

    fn url_with(&self, named: impl FnOnce(SocketAddr) -> SocketAddr) -> io::Result<String> {
        Ok(match &self.0 {
            Kind::Tcp { listener, tls } => {
                let scheme = if tls.is_some() { "https" } else { "http" };
                format!("{scheme}://{}", named(listener.local_addr()?))
            }
            Kind::Unix { file, .. } => format!("{UNIX}{}", file.path().display()),
        })
    }

    /// Returns the address, if it is no Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.0 {
            Kind::Tcp { listener, .. } => listener.local_addr().ok(),
            Kind::Unix { .. } => None,
        }
    }

    /// Returns whether every client of this listener needs a token.
    pub fn needs_token(&self) -> bool {
        match &self.0 {
            Kind::Tcp { .. } => true,
            Kind::Unix { is_private, .. } => !is_private,
        }
    }

    /// Waits for a connection and accepts it.
    pub(super) async fn accept(&self) -> io::Result<Incoming> {
        match &self.0 {
            Kind::Tcp { listener, tls } => {
                let (stream, client) = listener.accept().await?;
                Incoming::tcp(stream, client, tls.as_ref())
            }
            Kind::Unix {
                listener,
                is_private,
                ..
            } => {
                let (stream, _) = listener.accept().await?;
                Ok(Incoming::unix(stream, *is_private))
            }
        }
    }
}

impl Incoming {
    fn tcp(stream: TcpStream, client: SocketAddr, tls: Option<&Tls>) -> io::Result<Self> {
        // Replies are written at once; waiting for more to fill a packet only costs time.
        stream.set_nodelay(true)?;
        // Without this limit the kernel would buffer megabytes of replies for a client that sends requests and reads nothing.
        SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT)?;
        let server = stream.local_addr()?;
        Ok(Self {
            local: Some(LocalAddress(server)),
            client: Some(client.ip()),
            channel: tls.map(|_| Channel::Tls),
            tls: tls.map(Tls::current),
            stream: boxed(stream),
        })
    }

    fn unix(stream: UnixStream, is_private: bool) -> Self {
        // A command needs a token, and so does a peer whose credentials cannot be read.
        let is_local = is_private && peer::is_own_program(&stream);
        let local = is_local.then(|| Principal::unbounded("local"));
        Self {
            local: None,
            channel: Some(Channel::Unix(local)),
            tls: None,
            stream: boxed(stream),
            client: None,
        }
    }
}

fn boxed(stream: impl Stream + 'static) -> Raw {
    Box::new(stream)
}

impl From<TcpListener> for Listener {
    /// Without TLS.
    fn from(listener: TcpListener) -> Self {
        let tls = None;
        Self(Kind::Tcp { listener, tls })
    }
}

/// All places at which a server listens.
#[derive(Debug, Default)]
pub struct Listeners(pub(super) Vec<Listener>);

impl From<Listener> for Listeners {
    fn from(listener: Listener) -> Self {
        Self(vec![listener])
    }
}

impl From<TcpListener> for Listeners {
    /// One, without TLS.
    fn from(listener: TcpListener) -> Self {
        Self(vec![listener.into()])
    }
}

impl From<Vec<Listener>> for Listeners {
    fn from(listeners: Vec<Listener>) -> Self {
        Self(listeners)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_addresses_and_paths() {
        let listen = |text: &str| text.parse::<Listen>();
        assert_eq!(
            listen("127.0.0.1:1"),
            Ok(Listen::Tcp("127.0.0.1:1".parse().unwrap()))
        );
        assert_eq!(listen("unix:/run/x"), Ok(Listen::Unix("/run/x".into())));
        for text in ["[::1]:7411", "unix:/run/x"] {
            assert_eq!(listen(text).unwrap().to_string(), text);
        }
        for bad in [
            "",
            "7411",
            "localhost:1",
            "unix:",
            "unix:x",
            "unix:/",
            "/run/x",
        ] {
            assert_eq!(listen(bad), Err(InvalidListen), "{bad}");
        }
    }

    #[tokio::test]
    async fn who_is_here_names_a_server_at_all_addresses_by_one_that_is_let_in() {
        let urls = async |address: &str| {
            let listener = Listener::tcp(address.parse().unwrap(), None).await.unwrap();
            let port = listener.address().unwrap().port().to_string();
            let urls = [listener.url().unwrap(), listener.local_url().unwrap()];
            urls.map(|url| url.replace(&port, "PORT"))
        };
        let here = "http://127.0.0.1:PORT";
        assert_eq!(urls("0.0.0.0:0").await, ["http://0.0.0.0:PORT", here]);
        assert_eq!(urls("127.0.0.1:0").await, [here, here]);
    }
}
