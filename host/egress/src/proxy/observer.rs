//! The trait for observers of a proxy.

use std::fmt;
use std::net::IpAddr;

use super::error::EgressError;
use crate::rules::Target;

/// An observer of the connections that commands make. In each minute, the proxy reports at most 256 connections and 64 refusals one by one,
/// and counts the others. The methods are called on the threads of the runtime and must not block.
pub trait Observer: Send + Sync + fmt::Debug {
    /// Reports that a command was connected to a target at this address.
    fn connected(&self, target: &Target, address: IpAddr);

    /// Reports that a command did not reach a host. [`EgressError::is_denial`] tells whether the list of hosts is the reason. `target` is
    /// the text of the client, in printable ASCII, and cut at 300 bytes.
    fn refused(&self, target: &str, why: &EgressError);

    /// Reports how many connections and refusals of an earlier minute were only counted.
    fn left_out(&self, connected: u64, refused: u64);
}
