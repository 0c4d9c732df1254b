//! The HTTP clients of the approval hook, of webhooks, of `--server`, of agents and of other hosts. They connect directly, without proxies and redirects.

mod given;
mod peers;

use std::error::Error;
use std::io;
use std::iter::successors;
use std::sync::Arc;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use rustls::{ClientConfig, RootCertStore};

pub use given::{CertificatesError, trusting};
pub use peers::for_peers;

/// Returns a builder of clients that follow no redirect and use no proxy.
pub fn builder(mut tls: ClientConfig) -> ClientBuilder {
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Client::builder()
        .redirect(Policy::none())
        .no_proxy()
        .tls_backend_preconfigured(tls)
}

/// Returns TLS settings that trust these authorities and no others.
///
/// # Errors
///
/// If the cryptography that is built in supports no version of TLS.
pub fn tls(roots: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Returns a URL of an operator, and a client for it. An `https` URL needs a certificate that the system trusts.
///
/// # Errors
///
/// If the text is no absolute `http` or `https` URL, or there is no client for it. The text is for the operator.
pub fn of_url(text: &str) -> Result<(reqwest::Url, Client), String> {
    let url: reqwest::Url = text
        .parse()
        .map_err(|error| format!("it is no URL: {error}"))?;
    let roots = match url.scheme() {
        "http" => RootCertStore::empty(),
        "https" => system_roots(),
        _ => return Err("its scheme must be http or https".into()),
    };
    let tls = tls(roots).map_err(|error| error.to_string())?;
    let client = builder(tls).build().map_err(|error| error.to_string())?;
    Ok((url, client))
}

/// Returns the certificates that the system trusts, or Mozilla's list if the system has none.
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

/// Returns the root cause of an error, such as a refused connection or an untrusted certificate.
pub fn cause<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let causes = successors(Some(error), |&error| {
        match error.downcast_ref().and_then(io::Error::get_ref) {
            // `source()` of an I/O error skips the error that it wraps, so take that error first.
            Some(inner) => Some(inner),
            None => error.source(),
        }
    });
    causes.last().unwrap_or(error)
}
