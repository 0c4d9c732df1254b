//! A connection to an address that passed the check, and to no other.

use std::io;
use std::net::{IpAddr, SocketAddr};

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use super::address::{Allowance, own_addresses, vet};
use super::destination::{Destination, Host, Scheme};
use super::error::SendError;
use super::network::Network;

/// How many addresses of one name are tried.
const ADDRESSES: usize = 8;

/// The connection on which a request is sent.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Returns the addresses of a host that may be reached: at least one.
pub(super) async fn find(
    network: &Network,
    destination: &Destination,
    allowance: Allowance,
    until: Instant,
) -> Result<Vec<IpAddr>, SendError> {
    let found = match &destination.host {
        Host::Ip(address) => vec![*address],
        Host::Name(name) => timeout_at(until, network.resolver.resolve(name))
            .await
            .map_err(|_| SendError::LookupTimeout)?
            .map_err(SendError::Lookup)?,
    };
    if found.is_empty() {
        let nothing = io::Error::new(io::ErrorKind::NotFound, "it has no address");
        return Err(SendError::Lookup(nothing));
    }
    // Looked up for each request: interfaces come and go.
    let own = own_addresses().map_err(SendError::Interfaces)?;
    let mut good = vet(&found, allowance, &own);
    good.truncate(ADDRESSES);
    if good.is_empty() {
        return Err(SendError::Prohibited(destination.clone()));
    }
    Ok(good)
}

/// Connects to one of these addresses, and makes sure over TLS that it is the right host.
pub(super) async fn connect(
    network: &Network,
    destination: &Destination,
    addresses: &[IpAddr],
    until: Instant,
) -> Result<Box<dyn Stream>, SendError> {
    let stream = any(addresses, destination.port, until).await?;
    // A request is written as a whole; waiting for more would only delay it.
    _ = stream.set_nodelay(true);
    match destination.scheme {
        Scheme::Http => Ok(Box::new(stream)),
        Scheme::Https => {
            let tls = network
                .tls
                .clone()
                .ok_or_else(|| SendError::Tls(io::Error::other("there is no TLS here")))?;
            let name = server_name(&destination.host).map_err(SendError::Tls)?;
            let connecting = TlsConnector::from(tls).connect(name, stream);
            let connected = timeout_at(until, connecting).await;
            let stream = connected
                .map_err(|_| SendError::ConnectTimeout)?
                .map_err(SendError::Tls)?;
            Ok(Box::new(stream))
        }
    }
}

/// Tries one address after the other. Each gets an even share of the time that is left.
async fn any(addresses: &[IpAddr], port: u16, until: Instant) -> Result<TcpStream, SendError> {
    let mut failure = SendError::ConnectTimeout;
    for (address, left) in addresses.iter().zip((1..=addresses.len()).rev()) {
        let now = Instant::now();
        let share = until.saturating_duration_since(now) / u32::try_from(left).unwrap_or(u32::MAX);
        let connecting = TcpStream::connect(SocketAddr::new(*address, port));
        match timeout_at(now + share, connecting).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure = SendError::Connect(error),
            Err(_) => {}
        }
    }
    Err(failure)
}

fn server_name(host: &Host) -> io::Result<ServerName<'static>> {
    match host {
        Host::Ip(address) => Ok(ServerName::from(*address)),
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(io::Error::other),
    }
}
