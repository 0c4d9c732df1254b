//! The sessions of a server, which the host keeps beyond the end of the server, also where it shares its chats with other hosts: a session
//! goes on at its host.

use toolhost_store::{Answer, OtherHost, Session};

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

    /// Returns the id of the machine of this host, by which the other hosts of its store know it; `None` if there are no others.
    pub fn machine(&self) -> Option<String> {
        self.inner.ledger.store().machine()
    }

    /// Returns the host of a machine; `None` if the store does not know it.
    ///
    /// # Errors
    ///
    /// If the store cannot be asked.
    pub fn host_of_machine(&self, machine: String) -> Answer<'_, Option<OtherHost>> {
        self.inner.ledger.store().host_of_machine(machine)
    }
}
