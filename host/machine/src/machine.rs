//! A machine: its id, and what its agent needs to connect to the host.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value};
use toolhost_state::secret::Secret;
use toolhost_state::workspace_name::WorkspaceName;

/// The context of the key of machines, which is derived from another key of the host.
const CONTEXT: &str = "Toolhost 2026-11-30: the key of machines";

/// How many hexadecimal digits of a hash are in an id.
const DIGITS: usize = 20;

/// A machine of a workspace.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The id, by which the engine finds the machine. No two hosts, and no two workspaces of a host, have the same one.
    pub id: String,
    /// The workspace.
    pub workspace: WorkspaceName,
    /// The name of the template.
    pub template: String,
    /// The parameters of the template, with their defaults.
    pub parameters: Map<String, Value>,
    /// The socket and the token with which the agent connects to the host.
    pub connect: Connect,
}

/// The socket and the token with which the agent of a machine connects to its host.
#[derive(Clone, Debug)]
pub struct Connect {
    /// The socket at which the host takes the agents of its machines.
    pub socket: PathBuf,
    /// The token, which lets in this agent alone.
    pub token: Secret,
}

impl Machine {
    /// Returns the machine as the operator's programs read it. The name of the agent is that of the workspace.
    pub(crate) fn document(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Document<'a> {
            id: &'a str,
            workspace: &'a str,
            template: &'a str,
            parameters: &'a Map<String, Value>,
            connect: Connecting<'a>,
        }
        #[derive(Serialize)]
        struct Connecting<'a> {
            url: String,
            name: &'a str,
            token: &'a str,
        }
        let document = Document {
            id: &self.id,
            workspace: self.workspace.as_str(),
            template: &self.template,
            parameters: &self.parameters,
            connect: Connecting {
                url: format!("unix:{}", self.connect.socket.display()),
                name: self.workspace.as_str(),
                token: self.connect.token.reveal(),
            },
        };
        serde_json::to_vec(&document).unwrap_or_default()
    }
}

/// The key from which the ids and tokens of machines follow, so that nothing is stored.
#[derive(Clone)]
pub struct Keys([u8; blake3::KEY_LEN]);

impl Keys {
    /// Derives the key from a secret of the host, which outlives the host.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(blake3::derive_key(CONTEXT, secret))
    }

    /// Returns the label of all machines of this host.
    pub fn host(&self) -> String {
        self.hash("host", "")
    }

    /// Returns the id of the machine of a workspace.
    pub fn id(&self, workspace: &WorkspaceName) -> String {
        let mut id = self.hash("id", workspace.as_str());
        id.truncate(DIGITS);
        format!("toolhost-{id}")
    }

    /// Returns the token of the agent of a workspace.
    pub fn token(&self, workspace: &WorkspaceName) -> Secret {
        Secret::new(self.hash("token", workspace.as_str()))
    }

    fn hash(&self, kind: &str, text: &str) -> String {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(kind.as_bytes());
        hasher.update(b"\0");
        hasher.update(text.as_bytes());
        hasher.finalize().to_hex().to_string()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Keys").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_tokens_follow_from_the_key_and_the_name() {
        let (one, other) = (Keys::new(&[1; 32]), Keys::new(&[2; 32]));
        let (a, b) = ("team/a".parse().unwrap(), "b".parse().unwrap());
        assert_eq!(one.id(&a), Keys::new(&[1; 32]).id(&a));
        assert_eq!(one.id(&a).len(), "toolhost-".len() + DIGITS);
        assert!(one.id(&a) != one.id(&b) && one.id(&a) != other.id(&a));
        let tokens = [one.token(&a), one.token(&b), other.token(&a)];
        let tokens: std::collections::BTreeSet<_> = tokens.iter().map(Secret::reveal).collect();
        assert_eq!(tokens.len(), 3);
        assert!(!format!("{one:?}").contains('1'));
    }
}
