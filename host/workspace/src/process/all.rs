//! The list of the processes of all owners.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Info, State};
use toolhost_state::id::ChatId;

/// Which processes of all owners to list.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
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
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Owned {
    /// The chat that owns it, if one does.
    pub owner: Option<ChatId>,
    /// The process.
    pub info: Info,
}

/// A page of the processes of all owners.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Listed {
    /// Those that run first, then those of which only a part still runs, then those that ended, each newest first.
    pub processes: Vec<Owned>,
    /// How many there are on all pages.
    pub total: usize,
    /// The workspaces whose agents do not answer now. Their processes are missing.
    pub unanswered: Vec<String>,
}

/// The place of a process in a list. A process only moves towards the end, so that a reader of pages misses none; if it ends
/// meanwhile, the reader may find it twice.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
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

/// A text that is no place in a list of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no place in a list of processes")]
pub struct InvalidPlace;

impl fmt::Display for ListPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = self.started.0.duration_since(UNIX_EPOCH);
        let nanoseconds = u64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX);
        write!(formatter, "{}-{nanoseconds:x}-{}", self.rank, self.id)
    }
}

impl From<ListPlace> for String {
    fn from(place: ListPlace) -> Self {
        place.to_string()
    }
}

impl TryFrom<String> for ListPlace {
    type Error = InvalidPlace;

    fn try_from(text: String) -> Result<Self, InvalidPlace> {
        text.parse()
    }
}

impl FromStr for ListPlace {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        let mut parts = text.splitn(3, '-');
        let mut part = || parts.next().ok_or(InvalidPlace);
        let (rank, nanoseconds, id) = (part()?, part()?, part()?);
        let nanoseconds = u64::from_str_radix(nanoseconds, 16).map_err(|_| InvalidPlace)?;
        let started = UNIX_EPOCH + Duration::from_nanos(nanoseconds);
        Ok(Self {
            rank: rank.parse().map_err(|_| InvalidPlace)?,
            started: Reverse(started),
            id: id.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Cause, ExitStatus};

    #[test]
    fn places_are_ordered_and_are_texts() {
        let at = |seconds| UNIX_EPOCH + Duration::new(seconds, 123_456_789);
        let exited = State::Exited(ExitStatus {
            code: Some(0),
            signal: None,
            cause: Cause::Itself,
        });
        let places = [
            ListPlace::new(&State::Running, at(2), "a"),
            ListPlace::new(&State::Running, at(1), "a-b c"),
            ListPlace::new(&exited, at(3), "a"),
            ListPlace::new(&exited, at(3), "b"),
        ];
        assert!(places.is_sorted());
        for place in places {
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        for wrong in ["", "0-", "0-1", "x-1-a", "0-g-a", "-1-1-a", "256-1-a"] {
            assert_eq!(wrong.parse::<ListPlace>(), Err(InvalidPlace), "{wrong}");
        }
    }
}
