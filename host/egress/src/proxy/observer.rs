//! The observer of a proxy.

use std::fmt;
use std::net::IpAddr;

use super::error::EgressError;
use crate::rules::Target;

/// An observer of the connections that commands make. In each minute, it is told of 256 connections and 64 refusals at most; the others
/// are counted. It is called on the threads of the runtime and must not block.
pub trait Observer: Send + Sync + fmt::Debug {
    /// A command is connected with a target at this address.
    fn connected(&self, target: &Target, address: IpAddr);

    /// A command did not reach a host. [`EgressError::is_denial`] tells whether the list of hosts is the reason. `target` is what the
    /// client asked for: printable ASCII, at most 300 bytes, with the port if there was one.
    fn refused(&self, target: &str, why: &EgressError);

    /// So many connections and refusals were not told since the observer last heard of any.
    fn left_out(&self, connected: u64, refused: u64);
}
