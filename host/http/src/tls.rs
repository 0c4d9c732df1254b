//! TLS with a certificate from files, which can be exchanged while the server runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use toolhost_state::trusted::{UntrustedError, read_private};

/// The largest file with certificates, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A certificate with its key. Clones share them: when one clone reloads the files, all use the new certificate for new
/// connections.
#[derive(Clone, Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: Arc<RwLock<Arc<ServerConfig>>>,
}

/// A reason why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file of the certificate cannot be used.
    #[error("the certificate {path} cannot be used: {problem}", path = path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The problem with the file.
        problem: String,
    },
    /// The file of the key cannot be used.
    #[error("the key of the certificate cannot be used: {0}")]
    KeyFile(UntrustedError),
    /// The key file contains no private key.
    #[error("{path} has no private key in PEM form", path = path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The certificate and the key do not match.
    #[error("the certificate {certificate} and the key {key} cannot be used together: {error}", certificate = certificate.display(), key = key.display())]
    Pair {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// The error of the TLS library.
        error: rustls::Error,
    },
}

impl Tls {
    /// Reads a certificate and its key, both in PEM form. The file of the certificate may also have the intermediate
    /// certificates, after it.
    ///
    /// # Errors
    ///
    /// If one of the files cannot be read or used, or if other users may read the key.
    pub fn open(
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Result<Self, TlsError> {
        let (certificate, key) = (certificate.into(), key.into());
        let current = Arc::new(RwLock::new(Arc::new(read(&certificate, &key)?)));
        Ok(Self {
            certificate,
            key,
            current,
        })
    }

    /// Reads the files again. New connections then get the new certificate. If the new one cannot be used, they still get the
    /// old one.
    ///
    /// # Errors
    ///
    /// As for [`Tls::open`].
    pub fn reload(&self) -> Result<(), TlsError> {
        let read = Arc::new(read(&self.certificate, &self.key)?);
        *self.current.write() = read;
        Ok(())
    }

    /// Returns the files of the certificate and of the key.
    pub fn files(&self) -> [&Path; 2] {
        [&self.certificate, &self.key]
    }

    /// Returns the TLS configuration for new connections.
    pub(super) fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.read())
    }
}

fn read(certificate: &Path, key: &Path) -> Result<ServerConfig, TlsError> {
    let unusable = |problem: String| TlsError::Certificate {
        path: certificate.into(),
        problem,
    };
    let text = certificates(certificate).map_err(|error| unusable(error.to_string()))?;
    let chain = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| unusable(error.to_string()))?;
    if chain.is_empty() {
        return Err(unusable("there is none in PEM form in it".into()));
    }
    let text = read_private(key).map_err(TlsError::KeyFile)?;
    let private = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| TlsError::NoKey {
        path: key.to_owned(),
    })?;
    let pair = |error| TlsError::Pair {
        certificate: certificate.into(),
        key: key.into(),
        error,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(pair)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(pair)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::{Error, Read};
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::other("it is no file"));
    }
    let mut text = Vec::new();
    let mut file = std::fs::File::open(path)?.take(MAX_FILE + 1);
    file.read_to_end(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(Error::other("it is larger than 1 MiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn pem(label: &str, der: &[u8]) -> String {
        use base64::Engine;
        let text = base64::engine::general_purpose::STANDARD.encode(der);
        format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
    }

    #[test]
    fn what_cannot_be_used_is_said_and_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, mode| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            path
        };
        let make = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (one, other) = (make(), make());
        let certificate = write("cert.pem", &pem("CERTIFICATE", one.cert.der()), 0o644);
        let key = write(
            "key.pem",
            &pem("PRIVATE KEY", &one.signing_key.serialize_der()),
            0o600,
        );
        let tls = Tls::open(&certificate, &key).unwrap();
        let before = tls.current();
        let stays = |expected: &str| {
            let error = tls.reload().unwrap_err();
            let text = error.to_string();
            assert!(text.contains(expected), "{text}");
            assert!(Arc::ptr_eq(&before, &tls.current()));
        };
        write("cert.pem", "", 0o644);
        stays("there is none");
        write("cert.pem", &pem("CERTIFICATE", other.cert.der()), 0o644);
        stays("cannot be used together");
        write("key.pem", &pem("CERTIFICATE", other.cert.der()), 0o600);
        stays("has no private key");
        write(
            "key.pem",
            &pem("PRIVATE KEY", &other.signing_key.serialize_der()),
            0o644,
        );
        stays("chmod 600");
        write(
            "key.pem",
            &pem("PRIVATE KEY", &other.signing_key.serialize_der()),
            0o640,
        );
        tls.reload().unwrap();
        assert!(!Arc::ptr_eq(&before, &tls.current()));
    }
}
