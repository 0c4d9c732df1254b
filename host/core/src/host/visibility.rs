//! The reach of an actor that is bound to some tools: calls of these tools, and their processes.

use std::sync::Arc;

use super::Host;
use toolhost_call::call::{Actor, CallStatus, Ledger};
use toolhost_state::id::{CallId, ChatId};
use toolhost_workspace::{Bounded, Sees, Workspace};

impl Host {
    /// Returns whether the actor may see the effects of a call. An actor that is bound to some tools sees those of calls that
    /// are known to be of these tools, and nothing that happened without a call.
    pub fn may_see_call(&self, actor: &Actor, chat: &ChatId, call: Option<&CallId>) -> bool {
        may_see_call(&self.inner.ledger, actor, chat, call)
    }

    /// Returns whether the actor may see a process that was started under this key.
    pub fn may_see_process(&self, actor: &Actor, chat: &ChatId, key: Option<&str>) -> bool {
        may_see_process(&self.inner.ledger, actor, chat, key)
    }

    /// Returns a workspace with the processes that the actor may see.
    pub fn seen_by(&self, actor: &Actor, workspace: &Arc<dyn Workspace>) -> Arc<dyn Workspace> {
        if actor.may_use_all() {
            return Arc::clone(workspace);
        }
        let (ledger, actor) = (self.inner.ledger.clone(), actor.clone());
        let sees: Sees = Arc::new(move |owner, key| {
            owner.is_some_and(|chat| may_see_process(&ledger, &actor, chat, key))
        });
        Arc::new(Bounded::new(Arc::clone(workspace), sees))
    }
}

fn may_see_process(ledger: &Ledger, actor: &Actor, chat: &ChatId, key: Option<&str>) -> bool {
    let call = || key.and_then(CallId::of_start_key);
    actor.may_use_all() || may_see_call(ledger, actor, chat, call().as_ref())
}

fn may_see_call(ledger: &Ledger, actor: &Actor, chat: &ChatId, call: Option<&CallId>) -> bool {
    if actor.may_use_all() {
        return true;
    }
    match call.and_then(|call| ledger.status(chat, call)) {
        Some(CallStatus::Live { tool, .. }) => actor.may_use(&tool),
        Some(CallStatus::Ended(outcome)) => actor.may_use(&outcome.tool),
        Some(CallStatus::Gone | CallStatus::Tombstone { .. }) | None => false,
    }
}
