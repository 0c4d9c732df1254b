//! What is done from time to time: freeing what ended, ending what runs in idle chats, replacing a spawner that was killed.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::timeout;

use super::Registry;
use super::chats::{Chat, Chats};
use super::ends::LAST_WORDS;
use crate::process::Spawner;

/// How often ended processes are looked through.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// How long to wait before another spawner is tried.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Frees what ended processes hold, also of chats that nobody asks about any more.
pub(super) async fn run(registry: Weak<Registry>) {
    loop {
        let Some(crowded) = registry
            .upgrade()
            .map(|registry| Arc::clone(&registry.crowded))
        else {
            return;
        };
        _ = timeout(LOOK_EVERY, crowded.notified()).await;
        let Some(registry) = registry.upgrade() else {
            return;
        };
        look(&registry).await;
    }
}

pub(super) async fn look(registry: &Registry) {
    let mut old = Vec::new();
    let mut idle = Vec::new();
    let empty: Vec<Chat> = {
        let mut chats = registry.chats();
        for chat in chats.by_owner.values_mut() {
            old.push(chat.age(&registry.limits));
            if chat.is_idle(registry.limits.idle_chat) {
                idle.extend(chat.processes.iter().cloned());
            }
        }
        free_excess(&chats, registry.limits.memory_total);
        let empty = chats.by_owner.extract_if(|_, chat| chat.is_empty());
        empty.map(|(_, chat)| chat).collect()
    };
    // Before anything that takes time, in which somebody may come back. What ended stays known, and ages as everywhere.
    let (ended, ends) = registry.ends(idle);
    let ends = registry.ending.spawn_on(ends, &registry.runtime);
    let keeper = Arc::clone(&registry.keeper);
    let removal = async move {
        Arc::clone(&keeper).remove(old).await;
        for chat in empty {
            keeper.remove_chat(chat.outputs, &[]).await;
        }
    };
    let removal = registry.removals.spawn_on(removal, &registry.runtime);
    // A disk that hangs does not stop the upkeep: what is removed later is removed all the same.
    if let Ok(Err(error)) = timeout(LAST_WORDS, removal).await {
        tracing::error!(%error, "failed to remove what was saved");
    }
    if let Err(error) = ends.await {
        tracing::error!(%error, "failed to end what ran in idle chats");
    }
    if !ended.is_empty() {
        tracing::info!(
            processes = ended.len(),
            "ended the processes of chats that were idle for too long"
        );
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

/// Starts another spawner whenever the present one ends.
pub(super) async fn replace(spawner: Spawner) {
    loop {
        if let Err(error) = spawner.replace_when_ended().await {
            tracing::error!(%error, "failed to start another spawner");
            tokio::time::sleep(TRY_AGAIN).await;
        }
    }
}
