//! `toolhost.lock`: which packages the references of a configuration were when they were pulled.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Reference;

/// The comment at the beginning of the file.
const HEAD: &str = "# Written by `toolhost plugin pull`. Keep it with the configuration: it pins the packages that the configuration names.\n";

/// The packages, by their references.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Lock(BTreeMap<String, Locked>);

/// A package.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// The digest of its manifest in the registry.
    pub manifest: String,
    /// The digest of its component.
    pub component: String,
    /// The key whose signature was checked, if the configuration asked for one.
    pub signed_by: Option<String>,
}

/// A lock file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The file cannot be read or written.
    #[error("{path} cannot be used", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not valid.
    #[error("{path} is not valid: {problem}; remove it, and run `toolhost plugin pull`", path = path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The problem, with its line.
        problem: String,
    },
}

impl Lock {
    /// Returns the path of the lock file of a configuration.
    pub fn path(configuration: &Path) -> PathBuf {
        configuration.with_extension("lock")
    }

    /// Reads a lock file. One that is missing is empty.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not valid.
    pub fn read(path: &Path) -> Result<Self, LockError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => {
                let path = path.to_owned();
                return Err(LockError::File { path, source });
            }
        };
        let invalid = |problem: String| LockError::Invalid {
            path: path.to_owned(),
            problem,
        };
        let lock: Self = toml::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        let mut digests = lock
            .0
            .values()
            .flat_map(|one| [&one.manifest, &one.component]);
        if let Some(digest) = digests.find(|digest| !is_digest(digest)) {
            return Err(invalid(format!("{digest:?} is no digest")));
        }
        drop(digests);
        Ok(lock)
    }

    /// Writes the file, in the place of an earlier one.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn write(&self, path: &Path) -> Result<(), LockError> {
        let failed = |source| LockError::File {
            path: path.to_owned(),
            source,
        };
        let mut text = HEAD.to_owned();
        for (reference, package) in &self.0 {
            let keys = [
                ("manifest", Some(&package.manifest)),
                ("component", Some(&package.component)),
                ("signed_by", package.signed_by.as_ref()),
            ];
            // Neither a reference nor a digest nor a key has a quotation mark or a backslash.
            text += &format!("\n[\"{reference}\"]\n");
            for (key, value) in keys {
                if let Some(value) = value {
                    text += &format!("{key} = \"{value}\"\n");
                }
            }
        }
        let new = path.with_extension("lock.new");
        std::fs::write(&new, text).map_err(failed)?;
        std::fs::rename(&new, path).map_err(failed)
    }

    /// Returns the package of a reference, if it was pulled.
    pub fn get(&self, reference: &Reference) -> Option<&Locked> {
        self.0.get(&reference.to_string())
    }

    /// Notes the package of a reference.
    pub fn set(&mut self, reference: &Reference, package: Locked) {
        self.0.insert(reference.to_string(), package);
    }

    /// Forgets all but these references.
    pub fn retain(&mut self, references: &[Reference]) {
        let kept: Vec<_> = references.iter().map(Reference::to_string).collect();
        self.0.retain(|reference, _| kept.contains(reference));
    }
}

fn is_digest(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:");
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    digits.is_some_and(|digits| digits.len() == 64 && digits.bytes().all(is_hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package() -> Locked {
        let digest = |c: &str| format!("sha256:{}", c.repeat(64));
        Locked {
            manifest: digest("0"),
            component: digest("a"),
            signed_by: Some("RWQ+/x=".into()),
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let base = tempfile::tempdir().unwrap();
        let path = Lock::path(&base.path().join("toolhost.toml"));
        assert_eq!(path.file_name().unwrap(), "toolhost.lock");
        assert_eq!(Lock::read(&path).unwrap(), Lock::default());
        let [one, other] = ["oci://ghcr.io/a/one:1", "oci://ghcr.io/a/other:1"]
            .map(|text| text.parse::<Reference>().unwrap());
        let mut lock = Lock::default();
        lock.set(&one, package());
        lock.set(&other, package());
        lock.retain(std::slice::from_ref(&one));
        lock.write(&path).unwrap();
        let read = Lock::read(&path).unwrap();
        assert_eq!(read, lock);
        assert_eq!(read.get(&one), Some(&package()));
        assert_eq!(read.get(&other), None);
    }

    #[test]
    fn a_lock_that_is_none_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("toolhost.lock");
        for text in [
            "x",
            "['oci://a.b/c:1']\nmanifest = 'sha256:0'\ncomponent = '../../etc/passwd'\n",
            "['oci://a.b/c:1']\nmanifest = 'x'\n",
        ] {
            std::fs::write(&path, text).unwrap();
            let error = Lock::read(&path).unwrap_err().to_string();
            assert!(error.contains("plugin pull"), "{error}");
        }
    }
}
