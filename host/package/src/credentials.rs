//! Names and passwords for registries, as `docker login` and `podman login` store them.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_client::secrets::RegistryAuth;
use serde::Deserialize;

/// The credentials for a registry.
#[derive(Clone, Default)]
pub struct Credentials(Option<(String, String)>);

/// A file of credentials that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file cannot be read, or is not valid.
    #[error("{path}: {problem}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// The file leaves the credentials to another program.
    #[error(
        "{path} leaves the password for {registry} to the program docker-credential-{helper}, which Toolhost does not start: \
         give --username and --password-file",
        path = path.display()
    )]
    Helper {
        /// The file.
        path: PathBuf,
        /// The registry.
        registry: String,
        /// The end of the name of the program.
        helper: String,
    },
}

#[derive(Default, Deserialize)]
struct File {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
    #[serde(default, rename = "credHelpers")]
    helpers: BTreeMap<String, String>,
    #[serde(rename = "credsStore")]
    store: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
}

impl Credentials {
    /// Takes a name and a password.
    pub fn new(name: impl Into<String>, password: impl Into<String>) -> Self {
        Self(Some((name.into(), password.into())))
    }

    /// Reads the credentials for a registry from a file in the form of `~/.docker/config.json`. A missing file has none.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is not valid, or leaves this registry to another program.
    pub fn of_docker(path: &Path, registry: &str) -> Result<Self, CredentialsError> {
        let wrong = |problem: String| CredentialsError::File {
            path: path.to_owned(),
            problem,
        };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(wrong(error.to_string())),
        };
        // An error of the parser could show a password.
        let file: File = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("it is not valid in line {}", error.line())))?;
        let names = [registry.to_owned(), format!("https://{registry}")];
        let entry = names.iter().find_map(|name| file.auths.get(name));
        let is_given = |text: &&str| !text.is_empty();
        let field = |field: fn(&Entry) -> Option<&str>| entry.and_then(field).filter(is_given);
        if let Some(auth) = field(|entry| entry.auth.as_deref()) {
            let invalid = || wrong(format!("its credentials for {registry} are not valid"));
            let decoded = STANDARD.decode(auth).map_err(|_| invalid())?;
            let decoded = String::from_utf8(decoded).map_err(|_| invalid())?;
            let (name, password) = decoded.split_once(':').ok_or_else(invalid)?;
            return Ok(Self::new(name, password));
        }
        // Docker reads these as well, as people write them by hand.
        if let Some(name) = field(|entry| entry.username.as_deref()) {
            let password = field(|entry| entry.password.as_deref()).ok_or_else(|| {
                wrong(format!(
                    "its entry of {registry} has a username and no password"
                ))
            })?;
            return Ok(Self::new(name, password));
        }
        let helper = file.helpers.get(registry);
        let stored = file.store.as_ref().filter(|_| entry.is_some());
        match helper.or(stored) {
            Some(helper) => Err(CredentialsError::Helper {
                path: path.to_owned(),
                registry: registry.to_owned(),
                helper: helper.clone(),
            }),
            None => Ok(Self::default()),
        }
    }

    pub(crate) fn auth(&self) -> RegistryAuth {
        match &self.0 {
            Some((name, password)) => RegistryAuth::Basic(name.clone(), password.clone()),
            None => RegistryAuth::Anonymous,
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.as_ref().map(|(name, _)| name);
        formatter.debug_tuple("Credentials").field(&name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<(String, String)>, String> {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("config.json");
        std::fs::write(&path, text).unwrap();
        let read = Credentials::of_docker(&path, "ghcr.io");
        read.map(|credentials| credentials.0)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_and_a_password_that_a_person_wrote_are_used() {
        let text = r#"{"auths": {"ghcr.io": {"auth": "", "username": "ada", "password": "p:w"}}}"#;
        assert_eq!(read(text), Ok(Some(("ada".to_owned(), "p:w".to_owned()))));
        let half = r#"{"auths": {"ghcr.io": {"username": "ada"}}}"#;
        assert!(
            read(half)
                .unwrap_err()
                .ends_with("a username and no password")
        );
    }

    #[test]
    fn a_login_of_docker_is_used() {
        let ada = Some(("ada".to_owned(), "p:w".to_owned()));
        let auth = STANDARD.encode("ada:p:w");
        for name in ["ghcr.io", "https://ghcr.io"] {
            let text =
                format!(r#"{{"auths": {{"{name}": {{"auth": "{auth}"}}}}, "credsStore": "x"}}"#);
            assert_eq!(read(&text), Ok(ada.clone()));
        }
        for text in [
            "{}",
            r#"{"auths": {"other.io": {"auth": "x"}}, "credsStore": "x"}"#,
        ] {
            assert_eq!(read(text), Ok(None));
        }
        let missing = Credentials::of_docker(Path::new("/nowhere"), "ghcr.io").unwrap();
        assert!(missing.0.is_none());
    }

    #[test]
    fn what_cannot_be_used_is_named_without_the_password() {
        let helper = read(r#"{"auths": {"ghcr.io": {}}, "credsStore": "pass"}"#).unwrap_err();
        assert!(helper.contains("docker-credential-pass"), "{helper}");
        for text in [
            r#"{"auths": {"ghcr.io": {"auth": "secret!"}}}"#,
            r#"{"auths": {"ghcr.io": {"auth": "c2VjcmV0"}}}"#,
            r#"{"auths": "secret"}"#,
        ] {
            let error = read(text).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
