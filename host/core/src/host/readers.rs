//! The chats whose events clients read at this host: the other hosts tell it what happens in them, and it tells them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use toolhost_call::call::{CallState, State};
use toolhost_call::events::{Event, Events, InvalidPosition, Listener, Position, Refused};
use toolhost_state::id::ChatId;
use toolhost_store::{ChatEvent, Store, StoreError};

use super::workspaces::Workspaces;
use super::{Host, Inner};

/// How often the store is told of all chats that are read.
const SYNC_EVERY: Duration = Duration::from_secs(60);

/// How many chats the store knows of this host at most. If one more is read, those without readers are dropped, and readers that come back
/// hear that they may have missed events.
const MOST: usize = 4096;

/// The chats that are read at this host.
#[derive(Debug, Default)]
pub(super) struct Readers {
    /// Locked while the store is told.
    chats: Mutex<HashMap<ChatId, Read>>,
    /// Whether this host has begun to listen to the others.
    listens: AtomicBool,
    /// Whether it was cut off since its readers were last told.
    was_cut_off: AtomicBool,
    changed: Notify,
}

/// A chat that is read.
#[derive(Debug)]
struct Read {
    since: Instant,
    /// Whether the store knows.
    is_known: bool,
}

impl Readers {
    /// Notes that this host listens to the others from now on. If it did before, it may have missed something.
    pub(super) fn listen(&self) {
        if self.listens.swap(true, Ordering::SeqCst) {
            self.was_cut_off.store(true, Ordering::SeqCst);
        }
        self.changed.notify_one();
    }

    /// Tells the store of a chat. If the store cannot be reached, or this host does not listen yet, [`keep_up`] does it later.
    async fn add(&self, store: &dyn Store, events: &Events, chat: &ChatId) {
        let mut chats = self.chats.lock().await;
        if chats.contains_key(chat) {
            return;
        }
        if chats.len() >= MOST {
            keep(&mut chats, events, |chat| events.readers(chat) > 0);
            self.changed.notify_one();
        }
        let is_reachable = store
            .counts()
            .shared
            .is_some_and(|shared| shared.is_reachable);
        let is_known = self.listens.load(Ordering::SeqCst)
            && is_reachable
            && store.add_reader(chat.clone()).await.is_ok();
        let since = Instant::now();
        chats.insert(chat.clone(), Read { since, is_known });
    }

    /// Opens the workspace of a chat that another host has bound, if the chat is read here.
    pub(super) async fn bound(&self, workspaces: &Arc<Workspaces>, chat: &ChatId) {
        if self.chats.lock().await.contains_key(chat) {
            self.open_workspaces(workspaces).await;
        }
    }

    /// Opens the workspaces of agents in which the other hosts may start processes of these chats.
    pub(super) async fn open_workspaces(&self, workspaces: &Arc<Workspaces>) {
        let chats = self.chats.lock().await;
        let since = chats.iter().map(|(chat, read)| (chat.clone(), read.since));
        workspaces.read(&since.collect());
    }

    /// Tells the store of all chats that are still read. Readers hear that they may have missed events, if the store did not know their
    /// chat, or if this host was cut off.
    async fn sync(&self, store: &dyn Store, events: &Events) -> Result<(), StoreError> {
        let mut chats = self.chats.lock().await;
        keep(&mut chats, events, |chat| events.are_read(chat));
        if self.was_cut_off.swap(false, Ordering::SeqCst) {
            chats.values_mut().for_each(|read| read.is_known = false);
        }
        store.sync_readers(chats.keys().cloned().collect()).await?;
        for (chat, read) in &mut *chats {
            if !std::mem::replace(&mut read.is_known, true) {
                events.cut_off(chat);
            }
        }
        Ok(())
    }
}

/// Drops the other chats. Readers of theirs that come back even later hear that they may have missed events.
fn keep(chats: &mut HashMap<ChatId, Read>, events: &Events, are_kept: impl Fn(&ChatId) -> bool) {
    chats.retain(|chat, _| {
        let is_kept = are_kept(chat);
        if !is_kept {
            events.cut_off(chat);
        }
        is_kept
    });
}

/// Tells the store which chats are read at this host, until the host is dropped.
pub(super) async fn keep_up(host: Weak<Inner>, readers: Arc<Readers>) {
    let mut ticks = interval(SYNC_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = readers.changed.notified() => {}
            _ = ticks.tick() => {}
        }
        let Some(inner) = host.upgrade() else {
            return;
        };
        let store = inner.ledger.store();
        let synced = readers.sync(store, &inner.events).await;
        if let Err(error) = synced {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "the other hosts do not know yet which chats are read at this one"
            );
        }
    }
}

