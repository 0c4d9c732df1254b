//! Values of workspaces and of the chats that belong to them.

use serde::Serialize;
use toolhost_state::id::ChatId;
use toolhost_state::secret::Secret;
use toolhost_state::workspace_name::WorkspaceName;

/// A stored workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredWorkspace {
    /// Its name.
    #[serde(serialize_with = "super::id")]
    pub name: WorkspaceName,
    /// Its specification, as JSON that only the host reads. It may hold secrets, so exports leave it out.
    #[serde(skip)]
    pub spec: String,
    /// The name of the token that made it.
    pub principal: String,
    /// When it was made.
    pub created_ms: u64,
    /// When it was last used, to the minute.
    pub used_ms: u64,
    /// When it was removed; `None` if it was not. Its chats stay with it, so that none of them runs elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed_ms: Option<u64>,
}

/// The workspace that a chat belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Binding {
    /// The chat.
    #[serde(serialize_with = "super::id")]
    pub chat: ChatId,
    /// The workspace.
    #[serde(serialize_with = "super::id")]
    pub workspace: WorkspaceName,
}

/// Another host of the same store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherHost {
    /// Its name.
    pub name: String,
    /// The URL at which clients and other hosts reach it, if that is known.
    pub address: Option<String>,
    /// Whether it has its lease. A host without one has ended, or is cut off from the store.
    pub has_lease: bool,
}

/// An agent that is connected to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectedAgent {
    /// Its name.
    pub name: WorkspaceName,
    /// The token with which it lets hosts in.
    pub token: Secret,
}

/// Where an agent is that is connected to another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentElsewhere {
    /// The host.
    pub host: OtherHost,
    /// The token with which the agent lets hosts in, if the host has told it.
    pub token: Option<Secret>,
}

/// Where the calls of a chat run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// On the machine of this host.
    Here,
    /// On the machine of another host, in its default workspace.
    Elsewhere(OtherHost),
    /// In the workspace that the chat belongs to.
    Bound,
}

/// All workspaces, and the chats that belong to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workspaces {
    /// The workspaces, by name.
    pub found: Vec<StoredWorkspace>,
    /// Their chats.
    pub bindings: Vec<Binding>,
    /// How many of both are missing because their records are damaged.
    pub damaged: u64,
}
