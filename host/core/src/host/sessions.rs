//! The sessions of a server, which the store of the host keeps beyond the end of the server.

use toolhost_store::{Answer, Session};

use super::Host;

impl Host {
    /// Returns the sessions that the store has, also those of earlier hosts.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn stored_sessions(&self) -> Answer<'_, Vec<Session>> {
        self.inner.ledger.store().sessions()
    }

    /// Stores a session, or replaces it.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    pub fn store_session(&self, session: Session) -> Answer<'_, ()> {
        self.inner.ledger.store().put_session(session)
    }

    /// Removes a session from the store.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    pub fn forget_session(&self, id: String) -> Answer<'_, ()> {
        self.inner.ledger.store().remove_session(id)
    }
}
