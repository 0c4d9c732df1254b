//! Components as packages: their metadata, registries of OCI images, signatures, and copies on this machine.
//!
//! Nothing here compiles or runs a component, and nothing of one is trusted: a registry and the component itself may say anything.

mod copies;
mod credentials;
mod lock;
mod metadata;
mod reference;
mod registry;
mod signature;

pub use copies::Copies;
pub use credentials::{Credentials, CredentialsError};
pub use lock::{Lock, LockError, Locked};
pub use metadata::{Metadata, MetadataError};
pub use reference::{InvalidReference, Reference};
pub use registry::{Access, Package, Pulled, Registry, RegistryError};
pub use signature::{PublicKey, SignatureError};

/// Returns the SHA-256 digest of these bytes, as registries write it: `sha256:` and 64 hexadecimal digits.
fn digest(bytes: &[u8]) -> String {
    let layer = oci_client::client::ImageLayer::new(bytes.to_vec(), String::new(), None);
    layer.sha256_digest()
}
