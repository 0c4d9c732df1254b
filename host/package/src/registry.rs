//! Registries of OCI images, in the form of the CNCF's "Wasm OCI artifact": one layer with the component, and a description of it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use futures_util::StreamExt;
use oci_client::client::{
    Certificate, CertificateEncoding, ClientConfig, ClientProtocol, Config, ImageLayer,
};
use oci_client::errors::OciDistributionError;
use oci_client::manifest::{OciDescriptor, OciImageManifest};
use serde_json::json;

use crate::{Credentials, Metadata, Reference};

/// The media types of such an artifact.
const CONFIG: &str = "application/vnd.wasm.config.v0+json";
const LAYER: &str = "application/wasm";

/// The media type of the layer with a signature.
const SIGNATURE: &str = "application/vnd.minisign.signature";

/// The media type of a description that is empty.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// The longest signature, in bytes.
const MAX_SIGNATURE: u64 = 4096;

/// The longest time for a connection, and for the next bytes of an answer.
const CONNECT: Duration = Duration::from_secs(10);
const READ: Duration = Duration::from_secs(60);

/// How a registry is reached.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The name and password for it.
    pub credentials: Credentials,
    /// Certificates of authorities in PEM, beside those of the system.
    pub authorities: Option<Vec<u8>>,
    /// Whether it is asked over plain HTTP. `localhost` and loopback addresses are asked so in any case.
    pub is_plain: bool,
}

/// A component to push.
#[derive(Clone, Debug)]
pub struct Package<'a> {
    /// Its bytes.
    pub component: &'a [u8],
    /// Its metadata.
    pub metadata: &'a Metadata,
    /// The interfaces that it imports.
    pub imports: Vec<String>,
    /// The interfaces that it exports.
    pub exports: Vec<String>,
    /// Its signature, in the form of minisign.
    pub signature: Option<String>,
}

/// A component that was pulled.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// Its bytes, which have the digest that the manifest names.
    pub component: Vec<u8>,
    /// The digest of the manifest.
    pub manifest: String,
    /// Its signature, if the registry has one.
    pub signature: Option<String>,
}

/// A failed request to a registry.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// It refused, or cannot be reached.
    #[error("{registry}: {problem}")]
    Refused {
        /// The registry.
        registry: String,
        /// The answer of the registry, or the reason why it cannot be reached.
        problem: String,
    },
    /// There is no such package.
    #[error("there is no {0}")]
    Missing(String),
    /// The reference names something other than a component.
    #[error("{reference} is no component: {problem}")]
    Other {
        /// The reference.
        reference: String,
        /// The kind of content that was found.
        problem: String,
    },
    /// The component is too large.
    #[error("{reference} has {size} bytes, the most is {most}")]
    TooLarge {
        /// The reference.
        reference: String,
        /// Its size, as far as it was read.
        size: u64,
        /// The largest that is taken.
        most: u64,
    },
}

/// A registry.
pub struct Registry {
    client: oci_client::Client,
    credentials: Credentials,
    name: String,
}

impl fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Registry").field(&self.name).finish()
    }
}

impl Registry {
    /// Prepares requests to the registry of a package, and makes none. A default provider of cryptography must be installed.
    ///
    /// # Errors
    ///
    /// If the certificates cannot be used.
    pub fn of(reference: &Reference, access: Access) -> Result<Self, RegistryError> {
        let name = reference.registry().to_owned();
        let is_plain = access.is_plain || is_loopback(&name);
        let authorities = access.authorities.map(|data| Certificate {
            encoding: CertificateEncoding::Pem,
            data,
        });
        let client = oci_client::Client::try_from(ClientConfig {
            protocol: match is_plain {
                true => ClientProtocol::Http,
                false => ClientProtocol::Https,
            },
            extra_root_certificates: authorities.into_iter().collect(),
            platform_resolver: None,
            connect_timeout: Some(CONNECT),
            read_timeout: Some(READ),
            user_agent: concat!("toolhost/", env!("CARGO_PKG_VERSION")),
            ..ClientConfig::default()
        });
        Ok(Self {
            client: client.map_err(|error| refused(&name, &error))?,
            credentials: access.credentials,
            name,
        })
    }

