//! Lookup: which calls there are, in which chats, and the arguments of a call.

use toolhost_call::call::{Actor, CallPage, CallQuery, ChatPage, ChatQuery, StoreError};

use super::Host;
use toolhost_state::id::{CallId, ChatId};

impl Host {
    /// Returns a page of calls, newest first: calls of tools and in workspaces that the actor may use. Calls that run are among them.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn calls(&self, query: CallQuery, actor: &Actor) -> Result<CallPage, StoreError> {
        let mut page = self.inner.ledger.calls(query, actor).await?;
        page.calls.retain(|call| self.may_reach(actor, &call.chat));
        Ok(page)
    }

    /// Returns a page of chats in workspaces that the actor reaches, those with running calls first, for callers that may use all tools. A
    /// page can have fewer chats than its limit although more follow.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn chats(&self, query: ChatQuery, actor: &Actor) -> Result<ChatPage, StoreError> {
        let mut page = self.inner.ledger.chats(query).await?;
        page.chats.retain(|chat| self.may_reach(actor, &chat.chat));
        Ok(page)
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
