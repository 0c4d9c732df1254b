//! A reader from outside that follows no single chat.

use super::Events;
use super::hub::Refused;

/// A reader that counts against the limit of all readers, until it is dropped.
#[derive(Debug)]
pub struct Reader {
    events: Events,
}

impl Events {
    /// Counts a reader from outside that follows all chats by other means.
    ///
    /// # Errors
    ///
    /// [`Refused`] if there are as many readers as there may be.
    pub fn count_reader(&self) -> Result<Reader, Refused> {
        self.hub.lock().enter()?;
        let events = self.clone();
        Ok(Reader { events })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let stats = &mut self.events.hub.lock().stats;
        stats.readers = stats.readers.saturating_sub(1);
    }
}
