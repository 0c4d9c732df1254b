//! The certificates of servers that `--server` trusts.

use std::path::Path;

use reqwest::Url;
use rustls::{CertificateError, ClientConfig, Error, RootCertStore};

use toolhost_call::client;

/// Returns TLS settings that trust the certificates in a file, or else those that the system trusts.
pub(super) fn config(ca: Option<&Path>) -> anyhow::Result<ClientConfig> {
    let Some(path) = ca else {
        return Ok(client::tls(client::system_roots())?);
    };
    let mut config = client::tls(RootCertStore::empty())?;
    config
        .dangerous()
        .set_certificate_verifier(client::trusting(path)?);
    Ok(config)
}

/// Returns the error for a failed TLS connection to a server, with the remedy.
pub(super) fn connection_error(
    url: Option<&Url>,
    error: &Error,
    ca: Option<&Path>,
) -> anyhow::Error {
    use CertificateError::{Expired, ExpiredContext, NotValidForName, NotValidForNameContext};
    if let Error::InvalidMessage(_) = error {
        let place = url.map_or_else(String::new, |url| {
            let plain = url
                .as_str()
                .trim_end_matches('/')
                .replacen("https:", "http:", 1);
            format!("; is it {plain}?")
        });
        return anyhow::anyhow!("the server does not speak TLS there{place}");
    }
    let Error::InvalidCertificate(reason) = error else {
        return anyhow::Error::new(error.clone()).context("no TLS connection could be made");
    };
    let host = url.and_then(Url::host_str).unwrap_or("this name");
    let advice = match (reason, ca) {
        (Expired | ExpiredContext { .. }, _) => {
            "it has expired: the server needs another".to_owned()
        }
        (NotValidForName | NotValidForNameContext { .. }, _) => {
            format!("it is not for {host}: use a name that it is for")
        }
        (_, None) => format!(
            "nothing that the system trusts has signed it ({reason}): name the certificate of its authority, or its own, with --ca FILE"
        ),
        (_, Some(ca)) => format!(
            "no certificate in {} has signed it, and none is the same ({reason})",
            ca.display()
        ),
    };
    anyhow::anyhow!("the certificate of the server is not trusted: {advice}")
}
