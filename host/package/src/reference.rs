//! The place of a package in a registry: `oci://REGISTRY/NAME:TAG`, or with a digest, `oci://REGISTRY/NAME@sha256:…`.

use std::fmt;
use std::str::FromStr;

/// The prefix of every reference.
const SCHEME: &str = "oci://";

/// The place of a package in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference(oci_client::Reference);

/// A text that is no reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no place in a registry: write it as oci://ghcr.io/acme/weather:1.2 ({problem})"
)]
pub struct InvalidReference {
    text: String,
    problem: String,
}

impl Reference {
    /// Returns whether a text is meant as a reference, and not as the path of a file.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// Returns the registry: a host, and its port if there is one.
    pub fn registry(&self) -> &str {
        self.0.registry()
    }

    /// Returns the same place with this digest in the place of a tag.
    #[must_use]
    pub fn at(&self, digest: &str) -> Self {
        Self(self.0.clone_with_digest(digest.to_owned()))
    }

    /// Returns the place of the signature of the package with this digest.
    pub(crate) fn signature(&self, digest: &str) -> oci_client::Reference {
        let tag = format!("{}.minisig", digest.replace(':', "-"));
        let (registry, repository) = (self.0.registry(), self.0.repository());
        oci_client::Reference::with_tag(registry.into(), repository.into(), tag)
    }

    pub(crate) fn inner(&self) -> &oci_client::Reference {
        &self.0
    }
}

impl FromStr for Reference {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = |problem: &str| InvalidReference {
            text: text.to_owned(),
            problem: problem.to_owned(),
        };
        let place = text
            .strip_prefix(SCHEME)
            .ok_or_else(|| invalid("it does not begin with oci://"))?;
        let (registry, _) = place
            .split_once('/')
            .ok_or_else(|| invalid("it names no registry"))?;
        if !registry.contains(['.', ':']) && registry != "localhost" {
            return Err(invalid("the registry has no dot and no port"));
        }
        let parsed = place.parse::<oci_client::Reference>();
        let parsed = parsed.map_err(|error| invalid(&error.to_string()))?;
        Ok(Self(parsed))
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{SCHEME}{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_they_are_written() {
        let digest = format!("sha256:{}", "0".repeat(64));
        for text in [
            "oci://ghcr.io/acme/weather:1.2".to_owned(),
            "oci://localhost:5000/weather:latest".to_owned(),
            format!("oci://ghcr.io/acme/weather@{digest}"),
            format!("oci://ghcr.io/acme/weather:1.2@{digest}"),
        ] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
        let latest: Reference = "oci://ghcr.io/acme/weather".parse().unwrap();
        assert_eq!(latest.to_string(), "oci://ghcr.io/acme/weather:latest");
        assert_eq!(latest.registry(), "ghcr.io");
        let signature = latest.signature(&digest).to_string();
        assert!(
            signature.starts_with("ghcr.io/acme/weather:sha256-000"),
            "{signature}"
        );
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "weather.wasm",
            "ghcr.io/acme/weather",
            "oci://",
            "oci://weather",
            "oci://acme/weather",
            "oci://ghcr.io/",
            "oci://ghcr.io/Acme/weather",
            "oci://ghcr.io/acme/weather@sha256:12",
            "oci://ghcr.io/acme/weather:a b",
        ] {
            assert!(text.parse::<Reference>().is_err(), "{text}");
        }
    }
}
