//! Clients that want to be told when what is at an address changes.
//!
//! What a process writes changes its output, and its end does. What a tool returns can have changed when its plugin was exchanged.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use rmcp::ErrorData;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::caller::Caller;
use super::{errors, outputs, resources};
use crate::events::{Event, Listener};
use crate::host::Host;

/// The most addresses that one client is told of.
pub(super) const MAX_WATCHED: usize = 64;

/// The shortest time between two notifications about one address.
const PAUSE: Duration = Duration::from_secs(1);

/// What one client is told of.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    watched: Mutex<HashMap<String, DropGuard>>,
}

impl Subscriptions {
    /// Adds an address; returns what is cancelled when it is removed, or `None` if it is there already.
    pub(super) fn add(&self, uri: &str) -> Result<Option<CancellationToken>, ErrorData> {
        let mut watched = self.watched();
        if watched.contains_key(uri) {
            return Ok(None);
        }
        if watched.len() >= MAX_WATCHED {
            let message = format!("there are {MAX_WATCHED} subscriptions, which is the most");
            return Err(errors::refused("busy", message));
        }
        let removed = CancellationToken::new();
        watched.insert(uri.to_owned(), removed.clone().drop_guard());
        Ok(Some(removed))
    }

    /// Removes an address, if it is there.
    pub(super) fn remove(&self, uri: &str) {
        self.watched().remove(uri);
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<String, DropGuard>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for changes of what is at an address.
#[derive(Debug)]
pub(super) enum Watch {
    /// Of the output of a process of a chat.
    Output {
        /// The process.
        process: String,
        /// The events of its chat.
        events: Listener,
        /// Whether nothing more can change.
        over: bool,
        /// Whether it was over before this began: who saw it running does not know that yet.
        untold: bool,
    },
    /// Of what tools return.
    Tools(tokio::sync::watch::Receiver<u64>),
}

impl Watch {
    /// Begins to wait, for a caller who can read what is there.
    pub(super) fn of(host: &Host, caller: &Caller, uri: &str) -> Result<Self, ErrorData> {
        if resources::owner(host, caller, uri).is_some() {
            return Ok(Self::Tools(host.tools_changed()));
        }
        let process = outputs::process(host, caller, uri);
        let process = process.map_err(|_| errors::unknown_resource(uri))?;
        let events = host.events().listen(&caller.chat, None);
        let over = !process.state().is_live();
        Ok(Self::Output {
            process: process.id().to_owned(),
            events,
            over,
            untold: over,
        })
    }

    /// Waits for the next change; for ever, if there can be none.
    pub(super) async fn changed(&mut self) {
        match self {
            Self::Tools(changes) => {
                if changes.changed().await.is_err() {
                    std::future::pending().await
                }
            }
            Self::Output {
                process,
                events,
                over,
                untold,
            } => {
                if std::mem::take(untold) {
                    return;
                }
                if *over {
                    std::future::pending().await
                }
                while let Some(heard) = events.next().await {
                    if !concerns(&heard.event, process, over) {
                        continue;
                    }
                    // What was written meanwhile is the same change.
                    while let Some(Some(heard)) = events.next().now_or_never() {
                        concerns(&heard.event, process, over);
                    }
                    return;
                }
                std::future::pending().await
            }
        }
    }

    /// Tells of one change after the other, in peace, until that fails.
    pub(super) async fn tell<F: Future<Output = bool>>(mut self, tell: impl Fn() -> F) {
        loop {
            self.changed().await;
            if !tell().await {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Returns whether an event changes the output of a process, and notes when it is the last that does.
fn concerns(event: &Event, process: &str, over: &mut bool) -> bool {
    match event {
        Event::Output { process: of, .. } => of.id == process,
        Event::Process {
            process: of, state, ..
        } if of.id == process => {
            *over = !state.is_live();
            true
        }
        Event::ChatEnded => {
            *over = true;
            true
        }
        // What was missed may have been about it.
        Event::Reset(_) => true,
        _ => false,
    }
}