    /// Pushes a package, and then its signature. Returns the digest of its manifest. Pushing the same twice changes nothing.
    ///
    /// # Errors
    ///
    /// If the registry refuses or cannot be reached.
    pub async fn push(
        &self,
        reference: &Reference,
        package: Package<'_>,
    ) -> Result<String, RegistryError> {
        let layer = ImageLayer::new(package.component.to_vec(), LAYER.into(), None);
        let description = json!({
            // Readers need a time, and the same component must have the same digest.
            "created": "1970-01-01T00:00:00Z",
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [layer.sha256_digest()],
            "component": {
                "exports": package.exports,
                "imports": package.imports,
                "target": null,
            },
        });
        let config = Config::new(description.to_string().into_bytes(), CONFIG.into(), None);
        let annotations = annotations(package.metadata);
        let mut manifest = OciImageManifest::build(
            std::slice::from_ref(&layer),
            &config,
            (!annotations.is_empty()).then_some(annotations),
        );
        manifest.artifact_type = Some(CONFIG.into());
        let manifest = self
            .send(reference.inner(), layer, config, manifest)
            .await?;
        if let Some(signature) = package.signature {
            let layer = ImageLayer::new(signature.into_bytes(), SIGNATURE.into(), None);
            let config = Config::new(b"{}".to_vec(), EMPTY.into(), None);
            let mut signed = OciImageManifest::build(std::slice::from_ref(&layer), &config, None);
            signed.artifact_type = Some(SIGNATURE.into());
            let place = reference.signature(&manifest);
            self.send(&place, layer, config, signed).await?;
        }
        Ok(manifest)
    }

    /// Pushes one image, and returns the digest that the registry gave it.
    async fn send(
        &self,
        place: &oci_client::Reference,
        layer: ImageLayer,
        config: Config,
        manifest: OciImageManifest,
    ) -> Result<String, RegistryError> {
        let auth = self.credentials.auth();
        let layers = [layer];
        let pushing = self
            .client
            .push(place, &layers, config, &auth, Some(manifest));
        pushing.await.map_err(|error| refused(&self.name, &error))?;
        let found = self.client.fetch_manifest_digest(place, &auth).await;
        found.map_err(|error| refused(&self.name, &error))
    }

    /// Pulls a component of at most `most` bytes, and its signature. `progress` hears how many bytes there are, and of how many.
    ///
    /// # Errors
    ///
    /// If the registry refuses or cannot be reached, has no such package, or the package is none of a component or too large.
    pub async fn pull(
        &self,
        reference: &Reference,
        most: u64,
        progress: impl FnMut(u64, u64),
    ) -> Result<Pulled, RegistryError> {
        let other = |problem: String| RegistryError::Other {
            reference: reference.to_string(),
            problem,
        };
        let found = self.manifest(reference.inner()).await?;
        let (manifest, digest) =
            found.ok_or_else(|| RegistryError::Missing(reference.to_string()))?;
        let [layer] = &manifest.layers[..] else {
            return Err(other(format!("it has {} layers", manifest.layers.len())));
        };
        if layer.media_type != LAYER {
            return Err(other(format!("its layer is {:?}", layer.media_type)));
        }
        let component = self.blob(reference, reference.inner(), layer, most, progress);
        let component = component.await?;
        let place = reference.signature(&digest);
        let signature = match self.manifest(&place).await? {
            None => None,
            Some((manifest, _)) => match &manifest.layers[..] {
                [layer] if layer.media_type == SIGNATURE => {
                    let text = self.blob(reference, &place, layer, MAX_SIGNATURE, |_, _| ());
                    String::from_utf8(text.await?).ok()
                }
                _ => None,
            },
        };
        Ok(Pulled {
            component,
            manifest: digest,
            signature,
        })
    }

