//! Retention: when outcomes and tombstones of calls are forgotten.

use std::collections::HashMap;
use std::time::Duration;

use toolhost_state::id::{CallId, ChatId};

/// How long outcomes are kept.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long an outcome is kept after its end; 1 h by default.
    pub keep: Duration,
    /// How many of the last outcomes of a chat are kept beyond that; 256 by default.
    pub keep_per_chat: usize,
    /// How long the id of a call is remembered after its outcome is gone; 24 h by default.
    pub tombstone: Duration,
    /// How many calls of a chat that were cancelled before they arrived are remembered at once; 4,096 by default. Cancelling
    /// another one is refused until one of them is forgotten.
    pub tombstones_per_chat: usize,
    /// The most bytes that all outcomes together may hold, beyond which the oldest go first; 256 MiB by default. Ids whose
    /// outcome is gone may hold a quarter of it besides, beyond which the oldest are forgotten of the chats with the most.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let hour = Duration::from_secs(3600);
        Self {
            keep: hour,
            keep_per_chat: 256,
            tombstone: 24 * hour,
            tombstones_per_chat: 4096,
            bytes: 256 << 20,
        }
    }
}

/// The bytes counted for the id of a call whose outcome is gone, besides the text of the id and of its chat.
const TOMBSTONE: usize = 160;

/// The fate of the record of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::call) enum Retention {
    /// Its outcome is kept.
    Kept,
    /// Its id is remembered, so that it does not run again.
    Tombstone,
    /// Nothing is remembered.
    Forgotten,
}

/// A call that has ended, or will never run.
#[derive(Clone, Copy, Debug)]
pub(in crate::call) struct EndedCall<'a> {
    pub(in crate::call) chat: &'a ChatId,
    pub(in crate::call) call: &'a CallId,
    /// How long ago it ended, or its outcome went.
    pub(in crate::call) age: Duration,
    /// How many bytes its outcome holds, if there still is one.
    pub(in crate::call) size: Option<usize>,
}

/// Returns the bytes counted for the id of a call whose outcome is gone.
pub(in crate::call) fn cost(chat: &ChatId, call: &CallId) -> usize {
    TOMBSTONE + chat.as_str().len() + call.as_str().len()
}

/// How much there may be of all of them together, in bytes.
#[derive(Clone, Copy, Debug)]
pub(in crate::call) struct Room {
    /// Of outcomes.
    pub(in crate::call) outcomes: usize,
    /// Of ids whose outcome is gone.
    pub(in crate::call) ids: usize,
}

impl Room {
    /// Returns the room that these limits allow.
    pub(in crate::call) fn of(limits: &Limits) -> Self {
        Self {
            outcomes: limits.bytes,
            ids: limits.bytes / 4,
        }
    }
}

/// Decides about all of them at once, by a name of the caller's choice. The time for which an id is remembered begins when its
/// outcome goes. Where there is no room for all ids, those go first that have the most newer
/// ones in their chat: a chat that calls without end makes no other one forget.
pub(in crate::call) fn fates<K: Ord>(
    mut past: Vec<(K, EndedCall<'_>)>,
    limits: &Limits,
    room: Room,
) -> Vec<(K, Retention)> {
    // Newest first, so that the position within a chat says whether a call is among the last, of those with an outcome and of all.
    past.sort_by(|(a, one), (b, other)| one.age.cmp(&other.age).then_with(|| b.cmp(a)));
    let mut positions = HashMap::<&ChatId, (usize, usize)>::new();
    let mut bytes = 0_usize;
    let mut tombstones = Vec::new();
    let mut fates = Vec::with_capacity(past.len());
    for (key, call) in past {
        let (outcomes, ids) = positions.entry(call.chat).or_default();
        *outcomes += usize::from(call.size.is_some());
        let is_kept = call.age <= limits.keep || *outcomes <= limits.keep_per_chat;
        let fate = match call.size {
            Some(size) if is_kept && bytes.saturating_add(size) <= room.outcomes => {
                bytes += size;
                Retention::Kept
            }
            _ => Retention::Forgotten,
        };
        let is_recent = call.size.is_some() || call.age <= limits.tombstone;
        if fate == Retention::Forgotten && is_recent {
            tombstones.push((*ids, fates.len(), cost(call.chat, call.call)));
            *ids += 1;
        }
        fates.push((key, fate));
    }
    tombstones.sort_unstable();
    let mut left = room.ids;
    for (_, at, size) in tombstones {
        match left.checked_sub(size) {
            Some(rest) => left = rest,
            None => break,
        }
        if let Some((_, fate)) = fates.get_mut(at) {
            *fate = Retention::Tombstone;
        }
    }
    fates
}
