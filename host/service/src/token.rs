//! The bearer token of a server: read from a file or a variable, or newly made.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use nix::fcntl::{Flock, FlockArg};
use toolhost_http::access::Token;
use toolhost_state::state_dir::StateDir;
use toolhost_state::trusted::read_private;

use crate::logging;

/// The variable that may hold the token.
const VARIABLE: &str = "TOOLHOST_TOKEN";

/// A token of fewer characters can be guessed.
const SHORT: usize = 16;

/// Reads the token from a file, which other users must not be able to read, or else from the variable; `None` if there is
/// neither.
pub fn configured(file: Option<&Path>) -> anyhow::Result<Option<String>> {
    let (text, place) = match file {
        Some(path) => {
            let text = read_private(path).context("the token file cannot be used")?;
            (text, format!("the token file {}", path.display()))
        }
        None => match variable()? {
            Some(text) => (text, format!("the variable {VARIABLE}")),
            None => return Ok(None),
        },
    };
    let text = text.trim();
    if text.is_empty() {
        bail!("{place} is empty: it should have the token of the server");
    }
    Token::new(text).with_context(|| format!("{place} has no token"))?;
    if text.len() < SHORT {
        tracing::warn!(
            characters = text.len(),
            "the token in {place} is short enough to be guessed: make one with toolhost token NAME"
        );
    }
    Ok(Some(text.to_owned()))
}

fn variable() -> anyhow::Result<Option<String>> {
    match std::env::var(VARIABLE) {
        Ok(token) => Ok(Some(token)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => bail!("{VARIABLE} is not a token"),
    }
}

/// A new token, which is shown only once.
pub(crate) struct Made {
    pub(crate) token: Token,
    kept: Kept,
}

/// The place of a new token.
enum Kept {
    /// A terminal that shows this text.
    Shown(String),
    /// A file, where there is no terminal.
    File(TokenFile),
}

/// Makes a new token for a server.
///
/// If standard error is a terminal, the token is printed there. Otherwise it might end up in a log, so it is written to a
/// private file, and the path of the file is printed. `place` makes the name of the file unique for each server.
pub(crate) fn make(state_dir: Option<PathBuf>, place: &str) -> anyhow::Result<Made> {
    let text = generate()?;
    let token = Token::new(&text).context("the new token cannot be used")?;
    if io::stderr().is_terminal() {
        logging::notice(format_args!("token: {text}"), &[]);
        let kept = Kept::Shown(text);
        return Ok(Made { token, kept });
    }
    let nowhere = || {
        format!(
            "there is no place to keep a new token: set {VARIABLE}, --token-file or --state-dir"
        )
    };
    let path = state_dir.with_context(nowhere)?;
    let state = StateDir::open(&path).with_context(nowhere)?;
    let name = format!("{PREFIX}{place}");
    let path = state.path().join(&name);
    let shown = path.display();
    let unkept = || {
        format!(
            "the new token cannot be kept in {shown}; set {VARIABLE}, --token-file or another --state-dir"
        )
    };
    state.write(&name, text.as_bytes()).with_context(unkept)?;
    let lock = lock(&state, &name).with_context(unkept)?;
    let shown = shown.to_string();
    logging::notice(format_args!("token file: {shown}"), &[("path", &shown)]);
    let kept = Kept::File(TokenFile {
        state,
        name,
        text,
        _lock: lock,
    });
    Ok(Made { token, kept })
}

impl Made {
    /// Returns a command line that uses the token at a server that has only the agent API. It uses curl, because `toolhost` is
    /// no client of that API.
    pub(crate) fn agent_hint(&self, url: &str) -> String {
        let token = match &self.kept {
            Kept::Shown(text) => text.clone(),
            Kept::File(file) => format!("$(cat {})", quoted(&file.path())),
        };
        let target = match url.strip_prefix("unix:") {
            Some(path) => format!("--unix-socket {} http://localhost", quoted(path)),
            None => url.to_owned(),
        };
        format!("try it: curl -H \"Authorization: Bearer {token}\" {target}/api/v0/processes/list")
    }

    /// Returns a command that uses the token, as a hint for the operator.
    pub(crate) fn hint(&self, url: &str) -> String {
        match &self.kept {
            Kept::Shown(text) => format!("try it: {VARIABLE}={text} toolhost tools --server {url}"),
            Kept::File(file) => {
                let path = file.path();
                format!("try it: toolhost tools --server {url} --token-file {path}")
            }
        }
    }
}

/// Quotes a text for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The file with a new token, which is removed when this is dropped.
pub(crate) struct TokenFile {
    state: StateDir,
    name: String,
    text: String,
    /// The lock of the file, held while the server runs. A file without a lock is left from a killed server.
    _lock: Option<Flock<File>>,
}

/// The prefix of the names of token files.
const PREFIX: &str = "token-";

/// Removes the token files of servers that were killed.
pub(crate) fn remove_stale(state_dir: &Path) {
    // If there is no directory, there are no token files. Opening the directory would make it.
    if !state_dir.exists() {
        return;
    }
    let Ok(state) = StateDir::open(state_dir) else {
        return;
    };
    let entries = state.entries().unwrap_or_default().into_iter();
    let names = entries.map(|entry| entry.name);
    for name in names.filter(|name| name.starts_with(PREFIX)) {
        // Keep a file that cannot be opened.
        if let Ok(Some(_lock)) = lock(&state, &name) {
            _ = state.remove(&name);
            tracing::debug!(name, "the token of a server that was killed is removed");
        }
    }
}

/// Locks a file; `None` if there is no such file, or a running server has locked it.
fn lock(state: &StateDir, name: &str) -> io::Result<Option<Flock<File>>> {
    let Some(file) = state.open_file(name)? else {
        return Ok(None);
    };
    Ok(Flock::lock(file, FlockArg::LockExclusiveNonblock).ok())
}

impl TokenFile {
    fn path(&self) -> String {
        let path = self.state.path().join(&self.name);
        path.display().to_string()
    }
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

/// Returns the text of a new token.
///
/// # Errors
///
/// If the system gives no random bytes.
pub fn generate() -> anyhow::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("the system gives no random bytes: {error}"))?;
    Ok(hexadecimal(&bytes))
}

/// Returns bytes as text.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
