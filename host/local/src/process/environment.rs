//! The environment of a command. Nothing of the host's own environment is passed on unless it is named, here or by the
//! operator, so that the secrets of a chat server never reach a command.

mod credentials;
mod extras;
mod names;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

use credentials::without_credentials;
use extras::{BROWSER_SESSION, CHAT_ID};
pub use extras::{Extras, ExtrasError};
use names::Rule;
use toolhost_state::id::ChatId;

/// Variables that keep programs from waiting for an answer of a person. The first eleven are the reference's.
const NON_INTERACTIVE: &[(&str, &str)] = &[
    ("CODER_CHAT_AGENT", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GH_PROMPT_DISABLED", "1"),
    ("PIP_NO_INPUT", "1"),
    ("PYTHONUNBUFFERED", "1"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("AWS_PAGER", ""),
];

/// Those of them that keep programs from asking in a terminal, too. Without them, an editor and a question appear there. Pagers stay off:
/// the output of a terminal is read in pages anyway.
const NO_QUESTIONS: &[&str] = &[
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "EDITOR",
    "VISUAL",
    "GIT_TERMINAL_PROMPT",
    "DEBIAN_FRONTEND",
    "SSH_ASKPASS_REQUIRE",
    "GH_PROMPT_DISABLED",
    "PIP_NO_INPUT",
];

/// The program that answers the questions of git.
const ASKPASS: &str = "GIT_ASKPASS";

/// The kind of terminal that commands have, if they have one.
const TERMINAL: &str = "xterm-256color";

/// The search path where the host has none, as in an empty container.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The part of a command's environment that is the same for all: the inherited variables, and the non-interactive set.
#[derive(Clone, Debug)]
pub struct Environment {
    base: BTreeMap<OsString, OsString>,
    inherited: BTreeSet<String>,
}

impl Environment {
    /// Builds it from the environment of this process, with nothing configured.
    pub fn inherit() -> Self {
        Self::from_host(std::env::vars_os(), &Extras::default())
    }

    /// Builds it from these variables of the host: the allowlist with these extras, and over it the non-interactive set.
    ///
    /// A variable that was asked for by its whole name is passed on as it is. Any other that holds URLs, such as a proxy,
    /// loses their users and passwords. A name that is no UTF-8 is not passed on.
    pub fn from_host(
        host: impl IntoIterator<Item = (OsString, OsString)>,
        extras: &Extras,
    ) -> Self {
        let mut inherited: BTreeMap<String, OsString> = host
            .into_iter()
            .filter_map(|(name, value)| {
                let name = name.into_string().ok()?;
                let value = pass(&name, value, extras)?;
                Some((name, value))
            })
            .collect();
        inherited.retain(|name, value| {
            let overridden = NON_INTERACTIVE.iter().any(|(own, _)| own == name);
            let empty_path = name == "PATH" && value.is_empty();
            !(overridden || empty_path)
        });
        let names = inherited.keys().cloned().collect();
        let mut base: BTreeMap<OsString, OsString> = inherited
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect();
        base.entry("PATH".into())
            .or_insert_with(|| DEFAULT_PATH.into());
        // If the host has a program that answers git's questions, commands use it. Otherwise the answer is empty, at once.
        base.entry(ASKPASS.into()).or_insert_with(|| "true".into());
        base.extend(
            NON_INTERACTIVE
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        );
        Self {
            base,
            inherited: names,
        }
    }

    /// Returns the whole environment of one command: the base, then the trace, then `AGENT_BROWSER_SESSION`, then
    /// its own variables, then `CODER_CHAT_ID`. Both of these are the id of the chat.
    ///
    /// Without a chat there is no `CODER_CHAT_ID`, whatever the command's own variables say.
    pub fn of_command(
        &self,
        trace: &[(String, String)],
        own: &[(String, String)],
        chat: Option<&ChatId>,
    ) -> BTreeMap<OsString, OsString> {
        let mut all = self.base.clone();
        let session = chat.map(|chat| (BROWSER_SESSION.to_owned(), chat.to_string()));
        let given = trace.iter().chain(&session).chain(own);
        all.extend(given.map(|(name, value)| (name.into(), value.into())));
        match chat {
            Some(chat) => all.insert(CHAT_ID.into(), chat.as_str().into()),
            None => all.remove(OsStr::new(CHAT_ID)),
        };
        all
    }

    /// Returns the value that every command gets for this variable, unless it sets its own.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.base.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Returns the variables that every command gets, unless it sets its own.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        let base = self.base.iter();
        base.map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Returns the names of the host's variables that are passed on, sorted. For the variables that every command gets
    /// besides, see [`Environment::own_names`].
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.inherited.iter().map(String::as_str)
    }

    /// Returns the names of the variables that commands of chats get besides those of the host, sorted: the non-interactive
    /// set, the chat's id, and defaults where the host has nothing.
    pub fn own_names(&self) -> impl Iterator<Item = &str> {
        let base = self.base.keys().filter_map(|name| name.to_str());
        let own: BTreeSet<_> = base
            .filter(|name| !self.inherited.contains(*name))
            .chain([CHAT_ID, BROWSER_SESSION])
            .collect();
        own.into_iter()
    }
}

/// Makes the variables of a command, which sets `own` itself, those of one in a terminal.
pub(super) fn name_terminal(all: &mut BTreeMap<OsString, OsString>, own: &[(String, String)]) {
    let is_own = |name: &str| own.iter().any(|(set, _)| set == name);
    for name in NO_QUESTIONS.iter().filter(|name| !is_own(name)) {
        all.remove(OsStr::new(name));
    }
    if !is_own(ASKPASS)
        && all
            .get(OsStr::new(ASKPASS))
            .is_some_and(|value| value == "true")
    {
        all.remove(OsStr::new(ASKPASS));
    }
    if !is_own("TERM") {
        all.insert("TERM".into(), TERMINAL.into());
    }
}

/// Returns the value that commands get of a variable of the host; `None` if they do not get the variable.
fn pass(name: &str, value: OsString, extras: &Extras) -> Option<OsString> {
    // `Extras` refuses the token as well, and each command gets the variables of its own chat.
    if [extras::HOST_TOKEN, CHAT_ID, BROWSER_SESSION].contains(&name) {
        return None;
    }
    if extras.names(name) {
        return Some(value);
    }
    match names::rule(name) {
        Some(Rule::Plain) => Some(value),
        Some(Rule::WithoutCredentials) => Some(without_credentials(value.to_str()?).into()),
        None => extras.covers(name).then_some(value),
    }
}
