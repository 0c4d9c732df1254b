//! What a host hears of the other hosts of its store.

use toolhost_state::id::{CallId, ChatId};
use toolhost_state::workspace_name::WorkspaceName;

use super::plugin::Quarantine;

/// Something that happened at another host and concerns this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A call that runs here was cancelled there.
    Cancelled {
        /// Its chat.
        chat: ChatId,
        /// Its id.
        call: CallId,
    },
    /// A host has ended or lost its lease: its calls are there to be [taken over](crate::Store::interrupt).
    Interrupted,
    /// A workspace was made, changed or removed.
    Workspace(WorkspaceName),
    /// A chat was bound to a workspace.
    Bound(ChatId),
    /// A plugin was turned on or off: see [`Store::switches`](crate::Store::switches).
    Switched,
    /// A plugin was quarantined.
    Quarantined(Quarantine),
    /// The store can be reached again: changes that wait can be stored.
    Reachable,
}
