//! Tokens and the certificate of a server, which are read again when their files change.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use super::super::{Common, token};
use crate::config::{Config, Follower};
use toolhost_call::audit::Audit;
use toolhost_http::Tls;
use toolhost_http::access::{Principal, Token, Tokens, token_changes};

/// Where the tokens and the certificate come from.
pub(super) struct Credentials {
    /// The last configuration that was valid; `None`: there is no file.
    config: Option<Config>,
    token_file: Option<PathBuf>,
    tls: Option<Tls>,
    /// A token that was made for this run.
    made: Option<Token>,
    /// The tokens that are in use.
    known: Known,
    audit: Audit,
}

type Known = Vec<(Token, Principal)>;

impl Credentials {
    pub(super) fn new(
        common: &Common,
        token_file: Option<&Path>,
        tls: Option<Tls>,
        audit: Audit,
    ) -> Self {
        Self {
            config: common.configuration.clone(),
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
        if let Some(config) = &self.config {
            known.extend(super::configured(config)?);
        }
        Ok(known)
    }

    /// Exchanges these tokens, of which the `known` ones are in use, and the certificate, whenever their files have changed and can be used.
    pub(super) fn follow(mut self, known: Known, tokens: Tokens) -> Option<Follower> {
        // The configuration says the same, so the log need not.
        _ = self.take(known);
        let files = self.files();
        if files.is_empty() {
            return None;
        }
        let mut credentials = self;
        let follower = Follower::start(files, move || {
            credentials.refresh(&tokens);
            credentials.files()
        });
        follower
            .inspect_err(|error| {
                tracing::warn!(%error, "changed tokens and certificates are read at the next start");
            })
            .ok()
    }

    /// Notes the tokens that are in use now. Records and returns how they differ from those before, if they do.
    fn take(&mut self, known: Known) -> Option<Value> {
        let changes = token_changes(&self.known, &known);
        if let Some(changes) = &changes {
            self.audit.tokens_changed(changes);
        }
        self.known = known;
        changes
    }

    fn refresh(&mut self, tokens: &Tokens) {
        if let Err(error) = self.refresh_tokens(tokens) {
            let error = format!("{error:#}");
            tracing::error!(error, "the tokens stay as they were");
            self.audit.configuration_refused(&error);
        }
        if let Some(Err(error)) = self.tls.as_ref().map(Tls::reload) {
            tracing::error!(%error, "the certificate stays as it was");
        }
    }

    fn refresh_tokens(&mut self, tokens: &Tokens) -> anyhow::Result<()> {
        if let Some(config) = &self.config {
            // Also one whose tokens cannot be looked up: what it lacks may come.
            self.config = Some(config.again()?);
        }
        let known = self.read()?;
        tokens.replace(known.clone());
        if let Some(changes) = self.take(known) {
            tracing::info!(%changes, "the tokens have changed");
        }
        Ok(())
    }

    fn files(&self) -> Vec<PathBuf> {
        let config = self.config.iter().flat_map(Config::token_files);
        let tls = self.tls.iter().flat_map(Tls::files).map(Path::to_owned);
        let files = config.chain(self.token_file.clone()).chain(tls);
        // Whoever watches needs the directories of files that come, which are not those of relative paths.
        files
            .map(|path| std::path::absolute(&path).unwrap_or(path))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_cannot_be_used_leaves_the_tokens_as_they_were() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            path
        };
        let good = "[tokens.a]\nfile = 'a'\nscopes = ['read']\n";
        let config = write("toolhost.toml", good);
        let main = write("main", "main");
        write("a", "one");
        let mut credentials = Credentials {
            config: Some(Config::read(&config).unwrap()),
            token_file: Some(main),
            tls: None,
            made: None,
            known: Known::new(),
            audit: Audit::default(),
        };
        assert_eq!(credentials.files().len(), 3);
        let names = |known: &Known| {
            let names = known
                .iter()
                .map(|(_, principal)| principal.name().to_owned());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(&credentials.read().unwrap()), ["token", "a"]);
        let tokens = Tokens::default();
        let mut refresh = || {
            credentials
                .refresh_tokens(&tokens)
                .map_err(|error| error.to_string())
        };
        refresh().unwrap();
        for (name, text) in [
            (
                "toolhost.toml",
                "[tokens.a]\nfile = 'a'\nscopes = ['raed']\n",
            ),
            (
                "toolhost.toml",
                "[tokens.a]\nfile = 'b'\nscopes = ['read']\n",
            ),
            ("toolhost.toml", "[tokens"),
            ("a", "not a token"),
            ("a", ""),
            // The same as another.
            ("main", "m a i n"),
        ] {
            write(name, text);
            assert!(refresh().is_err(), "{name}: {text}");
            write("toolhost.toml", good);
            write("main", "main");
            write("a", "two");
            refresh().unwrap();
        }
    }
}
