//! Calls: their arguments, their outcome, and the ledger that runs each of them once.

mod actor;
mod arguments;
mod digests;
mod error;
mod ledger;
mod nested;
mod outcome;
mod retention;
mod status;
mod workspace_error;

pub use actor::{Actor, Reach, ToolSet, includes, union};
pub use arguments::{Arguments, InvalidArguments, MAX_ARGUMENTS, MAX_DEPTH};
pub use error::{CallError, Refused};
pub use ledger::{Admitted, Begun, Interrupted, Known, Ledger, LiveCall, Permit, Stats};
pub use ledger::{HOST_STOPPED, Listener};
pub use nested::NestedCalls;
pub use outcome::{Outcome, State, Times};
pub use retention::Limits;
pub use status::{CallStatus, Cancelled};
pub use toolhost_store::{
    AtRest, Binding, CallPage, CallQuery, CallState, CallSummary, Chat, ChatPage, ChatQuery,
    ChatsAfter, Durability, NestedCall, NestedRecord, OtherHost, StoreError, StoredWorkspace,
    UnknownDurability, Workspaces,
};
pub use workspace_error::WorkspaceError;

use std::collections::BTreeMap;
use std::time::Duration;

use toolhost_state::id::{CallId, ChatId};
use toolhost_state::workspace_name::WorkspaceName;

/// One call of one tool, as a caller asks for it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The chat that the call belongs to.
    pub chat: ChatId,
    /// The caller's name of the call.
    pub id: CallId,
    /// The name of the tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Arguments,
    /// Attributes from the caller, such as `locale` or `client`.
    pub attributes: BTreeMap<String, String>,
    /// The actor that asks.
    pub actor: Actor,
    /// The longest that one wait of the guest may take, for callers that give up by themselves; `None`: as long as the
    /// host allows.
    pub max_wait: Option<Duration>,
    /// For a caller without a chat that lasts: how the chats begin whose processes the call may open by id, besides those of
    /// its own chat. Ids of processes cannot be guessed.
    pub reach: Option<String>,
    /// The workspace that the chat belongs to. A workspace that is not there is made, as an empty directory. `None`: the one that the
    /// chat belongs to already, or else the default one.
    pub workspace: Option<WorkspaceName>,
}

impl Request {
    /// Makes a request without attributes, by [`Actor::default`].
    pub fn new(chat: ChatId, id: CallId, tool: impl Into<String>, arguments: Arguments) -> Self {
        Self {
            chat,
            id,
            tool: tool.into(),
            arguments,
            attributes: BTreeMap::new(),
            actor: Actor::default(),
            max_wait: None,
            reach: None,
            workspace: None,
        }
    }

    /// Returns the digest by which two requests of one id are the same request.
    pub fn digest(&self) -> [u8; 32] {
        Self::digest_of(&self.tool, &self.arguments)
    }

    /// Returns the digest of a tool and its canonical arguments.
    pub fn digest_of(tool: &str, arguments: &Arguments) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        // The length keeps the two apart: no tool name can reach into the arguments.
        hasher.update(&(tool.len() as u64).to_le_bytes());
        hasher.update(tool.as_bytes());
        hasher.update(arguments.digest());
        *hasher.finalize().as_bytes()
    }
}
