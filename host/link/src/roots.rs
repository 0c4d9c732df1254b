//! The authorities that the system trusts, read when the first connection needs them, and shared by all.

use std::sync::{Arc, OnceLock};

use rustls::RootCertStore;
use toolhost_call::client;

/// The authorities that the system trusts.
#[derive(Debug, Default)]
pub(crate) struct Roots(OnceLock<Arc<RootCertStore>>);

impl Roots {
    /// Returns the authorities for connections to this address; none if it has no TLS.
    pub(crate) fn of(&self, url: &str) -> Arc<RootCertStore> {
        match url.starts_with("http://") {
            true => Arc::new(RootCertStore::empty()),
            false => Arc::clone(self.0.get_or_init(|| Arc::new(client::system_roots()))),
        }
    }
}
