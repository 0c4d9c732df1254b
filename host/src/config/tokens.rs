//! `[tokens.NAME]`: the tokens of a server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::problems::{meant, unknown};
use super::section::Section;
use toolhost_http::access::Scope;
use toolhost_plugin::Digest;
use toolhost_state::id::ChatId;
use toolhost_state::workspace_name::{InvalidWorkspacePattern, WorkspacePattern};

/// The longest name of a token, in bytes.
const MAX_NAME: usize = 64;

/// Names that the audit trail uses for callers without a section of their own.
const TAKEN: [&str; 6] = ["cli", "configuration", "host", "local", "stdio", "token"];

/// A token as the configuration describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedToken {
    /// Its name: up to 64 letters, digits, `-` and `_`.
    pub name: String,
    /// How the server recognises the token.
    pub source: TokenSource,
    /// The scopes of the token; at least one.
    pub scopes: Vec<Scope>,
    /// The prefix of the ids of its chats; `None`: all chats.
    pub chats: Option<String>,
    /// The tools that it may see and call; `None`: all.
    pub tools: Option<BTreeSet<String>>,
    /// The workspaces that it reaches; `None`: those of its chats if it has `chats`, or else all.
    pub workspaces: Option<Vec<WorkspacePattern>>,
    /// The templates from which it makes machines; `None`: all.
    pub templates: Option<BTreeSet<String>>,
}

/// How the server recognises a token.
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
    /// The name has another form.
    #[error("the name of a token is 1 to 64 ASCII letters, digits, `-` and `_`")]
    Form,
    /// The audit trail uses the name for callers without a section of their own.
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

/// How tokens are written.
pub(super) const WRITTEN: &str =
    "tokens are written as sections [tokens.NAME] with `sha256` or `file`, and `scopes`";

/// Reads all tokens. No problem repeats a value: the value may be the token itself.
pub(super) fn read(mut section: Section<'_, '_>, base: &Path) -> Vec<NamedToken> {
    let mut tokens = Vec::new();
    for (name, value) in section.rest() {
        if let Err(error) = check_token_name(&name) {
            match error {
                // The name itself may be the token: it is not repeated.
                InvalidTokenName::Form => section.wrong_unnamed(&name, error.to_string()),
                InvalidTokenName::Taken => section.wrong(&name, error.to_string()),
            }
            continue;
        }
        let table = section.table(&name, value, WRITTEN);
        tokens.extend(table.and_then(|table| named(&name, table, base)));
    }
    tokens
}

fn named(name: &str, mut section: Section<'_, '_>, base: &Path) -> Option<NamedToken> {
    let sha256 = section.text("sha256");
    let sha256 = sha256.and_then(|text| {
        let digest = text.parse::<Digest>();
        let problem =
            "it has 64 hexadecimal digits, as `toolhost token` and `sha256sum` print them";
        digest
            .inspect_err(|_| section.wrong("sha256", problem))
            .ok()
    });
    let file = section.text("file").filter(|file| !file.is_empty());
    if section.has_key("sha256") == section.has_key("file") {
        section.wrong_here(
            "it has either `sha256`, as `toolhost token` prints it, or `file`, with the token in it",
        );
    }
    let source = match (sha256, file) {
        (Some(digest), _) => Some(TokenSource::Sha256(*digest.as_bytes())),
        (None, file) => file.map(|file| TokenSource::File(base.join(file))),
    };
    let scopes = scopes(&mut section);
    let chats = section.text("chats");
    if chats
        .as_deref()
        .is_some_and(|prefix| prefix.parse::<ChatId>().is_err())
    {
        section.wrong(
            "chats",
            "it is what chat ids begin with, 1 to 128 of A-Z a-z 0-9 . _ : @ -",
        );
    }
    let tools: Option<BTreeSet<String>> = section.texts("tools").map(BTreeSet::from_iter);
    if tools.as_ref().is_some_and(BTreeSet::is_empty) {
        section.wrong("tools", "name at least one, or leave it out for all");
    }
    let workspaces = workspaces(&mut section);
    let templates: Option<BTreeSet<String>> = section.texts("templates").map(BTreeSet::from_iter);
    let everywhere = [Scope::Agent, Scope::Admin];
    for scope in everywhere
        .into_iter()
        .filter(|scope| scopes.contains(scope))
    {
        for bound in ["chats", "tools", "workspaces", "templates"] {
            if section.has_key(bound) {
                let name = scope.name();
                section.wrong(
                    bound,
                    format!(
                        "`{name}` reaches all chats and all tools: leave out that scope, or this"
                    ),
                );
            }
        }
    }
    finish(&mut section);
    Some(NamedToken {
        name: name.to_owned(),
        source: source?,
        scopes,
        chats,
        tools,
        workspaces,
        templates,
    })
}

fn workspaces(section: &mut Section<'_, '_>) -> Option<Vec<WorkspacePattern>> {
    const KEY: &str = "workspaces";
    let texts = section.texts(KEY)?;
    if texts.is_empty() {
        section.wrong(KEY, "name at least one, or leave it out");
    }
    let mut patterns = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        match text.parse() {
            Ok(pattern) => patterns.push(pattern),
            Err(error) => {
                let error: InvalidWorkspacePattern = error;
                section.wrong(&format!("{KEY}[{index}]"), error.to_string());
            }
        }
    }
    Some(patterns)
}

