//! Where the bearer token comes from.

use std::io::{self, IsTerminal};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::stderr;
use crate::server::Token;
use crate::state_dir::StateDir;

/// The variable that may hold the token.
const VARIABLE: &str = "TOOLHOST_TOKEN";

/// Reads the token from a file, or else from the variable; `None` if there is neither.
pub(super) fn configured(file: Option<&Path>) -> anyhow::Result<Option<String>> {
    if let Some(path) = file {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the token in {}", path.display()))?;
        let mode = std::fs::metadata(path)
            .map(|metadata| metadata.mode())
            .unwrap_or_default();
        if mode & 0o077 != 0 {
            tracing::warn!(path = %path.display(), "others may read the token file; run chmod 600 on it");
        }
        return Ok(Some(text.trim().to_owned()));
    }
    match std::env::var(VARIABLE) {
        Ok(token) => Ok(Some(token)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => bail!("{VARIABLE} is not a token"),
    }
}

/// Returns the token of a server: the configured one, or a new one that is shown once.
///
/// A new one is printed if a person is there to read it, and otherwise written to a file for the owner alone, whose path is
/// printed: a token must not end up in a log.
pub(super) fn of_server(
    file: Option<&Path>,
    state_dir: Option<PathBuf>,
    port: u16,
) -> anyhow::Result<(Token, Option<TokenFile>)> {
    if let Some(text) = configured(file)? {
        let token = Token::new(&text).context("the configured token cannot be used")?;
        return Ok((token, None));
    }
    let text = generate()?;
    let token = Token::new(&text).context("the new token cannot be used")?;
    if io::stderr().is_terminal() {
        stderr::line(format_args!("token: {text}"));
        Ok((token, None))
    } else {
        let path = state_dir.with_context(|| {
            format!(
                "there is no place to keep a new token: set {VARIABLE}, --token-file or --state-dir"
            )
        })?;
        let state = StateDir::open(&path)?;
        let name = format!("token-{port}");
        state
            .write(&name, text.as_bytes())
            .context("cannot keep a new token")?;
        let path = state.path().join(&name);
        stderr::line(format_args!("token file: {}", path.display()));
        Ok((token, Some(TokenFile { state, name, text })))
    }
}

/// The file with a new token, which is removed when this is dropped.
pub(super) struct TokenFile {
    state: StateDir,
    name: String,
    text: String,
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        // The port is free by now, and another server may have left its own token here.
        let found = self.state.read(&self.name, self.text.len() as u64);
        if !matches!(found, Ok(Some(found)) if found == self.text.as_bytes()) {
            return;
        }
        if let Err(error) = self.state.remove(&self.name) {
            tracing::warn!(name = self.name, %error, "the token file stays behind");
        }
    }
}

fn generate() -> anyhow::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("the system gives no random bytes: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
