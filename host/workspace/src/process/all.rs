//! The list of the processes of all owners.

use std::cmp::Reverse;
use std::time::SystemTime;

use super::{Info, State};
use toolhost_state::id::ChatId;

/// Which processes of all owners to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllQuery {
    /// Whether to leave out processes that ended.
    pub running_only: bool,
    /// How the names of the chats begin that own them; empty: all, and no chat.
    pub prefix: String,
    /// Processes behind this place.
    pub after: Option<ListPlace>,
    /// The most processes to return.
    pub max: usize,
}

/// A process with its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The chat that owns it, if one does.
    pub owner: Option<ChatId>,
    /// The process.
    pub info: Info,
}

/// The place of a process in a list. A process only moves towards the end, so that a reader of pages misses none; if it ends
/// meanwhile, the reader may find it twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct ListPlace {
    rank: u8,
    started: Reverse<SystemTime>,
    id: String,
}

impl ListPlace {
    /// Returns the place of a process: running ones come first, then lingering ones, then ended ones, each newest first.
    pub fn new(state: &State, started: SystemTime, id: &str) -> Self {
        let rank = match state {
            State::Running => 0,
            State::Lingering(_) => 1,
            State::Exited(_) | State::Lost(_) => 2,
        };
        Self {
            rank,
            started: Reverse(started),
            id: id.to_owned(),
        }
    }

    /// Returns the place of a process in a list.
    pub fn of(info: &Info) -> Self {
        Self::new(&info.state, info.started, &info.id)
    }
}
