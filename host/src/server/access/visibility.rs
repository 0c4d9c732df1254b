//! The calls and processes of a chat that a token with a list of tools may see: those of its tools.

use super::Principal;
use toolhost_call::call::CallStatus;
use toolhost_core::Host;
use toolhost_state::id::{CallId, ChatId};

impl Principal {
    /// Returns whether a call that stands like this is there for this principal.
    pub(in crate::server) fn may_see(&self, standing: &CallStatus) -> bool {
        self.actor().may_see(standing)
    }

    /// Returns whether what a call did is there for this principal.
    pub(in crate::server) fn may_see_call(
        &self,
        host: &Host,
        chat: &ChatId,
        call: Option<&CallId>,
    ) -> bool {
        host.may_see_call(self.actor(), chat, call)
    }

    /// Returns whether a process that was started under this key is there for this principal.
    pub(in crate::server) fn may_see_process(
        &self,
        host: &Host,
        chat: &ChatId,
        key: Option<&str>,
    ) -> bool {
        host.may_see_process(self.actor(), chat, key)
    }
}
