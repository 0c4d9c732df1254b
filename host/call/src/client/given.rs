//! Certificates that an operator names in a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// A file of certificates that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the certificates in {path} cannot be used: {reason}", path = path.display())]
pub struct CertificatesError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// Returns a verifier that trusts the certificates in a file, and all that they have signed.
///
/// # Errors
///
/// If the file cannot be read, or has no certificate in PEM form.
pub fn trusting(path: &Path) -> Result<Arc<dyn ServerCertVerifier>, CertificatesError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let given = Given::read(path, provider).map_err(|reason| CertificatesError {
        path: path.to_path_buf(),
        reason,
    })?;
    Ok(Arc::new(given))
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
    fn read(path: &Path, provider: Arc<CryptoProvider>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let found = CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())?;
        let certificates = found
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| error.to_string())?;
        if certificates.is_empty() {
            return Err("there is none in PEM form".into());
        }
        for certificate in &certificates {
            let added = roots.add(certificate.clone());
            added.map_err(|error| error.to_string())?;
        }
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        Ok(Self {
            chains: chains.build().map_err(|error| error.to_string())?,
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
