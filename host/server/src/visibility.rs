//! What of a chat a token with a list of tools may see: the calls of its tools, and their processes.

use toolhost_call::call::CallStatus;
use toolhost_core::Host;
use toolhost_http::access::Principal;
use toolhost_state::id::{CallId, ChatId};

/// The sight of a principal.
pub(crate) trait Visibility {
    /// Returns whether a call of this status is there for the principal.
    fn may_see(&self, status: &CallStatus) -> bool;

    /// Returns whether what a call did is there for the principal.
    fn may_see_call(&self, host: &Host, chat: &ChatId, call: Option<&CallId>) -> bool;

    /// Returns whether a process that was started with this key is there for the principal.
    fn may_see_process(&self, host: &Host, chat: &ChatId, key: Option<&str>) -> bool;
}

impl Visibility for Principal {
    fn may_see(&self, status: &CallStatus) -> bool {
        self.actor().may_see(status)
    }

    fn may_see_call(&self, host: &Host, chat: &ChatId, call: Option<&CallId>) -> bool {
        host.may_see_call(self.actor(), chat, call)
    }

    fn may_see_process(&self, host: &Host, chat: &ChatId, key: Option<&str>) -> bool {
        host.may_see_process(self.actor(), chat, key)
    }
}
