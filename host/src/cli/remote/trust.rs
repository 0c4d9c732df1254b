//! The certificates of servers that `--server` trusts.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use reqwest::Url;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use toolhost_call::client;

/// Returns TLS settings that trust the certificates in a file, or else those that the system trusts.
pub(super) fn config(ca: Option<&Path>) -> anyhow::Result<ClientConfig> {
    let Some(path) = ca else {
        return Ok(client::tls(client::system_roots())?);
    };
    let mut config = client::tls(RootCertStore::empty())?;
    let given = Given::read(path, Arc::clone(config.crypto_provider()))?;
    config.dangerous().set_certificate_verifier(Arc::new(given));
    Ok(config)
}

/// A verifier that trusts the certificates in a file, and all that they have signed.
///
/// A self-signed certificate, as `openssl req -x509` makes it, is usually marked as that of an authority. The rules for chains
/// do not let a server use such a certificate. If the server's certificate is itself in the file, no chain is needed.
#[derive(Debug)]
struct Given {
    chains: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

impl Given {
    fn read(path: &Path, provider: Arc<CryptoProvider>) -> anyhow::Result<Self> {
        let unusable = || format!("the certificates in {} cannot be used", path.display());
        let mut roots = RootCertStore::empty();
        let found = CertificateDer::pem_file_iter(path).with_context(unusable)?;
        let certificates = found
            .collect::<Result<Vec<_>, _>>()
            .with_context(unusable)?;
        if certificates.is_empty() {
            bail!("{}: there is none in PEM form", unusable());
        }
        for certificate in &certificates {
            roots.add(certificate.clone()).with_context(unusable)?;
        }
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        Ok(Self {
            chains: chains.build().with_context(unusable)?,
            certificates,
        })
    }
}

impl ServerCertVerifier for Given {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.chains.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // The chain verifier has already checked the period of validity.
            Err(error) if is_of_authority(&error) && self.certificates.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

/// Returns whether a certificate was refused only because it is marked as that of an authority.
fn is_of_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else {
        return false;
    };
    let error = other.0.downcast_ref::<webpki::Error>();
    error == Some(&webpki::Error::CaUsedAsEndEntity)
}

/// Returns the error for a failed TLS connection to a server, with the remedy.
pub(super) fn connection_error(
    url: Option<&Url>,
    error: &Error,
    ca: Option<&Path>,
) -> anyhow::Error {
    use CertificateError::{Expired, ExpiredContext, NotValidForName, NotValidForNameContext};
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
