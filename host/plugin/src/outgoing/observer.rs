//! The observer of requests.

use std::fmt;

use super::error::SendError;
use toolhost_egress::Destination;

/// An observer of the results of requests.
pub trait Observer: Send + Sync + fmt::Debug {
    /// A request was sent, or no connection to its permitted destination could be made. `status` is that of the response, if
    /// there was one.
    fn sent(&self, method: &str, destination: &Destination, status: Option<u16>);

    /// A request was refused, because the operator did not grant its destination.
    fn denied(&self, destination: &Destination, why: &SendError);

    /// The session is over, and its connections are closed. The counts are bytes with headers and without the overhead of TLS.
    /// If no bytes were sent or received, this is not called. By default it does nothing.
    fn ended(&self, _sent: u64, _received: u64) {}
}
