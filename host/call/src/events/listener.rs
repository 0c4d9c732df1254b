//! A listener to the events of a chat.

use super::buffer::{At, Found};
use super::hub::Place;
use super::{Event, Events, Numbered, Reset};
use toolhost_state::id::ChatId;

/// A listener to the events of one chat, in order.
#[derive(Debug)]
pub struct Listener {
    events: Events,
    chat: ChatId,
    place: Place,
    reader: bool,
}

impl Listener {
    pub(super) fn new(events: &Events, chat: &ChatId, place: Place, reader: bool) -> Self {
        let (events, chat) = (events.clone(), chat.clone());
        Self {
            events,
            chat,
            place,
            reader,
        }
    }

    /// Returns the next event, once there is one; `None` if nothing can follow. Cancel safe.
    ///
    /// Output that follows other output of the same process may come under the same number.
    pub async fn next(&mut self) -> Option<Numbered> {
        let place = &mut self.place;
        loop {
            // Before looking, so that a change meanwhile wakes this listener.
            place.changed.mark_unchanged();
            if let Some(reset) = place.reset.take() {
                self.events.hub.lock().stats.resets += 1;
                return Some(Numbered {
                    id: place.at.number,
                    event: Event::Reset(reset),
                });
            }
            let found = self.events.hub.lock().after(&self.chat, place.at);
            match found? {
                Found::Event(event, at) => {
                    place.at = at;
                    return Some(event);
                }
                Found::Dropped(through) => {
                    place.at = At::after(through);
                    place.reset = Some(Reset::Behind);
                }
                Found::Nothing => place.changed.changed().await.ok()?,
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.events.hub.lock().leave(&self.chat, self.reader);
    }
}
