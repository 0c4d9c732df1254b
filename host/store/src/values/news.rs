//! News of the other hosts of a store.

use toolhost_state::id::{CallId, ChatId};
use toolhost_state::workspace_name::WorkspaceName;

use super::event::ChatEvent;
use super::plugin::Quarantine;

/// Something that happened at another host and concerns this one.
#[derive(Clone, Debug, PartialEq)]
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
    /// Something happened in a chat whose events clients read [here](crate::Store::add_reader).
    Event {
        /// The chat.
        chat: ChatId,
        /// The event.
        event: ChatEvent,
    },
    /// The store can be reached again: changes that wait can be stored. News may have been lost before.
    Reachable,
}
