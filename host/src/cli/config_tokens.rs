//! The tokens that a configuration names, looked up.

use std::path::PathBuf;

use crate::config::{Config, ConfigError, NamedToken, TokenSource};
use toolhost_http::access::{Principal, Token};
use toolhost_service::listening::{Known, NamedTokens, NoTokens};
use toolhost_state::trusted::read_private;

use super::Common;

/// The tokens of a configuration file that the server follows.
#[derive(Debug)]
struct ConfigTokens {
    /// The last configuration that was valid.
    config: Config,
}

/// Returns the tokens of the configuration, if there is one.
pub(super) fn of(common: &Common) -> Box<dyn NamedTokens> {
    match common.configuration.clone() {
        Some(config) => Box::new(ConfigTokens { config }),
        None => Box::new(NoTokens),
    }
}

impl NamedTokens for ConfigTokens {
    fn refresh(&mut self) -> anyhow::Result<()> {
        // Also take a configuration whose tokens cannot be looked up: the missing files may appear.
        self.config = self.config.reread()?;
        Ok(())
    }

    fn read(&self) -> anyhow::Result<Known> {
        Ok(configured(&self.config)?)
    }

    fn files(&self) -> Vec<PathBuf> {
        self.config.token_files()
    }
}

/// Returns the tokens that a configuration names, each with its principal. Files of tokens are read anew each time.
///
/// # Errors
///
/// If the file of a token cannot be used, or two of them are the same. The error lists all such problems with their keys, and
/// repeats no value of the configuration.
pub(crate) fn configured(config: &Config) -> Result<Vec<(Token, Principal)>, ConfigError> {
    let mut found: Vec<(Token, Principal)> = Vec::new();
    let mut problems = Vec::new();
    for named in config.tokens() {
        let key = format!("tokens.{}", named.name);
        let token = match token(named) {
            Ok(token) => token,
            Err(problem) => {
                problems.push(config.problem(format!("{key}.file"), problem));
                continue;
            }
        };
        let mut others = found.iter();
        if let Some((_, other)) = others.find(|(other, _)| other.sha256() == token.sha256()) {
            let problem = format!(
                "it is the same token as tokens.{}, so that it would not be known who asks; make another with `toolhost token`",
                other.name()
            );
            problems.push(config.problem(key, problem));
            continue;
        }
        found.push((token, principal(named)));
    }
    if problems.is_empty() {
        Ok(found)
    } else {
        Err(config.invalid(problems))
    }
}

fn token(named: &NamedToken) -> Result<Token, String> {
    match &named.source {
        TokenSource::Sha256(hash) => Ok(Token::from_sha256(*hash)),
        TokenSource::File(path) => {
            let text = read_private(path).map_err(|error| error.to_string())?;
            Token::new(&text).map_err(|error| format!("{} holds no token: {error}", path.display()))
        }
    }
}

fn principal(named: &NamedToken) -> Principal {
    let (scopes, chats) = (named.scopes.iter().copied(), named.chats.clone());
    let principal = Principal::new(&named.name, scopes, chats, named.tools.clone());
    let principal = match &named.templates {
        Some(templates) => principal.with_templates(templates.clone()),
        None => principal,
    };
    match &named.workspaces {
        Some(patterns) => principal.with_workspaces(patterns.iter().cloned()),
        None => principal,
    }
}

#[cfg(test)]
mod tests {
    use toolhost_http::access::Scope;

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
        insta::assert_snapshot!(error("[tokens.a]\nfile = 'bad'\nscopes = ['call']"), @"the configuration DIR/toolhost.toml is not valid: line 2, column 1: tokens.a.file: DIR/bad holds no token: a token is 1 to 4096 visible ASCII characters without spaces");
        insta::assert_snapshot!(error("[tokens.a]\nfile = 'none'\nscopes = ['call']"), @"the configuration DIR/toolhost.toml is not valid: line 2, column 1: tokens.a.file: DIR/none cannot be read: No such file or directory (os error 2)");
        insta::assert_snapshot!(error("[tokens.a]\nfile = 'good'\nscopes = ['call']\n[tokens.b]\nfile = 'good'\nscopes = ['read']"), @"the configuration DIR/toolhost.toml is not valid: line 4, column 9: tokens.b: it is the same token as tokens.a, so that it would not be known who asks; make another with `toolhost token`");
    }

    #[test]
    fn a_configuration_that_is_not_valid_leaves_the_last_one() {
        use std::os::unix::fs::PermissionsExt;

        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            path
        };
        let good = "[tokens.a]\nfile = 'a'\nscopes = ['read']\n";
        let path = write("toolhost.toml", good);
        write("a", "one");
        let config = Config::read(&path).unwrap();
        let mut tokens = ConfigTokens { config };
        assert_eq!(tokens.files().len(), 2);
        for bad in ["[tokens.a]\nfile = 'a'\nscopes = ['raed']\n", "[tokens"] {
            write("toolhost.toml", bad);
            assert!(tokens.refresh().is_err(), "{bad}");
            assert_eq!(tokens.read().unwrap().len(), 1);
        }
        write("toolhost.toml", good);
        tokens.refresh().unwrap();
        for bad in ["not a token", ""] {
            write("a", bad);
            assert!(tokens.read().is_err(), "{bad}");
        }
    }
}