    /// Returns a manifest and its digest, if there is one.
    async fn manifest(
        &self,
        place: &oci_client::Reference,
    ) -> Result<Option<(OciImageManifest, String)>, RegistryError> {
        let auth = self.credentials.auth();
        match self.client.pull_image_manifest(place, &auth).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(refused(&self.name, &error)),
        }
    }

    /// Reads a layer, whose digest is checked.
    async fn blob(
        &self,
        reference: &Reference,
        place: &oci_client::Reference,
        layer: &OciDescriptor,
        most: u64,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Vec<u8>, RegistryError> {
        let declared = u64::try_from(layer.size).unwrap_or(u64::MAX);
        let too_large = |size: u64| RegistryError::TooLarge {
            reference: reference.to_string(),
            size,
            most,
        };
        if declared > most {
            return Err(too_large(declared));
        }
        // The digest alone: a descriptor can name addresses elsewhere.
        let stream = self.client.pull_blob_stream(place, layer.digest.as_str());
        let stream = stream.await.map_err(|error| refused(&self.name, &error))?;
        let mut stream = stream.stream;
        let mut bytes = Vec::new();
        while let Some(piece) = stream.next().await {
            let piece = piece.map_err(|error| RegistryError::Refused {
                registry: self.name.clone(),
                problem: error.to_string(),
            })?;
            let size = (bytes.len() + piece.len()) as u64;
            if size > most {
                return Err(too_large(size));
            }
            bytes.extend_from_slice(&piece);
            progress(size, declared);
        }
        Ok(bytes)
    }
}

/// Returns the description of a package that registries show.
fn annotations(metadata: &Metadata) -> BTreeMap<String, String> {
    let all = [
        ("title", &metadata.name),
        ("version", &metadata.version),
        ("description", &metadata.description),
        ("licenses", &metadata.license),
        ("source", &metadata.source),
    ];
    let known = all.into_iter().filter_map(|(name, value)| {
        let name = format!("org.opencontainers.image.{name}");
        value.clone().map(|value| (name, value))
    });
    known.collect()
}

fn is_loopback(registry: &str) -> bool {
    let host = registry.rsplit_once(':').map_or(registry, |(host, _)| host);
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn is_missing(error: &OciDistributionError) -> bool {
    match error {
        OciDistributionError::ImageManifestNotFoundError(_) => true,
        OciDistributionError::ServerError { code, .. } => *code == 404,
        OciDistributionError::RegistryError { envelope, .. } => {
            use oci_client::errors::OciErrorCode::{ManifestUnknown, NameUnknown, NotFound};
            let missing = [ManifestUnknown, NameUnknown, NotFound];
            envelope
                .errors
                .iter()
                .any(|error| missing.contains(&error.code))
        }
        _ => false,
    }
}

fn refused(registry: &str, error: &OciDistributionError) -> RegistryError {
    let problem = match error {
        OciDistributionError::UnauthorizedError { .. }
        | OciDistributionError::AuthenticationFailure(_)
        | OciDistributionError::ServerError {
            code: 401 | 403, ..
        } => {
            "it does not accept the name and password: log in with `docker login`, or give --username and --password-file".into()
        }
        OciDistributionError::RegistryError { envelope, .. } => envelope.to_string(),
        // The causes say more than the first error, which names the address only.
        other => {
            let mut cause: &dyn std::error::Error = other;
            while let Some(next) = cause.source() {
                cause = next;
            }
            cause.to_string()
        }
    };
    RegistryError::Refused {
        registry: registry.to_owned(),
        problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_asked_over_plain_http() {
        for registry in ["localhost", "localhost:5000", "127.0.0.1:1", "[::1]:5000"] {
            assert!(is_loopback(registry), "{registry}");
        }
        for registry in ["ghcr.io", "10.0.0.1:5000", "localhost.example.com"] {
            assert!(!is_loopback(registry), "{registry}");
        }
    }
}
