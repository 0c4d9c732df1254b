//! `[tokens.NAME]`: who may use a server.
//!
//! Read by hand, because the errors of `serde` repeat what was written: somebody may write the token itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::Config;
use crate::id::ChatId;

/// The longest name of a token, in bytes.
const MAX_NAME: usize = 64;

/// Names that are those of callers without a section of their own.
const TAKEN: [&str; 2] = ["token", "local"];

/// A token as the configuration describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedToken {
    /// Its name: up to 64 letters, digits, `-` and `_`.
    pub name: String,
    /// How it is known.
    pub source: TokenSource,
    /// The names of its scopes, as they are written; at least one.
    pub scopes: Vec<String>,
    /// What the ids of its chats begin with; `None`: all chats.
    pub chats: Option<String>,
    /// The tools that it may see and call; `None`: all.
    pub tools: Option<BTreeSet<String>>,
}

/// How a token is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// By the SHA-256 of its text.
    Sha256([u8; 32]),
    /// By a file that has its text.
    File(PathBuf),
}

/// A name that no token can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTokenName {
    /// It is written in another way.
    #[error("the name of a token is 1 to 64 ASCII letters, digits, `-` and `_`")]
    Form,
    /// It is that of callers who have no section of their own.
    #[error("this name is taken, choose another")]
    Taken,
}

/// Checks the name of a token.
///
/// # Errors
///
/// If no section of the configuration can have it.
pub fn check_token_name(name: &str) -> Result<(), InvalidTokenName> {
    let good = |c: u8| c.is_ascii_alphanumeric() || b"-_".contains(&c);
    if !(1..=MAX_NAME).contains(&name.len()) || !name.bytes().all(good) {
        return Err(InvalidTokenName::Form);
    }
    if TAKEN.contains(&name) {
        return Err(InvalidTokenName::Taken);
    }
    Ok(())
}

/// Reads all of them.
pub(super) fn read(tokens: Option<&Value>, config: &Config) -> Result<Vec<NamedToken>, String> {
    let Some(tokens) = tokens else {
        return Ok(Vec::new());
    };
    let written = "tokens are sections [tokens.NAME] with `sha256` or `file`, and `scopes`";
    let tokens = tokens.as_table().ok_or(written)?;
    let one = |(name, token): (&String, &Value)| {
        check_token_name(name).map_err(|error| match error {
            // Nobody knows what it is that was written there.
            InvalidTokenName::Form => error.to_string(),
            InvalidTokenName::Taken => format!("tokens.{name}: {error}"),
        })?;
        let token = token.as_table().ok_or(written)?;
        named(name, token, config).map_err(|problem| format!("tokens.{name}: {problem}"))
    };
    tokens.iter().map(one).collect()
}

/// Returns the files of those that have one, also if something is wrong with them.
pub(super) fn files(tokens: Option<&Value>) -> impl Iterator<Item = &Path> {
    let tokens = tokens.and_then(Value::as_table).into_iter();
    let files = tokens.flat_map(Table::values);
    files.filter_map(|token| token.get("file")?.as_str().map(Path::new))
}

fn named(name: &str, table: &Table, config: &Config) -> Result<NamedToken, String> {
    const KEYS: [&str; 5] = ["sha256", "file", "scopes", "chats", "tools"];
    if !table.keys().all(|key| KEYS.contains(&key.as_str())) {
        return Err(
            "it has an unknown key; the keys are sha256, file, scopes, chats and tools".into(),
        );
    }
    let source = match (text(table, "sha256")?, text(table, "file")?) {
        (Some(sha256), None) => TokenSource::Sha256(digest(sha256)?),
        (None, Some(file)) if !file.is_empty() => {
            TokenSource::File(config.resolve(Path::new(file)))
        }
        _ => {
            return Err(
                "it has either `sha256`, as `toolhost token` prints it, or `file`, with the token in it"
                    .into(),
            );
        }
    };
    let scopes = list(table, "scopes")?.unwrap_or_default();
    if scopes.is_empty() {
        return Err("scopes: say what it is good for, as in scopes = [\"call\", \"read\"]".into());
    }
    let chats = text(table, "chats")?;
    if chats.is_some_and(|prefix| prefix.parse::<ChatId>().is_err()) {
        let problem = "chats: it is what chat ids begin with, 1 to 128 of A-Z a-z 0-9 . _ : -";
        return Err(problem.into());
    }
    let tools = list(table, "tools")?.map(BTreeSet::from_iter);
    if tools.as_ref().is_some_and(BTreeSet::is_empty) {
        return Err("tools: name at least one, or leave it out for all".into());
    }
    Ok(NamedToken {
        name: name.to_owned(),
        source,
        scopes,
        chats: chats.map(str::to_owned),
        tools,
    })
}

