//! The sessions of a server, which the host keeps beyond the end of the server, also where it shares its chats with other hosts: a session
//! goes on at its host.

use toolhost_store::{Answer, Session};

use super::Host;

impl Host {
    /// Returns the sessions that the store has, also those of earlier hosts.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn stored_sessions(&self) -> Answer<'_, Vec<Session>> {
        self.inner.records.sessions()
    }

    /// Stores a session, or replaces it.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    pub fn store_session(&self, session: Session) -> Answer<'_, ()> {
        self.inner.records.put_session(session)
    }

    /// Removes a session from the store.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    pub fn forget_session(&self, id: String) -> Answer<'_, ()> {
        self.inner.records.remove_session(id)
    }
}
