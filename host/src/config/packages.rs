//! Components that are packages of a registry: `component = "oci://…"`.
//!
//! Nothing is downloaded here. `toolhost plugin pull` pulls a package, and notes in the lock file what it was.

use std::path::PathBuf;

use super::Config;
use super::section::Section;
use toolhost_package::{Copies, Lock, PublicKey, Reference};
use toolhost_plugin::Digest;
use toolhost_state::state_dir::StateDir;

/// A package that is the component of a plugin.
#[derive(Clone, Debug)]
pub struct Package {
    /// Where it is.
    pub reference: Reference,
    /// The key that must have signed it.
    pub signed_by: Option<PublicKey>,
}

impl Package {
    /// Reads the keys `component` and `signed_by`. Returns the package, or the path of a file.
    pub(super) fn read(section: &mut Section<'_, '_>) -> (Option<Self>, Option<PathBuf>) {
        let component = section.text("component");
        let signed_by = section.text("signed_by").and_then(|text| {
            let key = text.parse::<PublicKey>();
            key.inspect_err(|error| section.wrong("signed_by", error.to_string()))
                .ok()
        });
        let reference = match component {
            Some(text) if Reference::is_meant(&text) => text.parse::<Reference>(),
            file => {
                if signed_by.is_some() {
                    let problem = "it is for packages of a registry: pin a file with `sha256`";
                    section.wrong("signed_by", problem);
                }
                let file = file.filter(|file| !file.is_empty());
                return (None, file.map(PathBuf::from));
            }
        };
        let reference = reference
            .inspect_err(|error| section.wrong("component", error.to_string()))
            .ok();
        let package = reference.map(|reference| Self {
            reference,
            signed_by,
        });
        (package, None)
    }

    /// Returns the copy of the package that was pulled, and its digest.
    pub(super) fn pulled(&self, config: &Config) -> Result<(PathBuf, Digest), String> {
        const PULL: &str = "run `toolhost plugin pull` with the same --config";
        let Self {
            reference,
            signed_by,
        } = self;
        let lock = config.lock_file().map(|path| Lock::read(&path));
        let lock = lock.transpose().map_err(|error| error.to_string())?;
        let lock = lock.unwrap_or_default();
        let locked = lock
            .get(reference)
            .ok_or_else(|| format!("{reference} was not pulled: {PULL}"))?;
        if locked.signed_by != signed_by.as_ref().map(PublicKey::to_string) {
            return Err(format!("{reference} was pulled for another key: {PULL}"));
        }
        let digest = locked.component.parse::<Digest>();
        let digest = digest.map_err(|error| error.to_string())?;
        let directory = StateDir::default_cache_path();
        let path = directory.map(|directory| Copies::path(&directory, &locked.component));
        match path.filter(|path| path.is_file()) {
            Some(path) => Ok((path, digest)),
            None => Err(format!(
                "there is no copy of {reference} on this machine: {PULL}"
            )),
        }
    }
}
