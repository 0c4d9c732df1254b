//! Tokens and the certificate of a server, which are read again when their files change.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::follow::{Followed, Follower};
use crate::token;
use toolhost_call::audit::Audit;
use toolhost_http::Tls;
use toolhost_http::access::{Principal, Token, Tokens, token_changes};

/// The sources of the tokens and of the certificate.
pub(super) struct Credentials {
    named: Box<dyn NamedTokens>,
    token_file: Option<PathBuf>,
    tls: Option<Tls>,
    /// A token that was made for this run.
    made: Option<Token>,
    /// The tokens that are in use.
    known: Known,
    audit: Audit,
}

/// Tokens with their principals.
pub type Known = Vec<(Token, Principal)>;

/// Tokens that a configuration names.
pub trait NamedTokens: Send {
    /// Reads the configuration again. If it is not valid, the last valid one stays in force.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used.
    fn refresh(&mut self) -> anyhow::Result<()>;

    /// Looks the tokens up. Some of them are in files of their own.
    ///
    /// # Errors
    ///
    /// If a token cannot be used.
    fn read(&self) -> anyhow::Result<Known>;

    /// Returns the files that the tokens depend on.
    fn files(&self) -> Vec<PathBuf>;
}

/// No tokens: there is no configuration.
#[derive(Clone, Copy, Debug)]
pub struct NoTokens;

impl NamedTokens for NoTokens {
    fn refresh(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn read(&self) -> anyhow::Result<Known> {
        Ok(Known::new())
    }

    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

impl Credentials {
    pub(super) fn new(
        named: Box<dyn NamedTokens>,
        token_file: Option<&Path>,
        tls: Option<Tls>,
        audit: Audit,
    ) -> Self {
        Self {
            named,
            token_file: token_file.map(Path::to_owned),
            tls,
            made: None,
            known: Known::new(),
            audit,
        }
    }

    /// Adds a token for everything, and returns all.
    pub(super) fn add(&mut self, token: Token) -> anyhow::Result<Known> {
        self.made = Some(token);
        self.read()
    }

    /// Returns all tokens: that of a file or a variable, and those of the configuration.
    pub(super) fn read(&self) -> anyhow::Result<Known> {
        let text = token::configured(self.token_file.as_deref())?;
        let token = text.map(|text| Token::new(&text)).transpose();
        let token = token.context("the configured token cannot be used")?;
        let all = token.into_iter().chain(self.made.clone());
        let mut known: Known = all
            .map(|token| (token, Principal::unbounded("token")))
            .collect();
        known.extend(self.named.read()?);
        Ok(known)
    }

    /// Replaces the tokens and the certificate whenever their files have changed and can be used. `known` are the tokens in
    /// use.
    pub(super) fn follow(mut self, known: Known, tokens: Tokens) -> Option<Follower> {
        // These are the tokens of the start, so they are not logged as changes.
        _ = self.take(known);
        if self.files().is_empty() {
            return None;
        }
        let credentials = self;
        Follower::start(Following {
            credentials,
            tokens,
        })
        .inspect_err(|error| {
            tracing::warn!(%error, "changed tokens and certificates are read at the next start");
        })
        .ok()
    }

    /// Notes the tokens that are in use now. If they differ from those before, records and returns the changes.
    fn take(&mut self, known: Known) -> Option<Value> {
        let changes = token_changes(&self.known, &known);
        if let Some(changes) = &changes {
            self.audit.record("tokens_changed", changes);
        }
        self.known = known;
        changes
    }

    fn refresh(&mut self, tokens: &Tokens) {
        if let Err(error) = self.refresh_tokens(tokens) {
            let error = format!("{error:#}");
            tracing::error!(error, "the tokens stay as they were");
            let error = json!({ "error": error });
            self.audit.record("configuration_refused", error);
        }
        if let Some(Err(error)) = self.tls.as_ref().map(Tls::reload) {
            tracing::error!(%error, "the certificate stays as it was");
        }
    }

    fn refresh_tokens(&mut self, tokens: &Tokens) -> anyhow::Result<()> {
        self.named.refresh()?;
        let known = self.read()?;
        tokens.replace(known.clone());
        if let Some(changes) = self.take(known) {
            tracing::info!(%changes, "the tokens have changed");
        }
        Ok(())
    }

    fn files(&self) -> Vec<PathBuf> {
        let tls = self.tls.iter().flat_map(Tls::files).map(Path::to_owned);
        let files = self
            .named
            .files()
            .into_iter()
            .chain(self.token_file.clone())
            .chain(tls);
        // Make the paths absolute: the follower watches the directories of files that may appear, and a relative path may name
        // none.
        files
            .map(|path| std::path::absolute(&path).unwrap_or(path))
            .collect()
    }
}

/// Credentials that are followed, and the tokens that a server takes.
struct Following {
    credentials: Credentials,
    tokens: Tokens,
}

impl Followed for Following {
    type Read = ();

    fn files(&self) -> Vec<PathBuf> {
        self.credentials.files()
    }

    fn read(&mut self) {
        self.credentials.refresh(&self.tokens);
    }

    async fn take(&mut self, (): ()) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Tokens in one file, a line each.
    struct Lines(PathBuf);

    impl NamedTokens for Lines {
        fn refresh(&mut self) -> anyhow::Result<()> {
            self.read().map(drop)
        }

        fn read(&self) -> anyhow::Result<Known> {
            let text = std::fs::read_to_string(&self.0)?;
            let named = |line| Ok((Token::new(line)?, Principal::unbounded("a")));
            text.lines().map(named).collect()
        }

        fn files(&self) -> Vec<PathBuf> {
            vec![self.0.clone()]
        }
    }

    #[test]
    fn what_cannot_be_used_leaves_the_tokens_as_they_were() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            path
        };
        let lines = Box::new(Lines(write("lines", "one")));
        let main = write("main", "main");
        let mut credentials = Credentials::new(lines, Some(&main), None, Audit::default());
        assert_eq!(credentials.files().len(), 2);
        let known = credentials.read().unwrap();
        let names: Vec<_> = known
            .iter()
            .map(|(_, principal)| principal.name())
            .collect();
        assert_eq!(names, ["token", "a"]);
        let tokens = Tokens::new(known.clone());
        for (name, text) in [("lines", "not a token"), ("main", "m a i n")] {
            write(name, text);
            credentials.refresh_tokens(&tokens).unwrap_err();
            assert!(
                tokens.authenticate(b"main").is_some() && tokens.authenticate(b"one").is_some()
            );
            write("lines", "one");
            write("main", "main");
        }
        write("lines", "two");
        credentials.refresh_tokens(&tokens).unwrap();
        assert!(tokens.authenticate(b"two").is_some() && tokens.authenticate(b"one").is_none());
    }
}
