//! The count of the files that chats shared in the last hour, so that a model in a loop makes no flood of links.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;
use toolhost_call::sharing::MAX_SHARED;
use toolhost_state::id::ChatId;

/// The time for which a share counts.
const HOUR: Duration = Duration::from_hours(1);

/// The shares of the last hour.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// The chats with the times of their shares, oldest first.
    recent: VecDeque<(Instant, ChatId)>,
    counts: HashMap<ChatId, usize>,
}

impl Shares {
    /// Counts one more share of a chat at this time. Returns whether the chat may share so many files.
    pub(super) fn add(&mut self, chat: &ChatId, now: Instant) -> bool {
        while let Some((_, old)) = self
            .recent
            .pop_front_if(|(at, _)| now.saturating_duration_since(*at) >= HOUR)
        {
            if let Some(count) = self.counts.get_mut(&old) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&old);
                }
            }
        }
        if self
            .counts
            .get(chat)
            .is_some_and(|count| *count >= MAX_SHARED)
        {
            return false;
        }
        self.recent.push_back((now, chat.clone()));
        *self.counts.entry(chat.clone()).or_default() += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_shares_so_many_files_in_an_hour_and_others_are_not_held_up() {
        let (mut shares, start) = (Shares::default(), Instant::now());
        let (one, other): (ChatId, ChatId) = ("a".parse().unwrap(), "b".parse().unwrap());
        for _ in 0..MAX_SHARED {
            assert!(shares.add(&one, start));
        }
        assert!(!shares.add(&one, start));
        assert!(shares.add(&other, start));
        let almost = start + HOUR - Duration::from_millis(1);
        assert!(!shares.add(&one, almost));
        assert!(shares.add(&one, start + HOUR));
        assert_eq!(shares.recent.len(), 1, "old shares are forgotten");
        assert_eq!(shares.counts.len(), 1, "and so are their chats");
    }
}
