//! The sandbox that is made ahead for the next chat: the first command of the chat then takes hardly longer than a later one.
//!
//! It is made as any other, while chats begin one after the other in the workspace of the host, and only if the machine has room for it. A
//! chat gets it only if a sandbox that were made now would show the same files.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use toolhost_sandbox::{Mode, MountTable, Network, View};

use super::{Confined, Confinement, OwnDirectories};
use crate::process::Error;
use crate::process::room::Room;

/// How long after the sandbox of one chat the next one is made. The first command of the chat comes first.
const AFTER: Duration = Duration::from_millis(20);

/// How long a sandbox waits for its chat. Chats that begin within this time begin one after the other.
const EXPIRES: Duration = Duration::from_mins(1);

/// The sandbox that waits for the next chat.
#[derive(Debug, Default)]
pub(super) struct Ahead(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    is_closed: bool,
    is_making: bool,
    /// When the last sandbox of a chat was made.
    last: Option<Instant>,
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    confined: Confined,
    own: OwnDirectories,
    directory: PathBuf,
    view: View,
    mounts: MountTable,
    /// When its making began, by both clocks.
    since: (Instant, SystemTime),
}

impl Waiting {
    /// Removes its temporary directory, which is empty. The caller ends the sandbox.
    fn into_confined(self) -> Confined {
        super::remove(&self.directory);
        self.confined
    }
}

impl Confinement {
    /// Returns the sandbox that was made ahead and its temporary directory, if it shows what one that is made now would show. Blocks on the
    /// disk.
    pub(super) fn take_ahead(&self) -> Option<(Confined, PathBuf)> {
        let waiting = self.ahead.0.lock().waiting.take()?;
        let view = (&waiting.view, waiting.since.1);
        let is_current = !waiting.mounts.has_changed()
            && self
                .common
                .is_current(&waiting.confined, &self.workspace, &waiting.own, view);
        if is_current {
            return Some((waiting.confined, waiting.directory));
        }
        end(&waiting.into_confined());
        None
    }

    /// Notes that a chat has got its sandbox. If chats begin one after the other, makes the next one in a moment. Must be called within a
    /// tokio runtime.
    pub(super) fn expect_another(self: &Arc<Self>) {
        let policy = &self.common.policy;
        if policy.mode == Mode::Off || matches!(policy.network, Network::Hosts(_)) {
            return;
        }
        let mut state = self.ahead.0.lock();
        let last = state.last.replace(Instant::now());
        let is_expected = last.is_some_and(|last| last.elapsed() < EXPIRES);
        if !is_expected || state.is_making || state.is_closed || state.waiting.is_some() {
            return;
        }
        state.is_making = true;
        drop(state);
        tokio::spawn(make_and_expire(Arc::downgrade(self)));
    }

    /// Makes the sandbox of the next chat, if there is room for it.
    fn make_ahead(&self) {
        let has_room = Room::at_pressure().excess() == 0;
        let made = has_room.then(|| self.prepare_ahead()).transpose();
        let made = made.unwrap_or_else(|error| {
            tracing::debug!(%error, "the sandbox of the next chat is not made ahead");
            None
        });
        let made = made.flatten();
        let is_made = made.is_some();
        let mut state = self.ahead.0.lock();
        state.is_making = false;
        let unused = match state.is_closed {
            true => made,
            false => std::mem::replace(&mut state.waiting, made),
        };
        drop(state);
        if let Some(unused) = unused {
            end(&unused.into_confined());
        } else if is_made {
            tracing::debug!("the sandbox of the next chat is made");
        }
    }

    fn prepare_ahead(&self) -> Result<Option<Waiting>, Error> {
        let Ok(mounts) = MountTable::open() else {
            return Ok(None);
        };
        let since = (Instant::now(), SystemTime::now());
        let Some(directory) = self.make_directory()? else {
            return Ok(None);
        };
        let made = self
            .own_directories(&self.workspace, Some(directory.clone()))
            .and_then(|own| {
                let (workspace, policy) = (&self.workspace, &self.common.policy);
                let made = self
                    .common
                    .confine_and_show(workspace, policy, own.clone(), None);
                made.map(|made| (made, own))
            });
        let ((confined, view), own) = made.inspect_err(|_| super::remove(&directory))?;
        let Some(view) = view else {
            // Without namespaces, a sandbox is no more than rules.
            super::remove(&directory);
            confined.release();
            return Ok(None);
        };
        Ok(Some(Waiting {
            confined,
            own,
            directory,
            view,
            mounts,
            since,
        }))
    }

    /// Takes the sandbox that waits, for its descriptors and processes. The caller ends it.
    pub(in crate::process) fn give_back_ahead(&self) -> Option<Confined> {
        let waiting = self.ahead.0.lock().waiting.take();
        waiting.map(Waiting::into_confined)
    }

    /// Ends the sandbox that waits, and makes no other.
    pub(super) fn close_ahead(&self) {
        let mut state = self.ahead.0.lock();
        state.is_closed = true;
        let waiting = state.waiting.take();
        drop(state);
        if let Some(waiting) = waiting {
            end(&waiting.into_confined());
        }
    }
}

/// Makes the sandbox of the next chat, and ends it if no chat has got it in time.
async fn make_and_expire(confinement: Weak<Confinement>) {
    tokio::time::sleep(AFTER).await;
    let Some(this) = confinement.upgrade() else {
        return;
    };
    let made = tokio::task::spawn_blocking(move || this.make_ahead());
    if made.await.is_err() {
        return;
    }
    tokio::time::sleep(EXPIRES).await;
    let Some(this) = confinement.upgrade() else {
        return;
    };
    let expired = {
        let mut state = this.ahead.0.lock();
        let waiting = &mut state.waiting;
        waiting.take_if(|waiting| waiting.since.0.elapsed() >= EXPIRES)
    };
    if let Some(expired) = expired {
        // The directory is removed here: it is empty.
        Confinement::end(vec![expired.into_confined()]).await;
    }
}

/// Ends a sandbox in which nothing runs.
fn end(confined: &Confined) {
    confined.end();
    confined.release();
}
