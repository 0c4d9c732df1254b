//! Resolving names to addresses.

use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

/// The most concurrent lookups. A lookup cannot be cancelled. Without this limit, a plugin that resolves unreachable names could occupy
/// all threads that may block.
const LOOKUPS: usize = 8;

/// A lookup under way, which yields addresses.
pub type Resolving = BoxFuture<'static, io::Result<Vec<IpAddr>>>;

/// A resolver of names. It is called once for each connection to a name, and its answer is used for that connection only.
pub trait Resolve: Send + Sync + fmt::Debug {
    /// Returns all addresses of a name, in the order in which to try them.
    fn resolve(&self, name: &str) -> Resolving;
}

/// The resolver of the system, which asks the hosts file and then DNS.
#[derive(Clone, Debug)]
pub struct Resolver {
    permits: Arc<Semaphore>,
}

impl Resolver {
    /// Makes a resolver with permits of its own, so that it does not wait for the lookups of other resolvers.
    pub fn new() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(LOOKUPS)),
        }
    }
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new()
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: &str) -> Resolving {
        let (permits, name) = (Arc::clone(&self.permits), name.to_owned());
        Box::pin(async move {
            let permit = permits.acquire_owned().await.map_err(io::Error::other)?;
            let lookup = move || {
                let _permit = permit;
                let found = (name.as_str(), 0).to_socket_addrs()?;
                Ok(found.map(|address| address.ip()).collect())
            };
            tokio::task::spawn_blocking(lookup).await?
        })
    }
}
