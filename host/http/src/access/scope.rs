//! Scopes of tokens.

use std::str::FromStr;

/// A scope: one of the things that a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Calling tools, cancelling calls and ending chats. Reading as well.
    Call,
    /// Reading tools, calls, events, processes, and metrics.
    Read,
    /// The agent API: the processes of all chats, and the files of the workspace.
    Agent,
    /// Connecting as an agent, whose workspace this server then uses.
    Connect,
    /// Turning plugins on and off, and reloading them; the audit trail, and checks of the server and its machine.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Call,
        Self::Read,
        Self::Agent,
        Self::Connect,
        Self::Admin,
    ];

    /// Returns the name, as it is in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Read => "read",
            Self::Agent => "agent",
            Self::Connect => "connect",
            Self::Admin => "admin",
        }
    }
}

/// There is no scope of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a scope is one of {}", Scope::ALL.map(Scope::name).join(", "))]
pub struct UnknownScope;

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(name: &str) -> Result<Self, UnknownScope> {
        let mut all = Self::ALL.into_iter();
        all.find(|scope| scope.name() == name).ok_or(UnknownScope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_every_scope() {
        let error = "write".parse::<Scope>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "a scope is one of call, read, agent, connect, admin"
        );
    }
}
