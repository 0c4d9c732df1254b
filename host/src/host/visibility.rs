//! The reach of an actor that is bound to some tools: calls of these tools, and their processes.

use std::sync::Arc;

use super::Host;
use crate::call::{Actor, CallStatus, Ledger, includes};
use toolhost_state::id::{CallId, ChatId};
use toolhost_workspace::{Bounded, Sees, Workspace};

impl Actor {
    /// Returns whether a call that stands like this is there for the actor.
    ///
    /// A call of which only the id is left is not there, because its tool is no longer known. A fence is there if it stops calls
    /// that the actor could make.
    pub(crate) fn may_see(&self, standing: &CallStatus) -> bool {
        match standing {
            CallStatus::Live { tool, .. } => self.may_use(tool),
            CallStatus::Ended(outcome) => self.may_use(&outcome.tool),
            CallStatus::Gone => self.may_use_all(),
            CallStatus::Fenced { tools } => match (tools, self.tools()) {
                (Some(_), Some(own)) => own.iter().any(|tool| includes(tools, tool)),
                (None, _) | (_, None) => true,
            },
        }
    }
}

impl Host {
    /// Returns whether what a call did is there for the actor. For one who may use some tools only, it is if the call is known
    /// to be of one of them; what no call did is not.
    pub(crate) fn may_see_call(&self, actor: &Actor, chat: &ChatId, call: Option<&CallId>) -> bool {
        may_see_call(&self.inner.ledger, actor, chat, call)
    }

    /// Returns whether a process that was started under this key is there for the actor.
    pub(crate) fn may_see_process(&self, actor: &Actor, chat: &ChatId, key: Option<&str>) -> bool {
        may_see_process(&self.inner.ledger, actor, chat, key)
    }

    /// Returns a workspace with the processes that are there for the actor.
    pub(super) fn seen_by(
        &self,
        actor: &Actor,
        workspace: &Arc<dyn Workspace>,
    ) -> Arc<dyn Workspace> {
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
        Some(CallStatus::Gone | CallStatus::Fenced { .. }) | None => false,
    }
}
