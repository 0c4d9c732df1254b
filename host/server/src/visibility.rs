//! Visibility: which calls and processes of a chat a token with a list of tools may see.

use toolhost_call::call::CallStatus;
use toolhost_core::Host;
use toolhost_http::access::Principal;
use toolhost_state::id::{CallId, ChatId};

/// The visibility of calls and processes for a principal.
pub(crate) trait Visibility {
    /// Returns whether the principal may see a call of this status.
    fn may_see(&self, status: &CallStatus) -> bool;

    /// Returns whether the principal may see the effects of a call.
    fn may_see_call(&self, host: &Host, chat: &ChatId, call: Option<&CallId>) -> bool;

    /// Returns whether the principal may see a process that was started with this key.
    fn may_see_process(&self, host: &Host, chat: &ChatId, key: Option<&str>) -> bool;
}

impl Visibility for Principal {
    fn may_see(&self, status: &CallStatus) -> bool {
        status.is_visible_to(self.actor())
    }

    fn may_see_call(&self, host: &Host, chat: &ChatId, call: Option<&CallId>) -> bool {
        host.may_see_call(self.actor(), chat, call)
    }

    fn may_see_process(&self, host: &Host, chat: &ChatId, key: Option<&str>) -> bool {
        host.may_see_process(self.actor(), chat, key)
    }
}
