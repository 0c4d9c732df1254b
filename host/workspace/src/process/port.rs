//! The TCP ports of commands, and connections to them.

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use super::Error;

/// The most connections to ports of one workspace at a time.
pub const MAX_CONNECTIONS: usize = 256;

/// A TCP port on which a command listens.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub struct Port {
    /// The number of the port.
    pub number: u16,
    /// The id of the process that listens: of the command that started it.
    pub process: String,
}

/// A connection to a port. The end of what is written is passed on, and what is read ends on its own. A connection that is dropped is closed.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<C: AsyncRead + AsyncWrite + Send + Unpin> Connection for C {}

/// The future of a connection.
pub type Connecting<'a> = BoxFuture<'a, Result<Box<dyn Connection>, Error>>;
