//! A connection to an address that passed the check, and to no other.

use std::io;
use std::net::IpAddr;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use super::error::SendError;
use super::network::Network;
use toolhost_egress::{Allowance, Destination, Host, Scheme};

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
    let admits = |address, own: &[IpAddr]| allowance.admits(address, own);
    toolhost_egress::find(&*network.resolver, &destination.host, until, admits)
        .await
        .map_err(|error| SendError::reach(error, destination))
}

/// Connects to one of these addresses, and makes sure over TLS that it is the right host.
pub(super) async fn connect(
    network: &Network,
    destination: &Destination,
    addresses: &[IpAddr],
    until: Instant,
) -> Result<Box<dyn Stream>, SendError> {
    let stream = toolhost_egress::connect(addresses, destination.port, until)
        .await
        .map_err(|error| SendError::reach(error, destination))?;
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

fn server_name(host: &Host) -> io::Result<ServerName<'static>> {
    match host {
        Host::Ip(address) => Ok(ServerName::from(*address)),
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(io::Error::other),
    }
}