fn text<'a>(table: &'a Table, key: &str) -> Result<Option<&'a str>, String> {
    let text = |value: &'a Value| value.as_str().ok_or_else(|| format!("{key}: it is a text"));
    table.get(key).map(text).transpose()
}

fn list(table: &Table, key: &str) -> Result<Option<Vec<String>>, String> {
    let problem = || format!("{key}: it is a list of texts");
    let list = |value: &Value| {
        let each = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(problem);
        let values = value.as_array().ok_or_else(problem)?;
        values.iter().map(each).collect()
    };
    table.get(key).map(list).transpose()
}

/// Reads 64 hexadecimal digits.
fn digest(text: &str) -> Result<[u8; 32], String> {
    let problem = || {
        "sha256: it has 64 hexadecimal digits, as `toolhost token` and `sha256sum` print them"
            .to_owned()
    };
    let digit = |c: char| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits: Vec<_> = text.chars().map_while(digit).collect();
    if digits.len() != text.len() {
        return Err(problem());
    }
    let bytes = digits.chunks_exact(2).filter_map(|pair| match pair {
        [high, low] => Some(high << 4 | low),
        _ => None,
    });
    let bytes: Vec<u8> = bytes.collect();
    (digits.len() == 64)
        .then(|| bytes.try_into().ok())
        .flatten()
        .ok_or_else(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<NamedToken>, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("toolhost.toml");
        std::fs::write(&path, text).unwrap();
        let base = directory.path().to_string_lossy().into_owned();
        let tokens = Config::read(&path).and_then(|config| config.tokens());
        tokens.map_err(|error| error.to_string().replace(&base, "DIR"))
    }

    #[test]
    fn everything_that_can_be_said_of_a_token() {
        let digest = "00ff".repeat(16);
        let tokens = read(&format!(
            "[tokens.a]\nsha256 = '{digest}'\nscopes = ['call', 'read']\nchats = 'support-'\ntools = ['execute']\n\
             [tokens.b-2]\nfile = '/run/token'\nscopes = ['admin']\n"
        ))
        .unwrap();
        let [a, b] = &tokens[..] else { panic!() };
        assert_eq!((a.name.as_str(), b.name.as_str()), ("a", "b-2"));
        assert_eq!(
            a.source,
            TokenSource::Sha256([0, 255].repeat(16).try_into().unwrap())
        );
        assert_eq!(b.source, TokenSource::File("/run/token".into()));
        assert_eq!(a.scopes, ["call", "read"]);
        assert_eq!(a.chats.as_deref(), Some("support-"));
        assert_eq!(a.tools, Some(["execute".to_owned()].into()));
        assert_eq!((b.chats.as_ref(), b.tools.as_ref()), (None, None));
        assert_eq!(read("listen = 'x'").unwrap(), []);
    }

    #[test]
    fn what_is_wrong_is_said_without_what_was_written() {
        let secret = "s3cr3t-t0ken";
        for (text, problem) in [
            ("tokens = 's3cr3t-t0ken'", "tokens are sections"),
            ("[tokens]\na = 's3cr3t-t0ken'", "tokens are sections"),
            ("[tokens.'s3cr3t-t0ken!']\n", "the name of a token"),
            ("[tokens.local]\n", "tokens.local: this name is taken"),
            ("[tokens.a]\n", "tokens.a: it has either"),
            (
                "[tokens.a]\ns3cr3t-t0ken = 1",
                "tokens.a: it has an unknown key",
            ),
            (
                "[tokens.a]\nsha256 = 's3cr3t-t0ken'",
                "tokens.a: sha256: it has 64",
            ),
            (
                "[tokens.a]\nsha256 = ['s3cr3t-t0ken']",
                "tokens.a: sha256: it is a text",
            ),
            ("[tokens.a]\nfile = 'x'", "tokens.a: scopes: say what"),
            (
                "[tokens.a]\nfile = 'x'\nscopes = []",
                "tokens.a: scopes: say what",
            ),
            (
                "[tokens.a]\nfile = 'x'\nscopes = 's3cr3t-t0ken'",
                "tokens.a: scopes: it is a list",
            ),
            (
                "[tokens.a]\nfile = 'x'\nscopes = ['read']\nchats = 's3cr3t-t0ken/'",
                "tokens.a: chats: ",
            ),
            (
                "[tokens.a]\nfile = 'x'\nscopes = ['read']\ntools = []",
                "tokens.a: tools: name",
            ),
            ("[tokens.a]\nfile = 's3cr3t-t0ken", "line 2"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
            assert!(!error.contains(secret), "{text}: {error}");
        }
        let odd = format!("[tokens.a]\nsha256 = '{}'", "0".repeat(65));
        assert!(read(&odd).unwrap_err().contains("64 hexadecimal"));
    }
}
