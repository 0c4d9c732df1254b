//! The tokens that a configuration names, looked up.

use std::path::PathBuf;

use super::{Principal, PrivateFileError, Scope, Token, read_private};
use crate::config::{Config, ConfigError, NamedToken, TokenSource};

/// Why the tokens of a configuration cannot be used. The texts name the token and the key, and repeat no value of the
/// configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfiguredError {
    /// The configuration itself is at fault.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file of a token cannot be used.
    #[error("tokens.{name}: file: {error}")]
    File {
        /// The token.
        name: String,
        /// Why not.
        error: PrivateFileError,
    },
    /// What is in the file is no token.
    #[error("tokens.{name}: file: {path} holds no token, which is 1 to 4096 visible ASCII characters without spaces", path = path.display())]
    NoToken {
        /// The token.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// There is no such scope.
    #[error("tokens.{0}: scopes: each is one of call, read, agent and admin")]
    Scope(String),
    /// The agent API has no bounds.
    #[error(
        "tokens.{0}: with `agent`, all chats and all tools can be reached: leave out that scope, or `chats` and `tools`"
    )]
    Unbounded(String),
    /// Two of them are the same.
    #[error("tokens.{0} and tokens.{1} are the same token, so that it would not be known who asks")]
    Same(String, String),
}

/// Returns the tokens that a configuration names, and what they are good for. Files are read anew each time.
///
/// # Errors
///
/// See [`ConfiguredError`].
pub fn configured(config: &Config) -> Result<Vec<(Token, Principal)>, ConfiguredError> {
    let mut found: Vec<(Token, Principal)> = Vec::new();
    for named in config.tokens()? {
        let token = token(&named)?;
        let mut others = found.iter();
        if let Some((_, other)) = others.find(|(other, _)| other.sha256() == token.sha256()) {
            return Err(ConfiguredError::Same(other.name().to_owned(), named.name));
        }
        found.push((token, principal(named)?));
    }
    Ok(found)
}

fn token(named: &NamedToken) -> Result<Token, ConfiguredError> {
    match &named.source {
        TokenSource::Sha256(hash) => Ok(Token::from_sha256(*hash)),
        TokenSource::File(path) => {
            let text = read_private(path).map_err(|error| ConfiguredError::File {
                name: named.name.clone(),
                error,
            })?;
            Token::new(&text).map_err(|_| ConfiguredError::NoToken {
                name: named.name.clone(),
                path: path.clone(),
            })
        }
    }
}

fn principal(named: NamedToken) -> Result<Principal, ConfiguredError> {
    let scopes = named.scopes.iter().map(|scope| scope.parse());
    let scopes = scopes.collect::<Result<Vec<Scope>, _>>();
    let scopes = scopes.map_err(|_| ConfiguredError::Scope(named.name.clone()))?;
    let bounded = named.chats.is_some() || named.tools.is_some();
    if bounded && scopes.contains(&Scope::Agent) {
        return Err(ConfiguredError::Unbounded(named.name));
    }
    Ok(Principal::new(named.name, scopes, named.chats, named.tools))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<Vec<(Token, Principal)>, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("toolhost.toml");
        std::fs::write(&path, text).unwrap();
        for (name, text) in [("good", "t0ken\n"), ("bad", "not a token")] {
            use std::os::unix::fs::PermissionsExt;
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        }
        let base = directory.path().to_string_lossy().into_owned();
        configured(&Config::read(&path).unwrap())
            .map_err(|error| error.to_string().replace(&base, "DIR"))
    }

    #[test]
    fn tokens_are_looked_up() {
        let found = found("[tokens.a]\nfile = 'good'\nscopes = ['call']\nchats = 'x-'\n").unwrap();
        let [(token, principal)] = &found[..] else {
            panic!()
        };
        assert_eq!(token.sha256(), Token::new("t0ken").unwrap().sha256());
        assert_eq!(
            (principal.name(), principal.chat_prefix()),
            ("a", Some("x-"))
        );
        assert!(principal.has(Scope::Call) && principal.has(Scope::Read));
        assert!(!principal.has(Scope::Agent) && !principal.has(Scope::Admin));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let error = |text: &str| found(text).unwrap_err();
        insta::assert_snapshot!(error("[tokens.a]\nfile = 'bad'\nscopes = ['call']"), @"tokens.a: file: DIR/bad holds no token, which is 1 to 4096 visible ASCII characters without spaces");
        insta::assert_snapshot!(error("[tokens.a]\nfile = 'none'\nscopes = ['call']"), @"tokens.a: file: DIR/none cannot be read: No such file or directory (os error 2)");
        insta::assert_snapshot!(error("[tokens.a]\nfile = 'good'\nscopes = ['cal']"), @"tokens.a: scopes: each is one of call, read, agent and admin");
        insta::assert_snapshot!(error("[tokens.a]\nfile = 'good'\nscopes = ['agent']\nchats = 'x-'"), @"tokens.a: with `agent`, all chats and all tools can be reached: leave out that scope, or `chats` and `tools`");
        insta::assert_snapshot!(error("[tokens.a]\nfile = 'good'\nscopes = ['call']\n[tokens.b]\nfile = 'good'\nscopes = ['read']"), @"tokens.a and tokens.b are the same token, so that it would not be known who asks");
    }
}
