//! What is kept of calls that have ended, and for how long.

use std::collections::HashMap;
use std::time::Duration;

use super::Limits;
use crate::id::{CallId, ChatId};

/// What the id of a call whose outcome is gone is counted as besides its text and that of its chat, in bytes.
const FENCE: usize = 160;

/// What is to become of the record of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::call) enum Fate {
    /// Its outcome is kept.
    Kept,
    /// Its id is remembered, so that it does not run again.
    Fenced,
    /// Nothing is remembered.
    Forgotten,
}

/// A call that has ended, or will never run.
#[derive(Clone, Copy, Debug)]
pub(in crate::call) struct Past<'a> {
    pub(in crate::call) chat: &'a ChatId,
    pub(in crate::call) call: &'a CallId,
    /// How long ago it ended, or its outcome went.
    pub(in crate::call) age: Duration,
    /// How many bytes its outcome holds, if there still is one.
    pub(in crate::call) size: Option<usize>,
}

/// Decides about all of them at once, by a name of the caller's choice. Outcomes may hold `most_bytes` together. The time for which
/// an id is remembered begins when its outcome goes.
pub(in crate::call) fn fates<K: Ord>(
    mut past: Vec<(K, Past<'_>)>,
    limits: &Limits,
    most_bytes: usize,
) -> Vec<(K, Fate)> {
    // Newest first, so that the position within a chat says whether a call is among the last, of those with an outcome and of all.
    past.sort_by(|(a, one), (b, other)| one.age.cmp(&other.age).then_with(|| b.cmp(a)));
    let mut positions = HashMap::<&ChatId, (usize, usize)>::new();
    let (mut bytes, mut fence_bytes) = (0_usize, 0_usize);
    past.into_iter()
        .map(|(key, call)| {
            let (outcomes, ids) = positions.entry(call.chat).or_default();
            *outcomes += usize::from(call.size.is_some());
            *ids += 1;
            let remembered = limits.keep_per_chat.saturating_add(limits.fences_per_chat);
            let is_kept = call.age <= limits.keep || *outcomes <= limits.keep_per_chat;
            let is_recent = call.size.is_some() || call.age <= limits.fence;
            let is_fenced = is_recent && *ids <= remembered;
            let fence = FENCE + call.chat.as_str().len() + call.call.as_str().len();
            let fate = match call.size {
                Some(size) if is_kept && bytes.saturating_add(size) <= most_bytes => {
                    bytes += size;
                    Fate::Kept
                }
                _ if is_fenced && fence_bytes + fence <= limits.bytes / 4 => {
                    fence_bytes += fence;
                    Fate::Fenced
                }
                _ => Fate::Forgotten,
            };
            (key, fate)
        })
        .collect()
}
