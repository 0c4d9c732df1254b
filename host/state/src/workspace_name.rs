//! The names of workspaces, and the patterns that bound a token to some of them.

use std::fmt;
use std::str::FromStr;

use crate::pattern;

/// The longest name of a workspace, in bytes.
pub const MAX_WORKSPACE_NAME: usize = 128;

/// The name of the workspace that a host opens at its start, in which the calls of all other chats run.
const DEFAULT: &str = "default";

/// The name of a workspace: parts of `[A-Za-z0-9._:@-]` with `/` in between, 1 to 128 bytes. No part is empty, `.` or `..`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspaceName(String);

/// A text that is no name of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name of a workspace is 1 to {MAX_WORKSPACE_NAME} characters of A-Z a-z 0-9 . _ : @ - and \"/\", and no part between slashes is empty, \".\" or \"..\""
)]
pub struct InvalidWorkspaceName;

impl WorkspaceName {
    /// Returns the name of the workspace that a host opens at its start.
    pub fn of_default() -> Self {
        Self(DEFAULT.to_owned())
    }

    /// Returns whether this is the workspace that a host opens at its start.
    pub fn is_default(&self) -> bool {
        self.0 == DEFAULT
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name as that of a file: no other workspace has the same one, and none begins with `+`.
    pub fn to_file_name(&self) -> String {
        self.0.replace('/', "+")
    }
}

impl FromStr for WorkspaceName {
    type Err = InvalidWorkspaceName;

    fn from_str(text: &str) -> Result<Self, InvalidWorkspaceName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:@-".contains(&byte);
        let is_part = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(allowed);
        if text.len() <= MAX_WORKSPACE_NAME && text.split('/').all(is_part) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidWorkspaceName)
        }
    }
}

impl fmt::Display for WorkspaceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Some workspaces: the one of a name, or with `*` at the end all whose names begin with the text before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkspacePattern {
    text: String,
}

/// A text that is no pattern of workspaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write the name of a workspace, such as \"team-a/web\", or the beginning of names and \"*\", such as \"team-a/*\""
)]
pub struct InvalidWorkspacePattern;

impl WorkspacePattern {
    /// Returns whether a workspace is one of these.
    pub fn matches(&self, name: &WorkspaceName) -> bool {
        pattern::matches(&self.text, name.as_str())
    }

    /// Returns the one workspace that this is, unless it is a prefix.
    pub fn name(&self) -> Option<WorkspaceName> {
        self.text.parse().ok()
    }

    /// Returns the pattern as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for WorkspacePattern {
    type Err = InvalidWorkspacePattern;

    fn from_str(text: &str) -> Result<Self, InvalidWorkspacePattern> {
        // The rest of a name after the prefix, so that the whole is one.
        let example = match text.strip_suffix('*') {
            Some(prefix) => format!("{prefix}x"),
            None => text.to_owned(),
        };
        let good = text == "*" || example.parse::<WorkspaceName>().is_ok();
        let text = text.to_owned();
        good.then_some(Self { text }).ok_or(InvalidWorkspacePattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_paths_that_lead_nowhere_else() {
        for name in [
            "a",
            "team-a/web",
            "@u:x/1.2",
            ".git",
            "...",
            &"x".repeat(128),
        ] {
            assert_eq!(name.parse::<WorkspaceName>().unwrap().as_str(), name);
        }
        for name in [
            "",
            ".",
            "..",
            "/",
            "a/",
            "/a",
            "a//b",
            "a/../b",
            "../a",
            "a/..",
            "./a",
            "a b",
            "a+b",
            "a\\b",
            "ä",
            "a\n",
            "a\0",
            "%2e%2e",
            "~",
            "*",
            &"x".repeat(129),
        ] {
            assert_eq!(
                name.parse::<WorkspaceName>(),
                Err(InvalidWorkspaceName),
                "{name:?}"
            );
        }
    }

    #[test]
    fn two_names_are_two_file_names_of_one_part() {
        let file = |name: &str| name.parse::<WorkspaceName>().unwrap().to_file_name();
        assert_eq!(file("a/b"), "a+b");
        for (one, other) in [("a/b", "a:b"), ("a", "a/a"), ("a.b", "a/b")] {
            assert_ne!(file(one), file(other));
        }
        assert!(!file("a/b").contains('/') && !file("a").starts_with('+'));
    }

    #[test]
    fn a_pattern_is_a_name_or_a_beginning() {
        let name = |text: &str| text.parse::<WorkspaceName>().unwrap();
        let matches = |pattern: &str, text: &str| {
            let pattern: WorkspacePattern = pattern.parse().unwrap();
            pattern.matches(&name(text))
        };
        assert!(matches("team-a/*", "team-a/web") && matches("team-a/*", "team-a/x/y"));
        assert!(!matches("team-a/*", "team-a") && !matches("team-a/*", "team-ab/web"));
        assert!(matches("team-a", "team-a") && !matches("team-a", "team-a/web"));
        assert!(matches("*", "default"));
        for text in ["", "**", "a*b", "/*", "a//*", "../*", "a b*", "a b"] {
            assert!(text.parse::<WorkspacePattern>().is_err(), "{text:?}");
        }
        let single: WorkspacePattern = "a/b".parse().unwrap();
        assert_eq!(single.name(), Some(name("a/b")));
        let many: WorkspacePattern = "a/*".parse().unwrap();
        assert_eq!(many.name(), None);
    }
}
