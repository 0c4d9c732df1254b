//! The variables of the host that an operator passes on to commands, in addition to the usual ones.

use std::collections::BTreeSet;

/// The token of the host, which gives access to every chat.
pub(super) const HOST_TOKEN: &str = "TOOLHOST_TOKEN";

/// The variable that names the chat of a command. It is set for each command, and never inherited.
pub(super) const CHAT_ID: &str = "CODER_CHAT_ID";

/// The variable that names the session of agent-browser: that of the chat, so that chats do not share a browser. It is never
/// inherited; a command may set its own.
pub(super) const BROWSER_SESSION: &str = "AGENT_BROWSER_SESSION";

/// Which variables of the host are passed on to commands besides the ones that always are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    names: BTreeSet<String>,
    prefixes: BTreeSet<String>,
}

/// A pattern of variables that cannot be passed on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtrasError {
    /// It covers the host's own token.
    #[error(
        "{0:?} would give commands {HOST_TOKEN}, with which they could use every chat of this host: name the variables that \
         they need one by one"
    )]
    HostToken(String),
    /// It names a variable that every command gets from its chat.
    #[error("{0:?} is set for each command to its own chat, and cannot be inherited")]
    ChatId(String),
    /// It is no name, and no beginning of one with `*` behind it.
    #[error(
        "{0:?} names no variable: use a name such as \"KUBECONFIG\", or the beginning of some with \"*\" at its end, such as \
         \"AWS_*\""
    )]
    Invalid(String),
}

impl Extras {
    /// Makes the set of these patterns. A pattern is the name of a variable, or the beginning of
    /// names with `*` at its end; upper and lower case differ. A named variable is passed on unchanged, credentials included.
    ///
    /// # Errors
    ///
    /// [`ExtrasError::HostToken`] if a pattern covers `TOOLHOST_TOKEN`, [`ExtrasError::ChatId`] if it is `CODER_CHAT_ID` or
    /// `AGENT_BROWSER_SESSION`, [`ExtrasError::Invalid`] if it is empty, only `*`, or holds `=`, NUL, white space or another `*`.
    pub fn new<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Self, ExtrasError> {
        let mut extras = Self::default();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let (start, set) = match pattern.strip_suffix('*') {
                Some(prefix) => (prefix, &mut extras.prefixes),
                None => (pattern, &mut extras.names),
            };
            let forbidden = |char: char| matches!(char, '=' | '\0' | '*') || char.is_whitespace();
            if start.is_empty() || start.contains(forbidden) {
                return Err(ExtrasError::Invalid(pattern.to_owned()));
            }
            if [CHAT_ID, BROWSER_SESSION].contains(&pattern) {
                return Err(ExtrasError::ChatId(pattern.to_owned()));
            }
            let is_prefix = start.len() < pattern.len();
            if start == HOST_TOKEN || (is_prefix && HOST_TOKEN.starts_with(start)) {
                return Err(ExtrasError::HostToken(pattern.to_owned()));
            }
            set.insert(start.to_owned());
        }
        Ok(extras)
    }

    /// Returns whether the variable was asked for by its whole name.
    pub(super) fn names(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Returns whether the variable was asked for by its beginning.
    pub(super) fn covers(&self, name: &str) -> bool {
        self.prefixes.iter().any(|prefix| name.starts_with(prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_names_and_beginnings() {
        let extras = Extras::new(["KUBECONFIG", "AWS_*"]).unwrap();
        assert!(extras.names("KUBECONFIG") && !extras.names("KUBECONFIG2"));
        assert!(extras.covers("AWS_PROFILE") && !extras.covers("aws_profile"));
        assert_eq!(Extras::new([""; 0]), Ok(Extras::default()));
    }

    #[test]
    fn patterns_of_variables_that_must_not_be_passed_on_are_refused() {
        for pattern in ["TOOLHOST_TOKEN", "TOOLHOST_*", "T*", "TOOLHOST_TOKEN*"] {
            let error = Extras::new([pattern]).unwrap_err();
            assert_eq!(error, ExtrasError::HostToken(pattern.into()));
            assert!(error.to_string().contains("every chat of this host"));
        }
        for pattern in ["", "*", "A=B", "A*B", "*A", "A**", "A B", "A\0"] {
            let error = Extras::new([pattern]).unwrap_err();
            assert_eq!(error, ExtrasError::Invalid(pattern.into()));
        }
        for name in ["CODER_CHAT_ID", "AGENT_BROWSER_SESSION"] {
            let error = Extras::new([name]).unwrap_err();
            assert_eq!(error, ExtrasError::ChatId(name.into()));
        }
        Extras::new(["TOOLHOST_TOKEN_FILE", "CODER_*", "TOOLHOST_L*"]).unwrap();
    }
}