fn scopes(section: &mut Section<'_, '_>) -> Vec<Scope> {
    const KEY: &str = "scopes";
    let mut scopes = Vec::new();
    let texts = section.texts(KEY);
    if texts.as_ref().map_or(!section.has_key(KEY), Vec::is_empty) {
        section.wrong(
            KEY,
            "say what it is good for, as in scopes = [\"call\", \"read\"]",
        );
    }
    for (index, text) in texts.into_iter().flatten().enumerate() {
        match text.parse() {
            Ok(scope) => scopes.push(scope),
            Err(_) => {
                let names = Scope::ALL.map(Scope::name);
                let meant = meant(&text, names).map(|meant| format!("; did you mean {meant:?}?"));
                let names = names.join(", ");
                let meant = meant.unwrap_or_default();
                section.wrong(
                    &format!("{KEY}[{index}]"),
                    format!("a scope is one of {names}{meant}"),
                );
            }
        }
    }
    scopes
}

/// Notes unknown keys. A name is repeated only if it looks like a key.
fn finish(section: &mut Section<'_, '_>) {
    let is_plain = |key: &str| {
        key.len() <= 24
            && key
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte))
    };
    let (known, left) = (section.known().to_vec(), section.rest());
    for key in left.keys() {
        let problem = unknown(key, "key", &known);
        match is_plain(key) {
            true => section.wrong(key, problem),
            false => section.wrong_unnamed(key, problem),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn read(text: &str) -> Result<Vec<NamedToken>, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("toolhost.toml");
        std::fs::write(&path, text).unwrap();
        let base = directory.path().to_string_lossy().into_owned();
        let tokens = Config::read(&path).map(|config| config.tokens().to_vec());
        tokens.map_err(|error| error.to_string().replace(&base, "DIR"))
    }

    #[test]
    fn everything_that_can_be_said_of_a_token() {
        let digest = "00ff".repeat(16);
        let tokens = read(&format!(
            "[tokens.a]\nsha256 = '{digest}'\nscopes = ['call', 'read']\nchats = 'support-'\ntools = ['execute']\nworkspaces = ['team-a/*', 'shared']\n\
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
        assert_eq!(a.scopes, [Scope::Call, Scope::Read]);
        assert_eq!(a.chats.as_deref(), Some("support-"));
        assert_eq!(a.tools, Some(["execute".to_owned()].into()));
        let workspaces = a.workspaces.iter().flatten();
        let workspaces: Vec<_> = workspaces.map(WorkspacePattern::as_str).collect();
        assert_eq!(workspaces, ["team-a/*", "shared"]);
        assert_eq!((b.chats.as_ref(), b.tools.as_ref()), (None, None));
        assert_eq!(read("listen = 'x'").unwrap(), []);
    }

    #[test]
    fn what_is_wrong_is_said_without_what_was_written() {
        let secret = "s3cr3t-t0ken";
        for (text, problem) in [
            ("tokens = 's3cr3t-t0ken'", "tokens are written as sections"),
            (
                "[tokens]\na = 's3cr3t-t0ken'",
                "tokens are written as sections",
            ),
            ("[tokens.'s3cr3t-t0ken!']\n", "the name of a token"),
            ("[tokens.local]\n", "tokens.local: this name is taken"),
            ("[tokens.a]\n", "tokens.a: it has either"),
            (
                "[tokens.a]\ns3cr3t-t0ken = 1",
                "tokens.a: there is no such key",
            ),
            (
                "[tokens.a]\nsha256 = 's3cr3t-t0ken'",
                "tokens.a.sha256: it has 64",
            ),
            (
                "[tokens.a]\nsha256 = ['s3cr3t-t0ken']",
                "tokens.a.sha256: it must be a text",
            ),
            ("[tokens.a]\nfile = 'x'", "tokens.a.scopes: say what"),
            (
                "[tokens.a]\nfile = 'x'\nscopes = []",
                "tokens.a.scopes: say what",
            ),
            (
                "[tokens.a]\nfile = 'x'\nscopes = 's3cr3t-t0ken'",
                "tokens.a.scopes: it must be a list",
            ),
            (
                "[tokens.a]\nfile = 'x'\nscopes = ['read']\nchats = 's3cr3t-t0ken/'",
                "tokens.a.chats: ",
            ),
            (
                "[tokens.a]\nfile = 'x'\nscopes = ['read']\ntools = []",
                "tokens.a.tools: name",
            ),
            (
                "[tokens.a]\nfile = 'x'\nscopes = ['read']\nworkspaces = []",
                "tokens.a.workspaces: name",
            ),
            (
                "[tokens.a]\nfile = 'x'\nscopes = ['read']\nworkspaces = ['a', '../*s3cr3t-t0ken']",
                "tokens.a.workspaces[1]: write the name",
            ),
            (
                "[tokens.a]\nfile = 'x'\nscopes = ['agent']\nworkspaces = ['a']",
                "tokens.a.workspaces: `agent` reaches",
            ),
            (
                "[tokens.a]\nfile = 'x'\nscopes = ['admin', 'call']\ntools = ['a']",
                "tokens.a.tools: `admin` reaches all chats and all tools",
            ),
            (
                "[tokens.a]\nfile = 'x'\nscopes = ['agent']\nchats = 'a'",
                "tokens.a.chats: `agent` reaches all chats and all tools",
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
