//! Finding the allowed addresses of a host, and connecting to exactly these.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::address::own_addresses;
use crate::destination::Host;
use crate::resolve::Resolve;

/// The most addresses of a name to try.
const ADDRESSES: usize = 8;

/// A reason why a host cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// The name has no address.
    #[error("the name was not found: {0}")]
    Lookup(io::Error),
    /// Finding the address took too long.
    #[error("finding the address took too long")]
    LookupTimeout,
    /// The system does not list the addresses of this machine, so they cannot be excluded.
    #[error("the addresses of this machine cannot be listed: {0}")]
    Interfaces(io::Error),
    /// The host has addresses, but none of them may be reached.
    #[error("it has no address that may be reached")]
    Prohibited,
    /// The host does not accept a connection.
    #[error("no connection could be made: {}", without_number(.0))]
    Connect(io::Error),
    /// Connecting took too long.
    #[error("making the connection took too long")]
    ConnectTimeout,
}

/// Returns the text of an error without "(os error N)".
fn without_number(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error ").next().unwrap_or_default();
    words.to_owned()
}

/// Returns the addresses at which a host may be reached: at least one. `admits` decides about an address; its second argument is the list
/// of this machine's own addresses.
///
/// # Errors
///
/// See [`ReachError`].
pub async fn find(
    resolver: &dyn Resolve,
    host: &Host,
    until: Instant,
    admits: impl Fn(IpAddr, &[IpAddr]) -> bool,
) -> Result<Vec<IpAddr>, ReachError> {
    let found = match host {
        Host::Ip(address) => vec![*address],
        Host::Name(name) => timeout_at(until, resolver.resolve(name))
            .await
            .map_err(|_| ReachError::LookupTimeout)?
            .map_err(ReachError::Lookup)?,
    };
    if found.is_empty() {
        let nothing = io::Error::new(io::ErrorKind::NotFound, "it has no address");
        return Err(ReachError::Lookup(nothing));
    }
    // List them for each connection, because interfaces change.
    let own = own_addresses().map_err(ReachError::Interfaces)?;
    let addresses = found.iter().map(IpAddr::to_canonical);
    let admitted = addresses.filter(|address| admits(*address, &own));
    let admitted: Vec<IpAddr> = admitted.take(ADDRESSES).collect();
    if admitted.is_empty() {
        return Err(ReachError::Prohibited);
    }
    Ok(admitted)
}

/// Connects to the first of these addresses that accepts. Each attempt gets an even share of the time that is left.
///
/// # Errors
///
/// [`ReachError::Connect`] with the last error, or [`ReachError::ConnectTimeout`].
pub async fn connect(
    addresses: &[IpAddr],
    port: u16,
    until: Instant,
) -> Result<TcpStream, ReachError> {
    let mut failure = ReachError::ConnectTimeout;
    for (address, left) in addresses.iter().zip((1..=addresses.len()).rev()) {
        let now = Instant::now();
        let share = until.saturating_duration_since(now) / u32::try_from(left).unwrap_or(u32::MAX);
        let connecting = TcpStream::connect(SocketAddr::new(*address, port));
        match timeout_at(now + share, connecting).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure = ReachError::Connect(error),
            Err(_) => {}
        }
    }
    Err(failure)
}