/// Tells the other hosts of the progress of the calls that run here, until this host is dropped.
pub(super) async fn tell_progress(host: Weak<Inner>, events: Events) {
    loop {
        // Now and then, to see whether there is still a host.
        let taken = timeout(SYNC_EVERY, events.relay().take()).await;
        let Some(inner) = host.upgrade() else {
            return;
        };
        for (chat, event) in taken.unwrap_or_default() {
            let Event::Progress {
                call,
                done,
                total,
                message,
            } = event
            else {
                continue;
            };
            let event = ChatEvent::Progress {
                call,
                done,
                total,
                message,
            };
            if let Err(error) = inner.ledger.store().tell_event(chat, event).await {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "the other hosts cannot be told of progress");
            }
        }
    }
}

/// Returns an event that another host told.
pub(super) fn told(event: ChatEvent) -> Event {
    match event {
        ChatEvent::Call { call, tool, state } => {
            let state = match state {
                CallState::Running => State::Running,
                CallState::Finished | CallState::Unsuccessful => State::Finished,
                CallState::Failed => State::Failed,
                CallState::Cancelled | CallState::Tombstone => State::Cancelled,
                CallState::Unknown => State::Unknown,
            };
            Event::Call { call, tool, state }
        }
        ChatEvent::Progress {
            call,
            done,
            total,
            message,
        } => Event::Progress {
            call,
            done,
            total,
            message,
        },
        ChatEvent::Ended => Event::ChatEnded,
    }
}

impl Host {
    /// Reads the events of a chat for a client, as [`Events::read`] does, and from now on those of the other hosts of the store.
    ///
    /// # Errors
    ///
    /// [`Refused`] if there are as many readers as there may be.
    pub async fn read_events(
        &self,
        chat: &ChatId,
        after: Option<Result<Position, InvalidPosition>>,
    ) -> Result<Listener, Refused> {
        let listener = self.inner.events.read(chat, after)?;
        let store = self.inner.ledger.store();
        if store.is_shared() {
            let events = &self.inner.events;
            self.inner.readers.add(store, events, chat).await;
            let workspaces = &self.inner.workspaces;
            self.inner.readers.open_workspaces(workspaces).await;
        }
        Ok(listener)
    }
}

#[cfg(test)]
mod tests {
    use toolhost_call::events::{Limits, Numbered, Reset};
    use toolhost_store::Sqlite;

    use super::*;

    async fn hears(listener: &mut Listener) -> Event {
        listener.next().await.unwrap().event
    }

    #[tokio::test(start_paused = true)]
    async fn readers_hear_that_they_may_have_missed_events() {
        // A store of one host takes everything, and tells nothing.
        let (store, chat) = (Sqlite::in_memory().unwrap(), "a".parse().unwrap());
        let events = Events::new(Limits::default());
        let readers = Readers::default();
        let mut listener = events.read(&chat, None).unwrap();
        readers.add(&store, &events, &chat).await;
        // The store did not know that the chat is read.
        readers.sync(&store, &events).await.unwrap();
        assert_eq!(hears(&mut listener).await, Event::Reset(Reset::CutOff));
        readers.listen();
        readers.sync(&store, &events).await.unwrap();
        events.publish(&chat, Event::ChatEnded);
        assert_eq!(hears(&mut listener).await, Event::ChatEnded);
        // It listens anew.
        readers.listen();
        readers.sync(&store, &events).await.unwrap();
        let Some(Numbered { id, event }) = listener.next().await else {
            panic!("the stream ended");
        };
        assert_eq!(event, Event::Reset(Reset::CutOff));
        // A reader stays away for longer than the others tell this host of its chat.
        drop(listener);
        let kept = Limits::default().kept;
        tokio::time::advance(kept / 2).await;
        events.publish(&chat, Event::ChatEnded);
        readers.sync(&store, &events).await.unwrap();
        assert_eq!(readers.chats.lock().await.len(), 1);
        tokio::time::advance(kept * 2 / 3).await;
        readers.sync(&store, &events).await.unwrap();
        assert!(readers.chats.lock().await.is_empty());
        let after = events.position(&chat, id, None);
        let mut listener = events.read(&chat, Some(Ok(after))).unwrap();
        assert_eq!(hears(&mut listener).await, Event::ChatEnded);
        assert_eq!(hears(&mut listener).await, Event::Reset(Reset::CutOff));
    }

    #[tokio::test]
    async fn a_client_that_reads_many_chats_fills_nothing() {
        let store = Sqlite::in_memory().unwrap();
        let (events, readers) = (Events::default(), Readers::default());
        let listener = events.read(&"stays".parse().unwrap(), None).unwrap();
        readers
            .add(&store, &events, &"stays".parse().unwrap())
            .await;
        for number in 0..3 * MOST {
            let chat = format!("chat-{number}").parse().unwrap();
            drop(events.read(&chat, None).unwrap());
            readers.add(&store, &events, &chat).await;
        }
        let chats = readers.chats.lock().await;
        assert!(chats.len() <= MOST && chats.contains_key(&"stays".parse().unwrap()));
        drop(listener);
    }
}
