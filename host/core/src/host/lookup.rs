//! Lookup: which calls there are, in which chats, and the arguments of a call.

use toolhost_call::call::{Actor, CallPage, CallQuery, ChatPage, ChatQuery, StoreError};

use super::Host;
use toolhost_state::id::{CallId, ChatId};

impl Host {
    /// Returns a page of calls, newest first: calls of tools that the actor may use. Calls that run are among them.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn calls(&self, query: CallQuery, actor: &Actor) -> Result<CallPage, StoreError> {
        self.inner.ledger.calls(query, actor).await
    }

    /// Returns a page of chats, those with running calls first, for callers that may use all tools.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn chats(&self, query: ChatQuery) -> Result<ChatPage, StoreError> {
        self.inner.ledger.chats(query).await
    }

    /// Returns the arguments of a call as JSON; `None` if they are not kept, or if there is no such call.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn arguments(
        &self,
        chat: &ChatId,
        id: &CallId,
    ) -> Result<Option<String>, StoreError> {
        self.inner.ledger.arguments(chat, id).await
    }
}
