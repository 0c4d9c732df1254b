//! Access to the network: the resolver, and the trusted certificates.

use std::sync::{Arc, OnceLock};

use rustls::{ClientConfig, RootCertStore};

use super::resolve::{Resolve, Resolver};

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

    /// Makes a network with another resolver and other trusted certificates.
    pub fn new(resolver: Arc<dyn Resolve>, roots: RootCertStore) -> Self {
        Self {
            resolver,
            tls: config(roots),
        }
    }
}

fn config(roots: RootCertStore) -> Option<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    match builder {
        Ok(builder) => Some(Arc::new(
            builder.with_root_certificates(roots).with_no_client_auth(),
        )),
        Err(error) => {
            tracing::error!(%error, "plugins cannot send requests over TLS");
            None
        }
    }
}

/// Returns the certificates that the system trusts, or those that Mozilla trusts if it has none.
pub fn system_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "some certificates of the system cannot be read");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        tracing::info!(
            "the system has no certificates of authorities: those that Mozilla trusts are used"
        );
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}
