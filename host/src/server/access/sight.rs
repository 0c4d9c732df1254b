//! What of a chat somebody sees who may only use some of the tools: what calls of these did.

use super::Principal;
use crate::call::Standing;
use crate::host::Host;
use crate::id::{CallId, ChatId};

impl Principal {
    /// Returns whether this is a call of a tool that it may use.
    pub(in crate::server) fn may_see(&self, standing: &Standing) -> bool {
        match standing {
            Standing::Live { tool, .. } => self.may_use(tool),
            Standing::Ended(outcome) => self.may_use(&outcome.tool),
            Standing::Gone | Standing::Fenced => true,
        }
    }

    /// Returns whether a call, and what it did, is there for this principal. For one that may only use some tools it is if it is
    /// known to be of one of them; what no call did is not, nor what a call did of which nothing is kept any more.
    pub(in crate::server) fn may_see_call(
        &self,
        host: &Host,
        chat: &ChatId,
        call: Option<&CallId>,
    ) -> bool {
        if self.may_use_all() {
            return true;
        }
        match call.and_then(|call| host.standing(chat, call)) {
            Some(Standing::Live { tool, .. }) => self.may_use(&tool),
            Some(Standing::Ended(outcome)) => self.may_use(&outcome.tool),
            Some(Standing::Gone | Standing::Fenced) | None => false,
        }
    }

    /// Returns whether a process that was started under this key is there for this principal, as [`Self::may_see_call`] says.
    pub(in crate::server) fn may_see_process(
        &self,
        host: &Host,
        chat: &ChatId,
        key: Option<&str>,
    ) -> bool {
        let call = || key.and_then(CallId::of_start_key);
        self.may_use_all() || self.may_see_call(host, chat, call().as_ref())
    }
}
