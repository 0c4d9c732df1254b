//! Tokens and the certificate of a server, which are read again when their files change.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::super::{Common, token};
use crate::config::{Config, Follower};
use crate::server::{self, Principal, Tls, Token, Tokens};

/// Where the tokens and the certificate come from.
pub(super) struct Credentials {
    /// The last configuration that was valid; `None`: there is no file.
    config: Option<Config>,
    token_file: Option<PathBuf>,
    tls: Option<Tls>,
    /// A token that was made for this run.
    made: Option<Token>,
}

type Known = Vec<(Token, Principal)>;

impl Credentials {
    pub(super) fn new(common: &Common, token_file: Option<&Path>, tls: Option<Tls>) -> Self {
        Self {
            config: common.configuration.clone(),
            token_file: token_file.map(Path::to_owned),
            tls,
            made: None,
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
            known.extend(server::configured(config)?);
        }
        Ok(known)
    }

    /// Exchanges these tokens, and the certificate, whenever their files have changed and can be used.
    pub(super) fn follow(self, tokens: Tokens) -> Option<Follower> {
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

    fn refresh(&mut self, tokens: &Tokens) {
        if let Err(error) = self.refresh_tokens(tokens) {
            let error = format!("{error:#}");
            tracing::error!(error, "the tokens stay as they were");
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
        tokens.replace(self.read()?);
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
