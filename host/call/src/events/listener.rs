//! A listener to the events of a chat.

use std::sync::atomic::Ordering;

use tokio::sync::watch;

use super::buffer::{At, Found};
use super::hub::StartPosition;
use super::{Event, Events, Numbered, Reset};
use toolhost_state::id::ChatId;

/// A listener to the events of one chat, in order.
#[derive(Debug)]
pub struct Listener {
    events: Events,
    chat: ChatId,
    at: At,
    /// A reset that the listener hears before any other event.
    reset: Option<Reset>,
    changed: watch::Receiver<()>,
    reader: bool,
}

impl Listener {
    pub(super) fn new(events: Events, chat: ChatId, place: StartPosition, reader: bool) -> Self {
        Self {
            events,
            chat,
            at: place.at,
            reset: place.reset,
            changed: place.changed,
            reader,
        }
    }

    /// Returns the next event, once there is one; `None` if nothing can follow. Cancel safe.
    ///
    /// Output that follows other output of the same process may come under the same number.
    pub async fn next(&mut self) -> Option<Numbered> {
        loop {
            // Before looking, so that a change meanwhile wakes this listener.
            self.changed.mark_unchanged();
            if let Some(reset) = self.reset.take() {
                let resets = &self.events.shared.counters.resets;
                resets.fetch_add(1, Ordering::Relaxed);
                return Some(Numbered {
                    id: self.at.number,
                    event: Event::Reset(reset),
                });
            }
            let (chat, at) = (&self.chat, self.at);
            match self.events.change(|hub| hub.after(chat, at))? {
                Found::Event(event, at) => {
                    self.at = at;
                    return Some(event);
                }
                Found::Dropped(through) => {
                    self.at = At::after(through);
                    self.reset = Some(Reset::Behind);
                }
                Found::Nothing => self.changed.changed().await.ok()?,
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let (chat, reader) = (&self.chat, self.reader);
        self.events.change(|hub| hub.leave(chat, reader));
    }
}
