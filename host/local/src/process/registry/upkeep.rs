//! Periodic work: freeing memory, forgetting old processes, and ending those of idle chats.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::Registry;
use super::chats::{Chat, Chats};
use super::ends::{LAST_WORDS, remove_temporary};
use crate::process::confinement::Confinement;

/// How often ended processes are looked through.
const LOOK_EVERY: Duration = Duration::from_secs(30);

impl Registry {
    /// Runs the upkeep from time to time, for as long as the registry exists.
    pub(super) async fn keep_up(registry: Weak<Self>, crowded: Arc<Notify>) {
        loop {
            _ = timeout(LOOK_EVERY, crowded.notified()).await;
            let Some(registry) = registry.upgrade() else {
                return;
            };
            registry.resume_adopted();
            registry.tidy_up().await;
            registry.make_room().await;
        }
    }

    /// Runs the upkeep now instead of waiting for the next 30 s: frees, expires and forgets old ended processes, and ends the
    /// processes of idle chats and the namespaces of chats in which nothing has run for a while.
    pub async fn tidy_up(&self) {
        let mut old = Vec::new();
        let mut idle = Vec::new();
        let mut resting = Vec::new();
        let empty: Vec<Chat> = {
            let mut chats = self.chats();
            for chat in chats.by_owner.values_mut() {
                old.push(chat.age(&self.limits));
                if chat.is_idle(self.limits.idle_chat) {
                    idle.extend(chat.processes.iter().cloned());
                }
                // No start can get the sandbox meanwhile, because it needs the lock of the chats first.
                if chat.rests(self.limits.idle_sandbox) {
                    resting.extend(Confinement::take_idle(&chat.confined));
                }
            }
            free_excess(&chats, self.limits.memory_total);
            let empty = chats.by_owner.extract_if(|_, chat| chat.is_empty());
            empty.map(|(_, chat)| chat).collect()
        };
        // End them before anything that takes time, in which a client may use an idle chat again. They stay known, and age as others.
        let (ended, ends) = self.ends(idle);
        let ends = self.ending.spawn_on(ends, &self.runtime);
        let keeper = Arc::clone(&self.keeper);
        let removal = async move {
            keeper.catch_up().await;
            keeper.remove(&old).await;
            let places = empty
                .iter()
                .map(|chat| Arc::clone(&chat.confined))
                .collect();
            for chat in empty {
                keeper.remove_chat(chat.outputs, &[]).await;
            }
            remove_temporary(places).await;
        };
        let rest = self.runtime.spawn(Confinement::end(resting));
        let removal = self.removals.spawn_on(removal, &self.runtime);
        // A disk that hangs does not stop the upkeep: the removal goes on without it.
        if let Ok(Err(error)) = timeout(LAST_WORDS, removal).await {
            tracing::error!(%error, "failed to remove saved outputs");
        }
        if let Ok(Err(error)) = timeout(LAST_WORDS, rest).await {
            tracing::error!(%error, "failed to end the namespaces of chats that rest");
        }
        if let Err(error) = ends.await {
            tracing::error!(%error, "failed to end the processes of idle chats");
        }
        if !ended.is_empty() {
            tracing::info!(
                processes = ended.len(),
                "ended the processes of chats that were idle for too long"
            );
        }
    }
}

/// Frees the memory of ended processes, the oldest first, until all together have no more than so many bytes, or the rest is not
/// saved.
fn free_excess(chats: &Chats, most: usize) {
    let all = chats.by_owner.values().flat_map(|chat| &chat.processes);
    let over = all.filter_map(|process| {
        let retained = process.retained();
        let since = process.over_since().filter(|_| retained > 0)?;
        Some((since, retained, process))
    });
    let mut over: Vec<_> = over.collect();
    let mut total: usize = over.iter().map(|(_, retained, _)| retained).sum();
    over.sort_by_key(|(since, ..)| *since);
    for (_, retained, process) in over {
        if total <= most {
            return;
        }
        process.free_after(Duration::ZERO);
        total -= retained - process.retained();
    }
}
