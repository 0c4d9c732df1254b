//! TLS to servers that this program connects to.

use std::path::Path;

use anyhow::Context as _;
use rustls::{ClientConfig, RootCertStore};
use toolhost_call::client;

/// Returns settings that trust the certificates in a PEM file: those of authorities, or that of the server itself. Without a file, those
/// that the system trusts.
///
/// # Errors
///
/// If the file cannot be read.
pub fn client(authorities: Option<&Path>) -> anyhow::Result<ClientConfig> {
    let roots = match authorities {
        Some(_) => RootCertStore::empty(),
        None => client::system_roots(),
    };
    let mut config = client::tls(roots).context("TLS cannot be set up")?;
    if let Some(path) = authorities {
        let verifier = client::trusting(path)?;
        config.dangerous().set_certificate_verifier(verifier);
    }
    Ok(config)
}
