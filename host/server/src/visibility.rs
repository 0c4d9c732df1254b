//! Visibility: which chats a token that is bound to workspaces may use, and which calls and processes of a chat a token with a list of
//! tools may see.

use toolhost_call::call::{CallStatus, WorkspaceError};
use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::Problem;
use toolhost_state::id::{CallId, ChatId};

/// The visibility of calls and processes for a principal.
pub(crate) trait Visibility {
    /// Refuses the request if the principal lacks the scope, may not name the chat, or does not reach its workspace.
    fn require_chat_of(&self, host: &Host, scope: Scope, chat: &ChatId) -> Result<(), Problem>;

    /// Returns whether the principal may see a call of this status.
    fn may_see(&self, status: &CallStatus) -> bool;

    /// Returns whether the principal may see the effects of a call.
    fn may_see_call(
        &self,
        host: &Host,
        chat: &ChatId,
        call: Option<&CallId>,
    ) -> impl Future<Output = bool> + Send;

    /// Returns whether the principal may see a process that was started with this key.
    fn may_see_process(
        &self,
        host: &Host,
        chat: &ChatId,
        key: Option<&str>,
    ) -> impl Future<Output = bool> + Send;
}

impl Visibility for Principal {
    fn require_chat_of(&self, host: &Host, scope: Scope, chat: &ChatId) -> Result<(), Problem> {
        self.require_chat(scope, chat)?;
        match host.may_reach(self.actor(), chat) {
            true => Ok(()),
            false => Err(WorkspaceError::ForeignWorkspace.into()),
        }
    }

    fn may_see(&self, status: &CallStatus) -> bool {
        status.is_visible_to(self.actor())
    }

    async fn may_see_call(&self, host: &Host, chat: &ChatId, call: Option<&CallId>) -> bool {
        host.may_see_call(self.actor(), chat, call).await
    }

    async fn may_see_process(&self, host: &Host, chat: &ChatId, key: Option<&str>) -> bool {
        host.may_see_process(self.actor(), chat, key).await
    }
}
