//! Access to the network: the resolver, and the trusted certificates.

use std::sync::{Arc, OnceLock};

use rustls::{ClientConfig, RootCertStore};

use toolhost_call::client::{system_roots, tls};
use toolhost_egress::{Resolve, Resolver};

/// Access to the network: a resolver and trusted certificates. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Network {
    pub(super) resolver: Arc<dyn Resolve>,
    /// `None`: there is no TLS.
    pub(super) tls: Option<Arc<ClientConfig>>,
}

impl Network {
    /// Returns the network with the system's resolver and the certificates that the system trusts, or Mozilla's if it has none.
    pub fn system() -> Self {
        static TLS: OnceLock<Option<Arc<ClientConfig>>> = OnceLock::new();
        Self {
            resolver: Arc::new(Resolver::new()),
            tls: TLS.get_or_init(|| config(system_roots())).clone(),
        }
    }

    /// Returns the network of a sender that may send nothing. It has no certificates: to read those of the system takes longer than
    /// to load a plugin.
    pub fn unused() -> Self {
        Self {
            resolver: Arc::new(Resolver::new()),
            tls: None,
        }
    }

    /// Makes a network with another resolver and other trusted certificates.
    pub fn new(resolver: Arc<dyn Resolve>, roots: RootCertStore) -> Self {
        Self {
            resolver,
            tls: config(roots),
        }
    }
}

fn config(roots: RootCertStore) -> Option<Arc<ClientConfig>> {
    let tls = tls(roots).inspect_err(|error| {
        tracing::error!(%error, "plugins cannot send requests over TLS");
    });
    tls.ok().map(Arc::new)
}
