//! Shortages of descriptors, processes and memory: idle chats give back what they hold, and what still does not fit is refused.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolhost_sandbox::Narrower;
use toolhost_workspace::Shortage;

use super::Registry;
use super::chats::Owner;
use crate::process::confinement::{Confined, Confinement, SharedSandboxes};
use crate::process::room::{BATCH, Room, short_of_descriptors};
use crate::process::{Error, Level};
use toolhost_state::id::ChatId;

impl Registry {
    /// Returns the sandbox of a chat in a workspace for a wish, and makes it for the first command with this wish, or if its spawner has
    /// ended.
    pub(super) async fn sandbox(
        &self,
        workspace: &Arc<Path>,
        sandboxes: &SharedSandboxes,
        owner: &Owner,
        wish: &Narrower,
    ) -> Result<Confined, Error> {
        if let Some(confined) = self.confinement.find(workspace, sandboxes, wish)? {
            refuse(short_of_descriptors().as_ref())?;
            return Ok(confined);
        }
        refuse(self.make_room().await.as_ref())?;
        let making = self
            .confinement
            .make(workspace, sandboxes, owner.as_ref(), wish);
        making.await
    }

    /// Has so many idle chats give back what they hold that commands have enough of everything. Returns the level of which only the reserve
    /// of the host is left even so.
    pub(super) async fn make_room(&self) -> Option<Level> {
        let room = read_room().await?;
        let excess = room.excess();
        if excess == 0 {
            return None;
        }
        self.give_back(excess.saturating_add(BATCH)).await;
        room.short()?;
        read_room().await?.short().cloned()
    }

    /// Has idle chats end their namespaces and close the descriptors of their sandboxes, those first that were idle for longest. Returns
    /// how many sandboxes that were. At most about `most` are ended.
    pub(super) async fn give_back(&self, most: usize) -> usize {
        let taken = {
            let chats = self.chats();
            let all = chats.by_owner.values();
            let mut idle: Vec<_> = all.filter(|chat| chat.rests(Duration::ZERO)).collect();
            idle.sort_by_key(|chat| chat.used());
            let mut taken = Vec::from_iter(self.confinement.give_back_ahead());
            for chat in idle {
                if taken.len() >= most {
                    break;
                }
                // No start can get the sandbox meanwhile, because it needs the lock of the chats first.
                taken.extend(Confinement::take_idle(&chat.confined));
            }
            taken
        };
        let count = taken.len();
        if count > 0 {
            self.counts.gave_back(count);
            Confinement::end(taken).await;
        }
        count
    }

    /// Notes that a start was refused because this machine has no room.
    pub(super) fn note_refused(&self, chat: Option<&ChatId>, why: &str) {
        let chat = chat.map(ChatId::as_str).unwrap_or_default();
        tracing::warn!(chat, why, "refused to start a command for want of room");
        self.counts.refused(why);
    }

    /// Returns the last start that was refused because this machine had no room.
    pub fn shortage(&self) -> Option<Shortage> {
        self.counts.shortage()
    }
}

/// Refuses a start that would need the reserve of the host.
fn refuse(short: Option<&Level>) -> Result<(), Error> {
    short.map_or(Ok(()), |level| {
        Err(Error::Busy(format!(
            "cannot start the command: {} of {} {} are used, and the host needs the rest (see {}); nothing was started: try again later",
            level.used, level.limit, level.what, level.setting
        )))
    })
}

/// Reads the levels that may be too high, on a thread for blocking work.
async fn read_room() -> Option<Room> {
    tokio::task::spawn_blocking(Room::at_pressure).await.ok()
}
