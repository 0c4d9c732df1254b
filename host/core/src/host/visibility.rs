//! The reach of an actor that is bound to some tools or workspaces: calls of these, and their processes.

use std::sync::Arc;

use futures_util::FutureExt;

use super::Host;
use toolhost_call::call::{Actor, CallStatus, Reach};
use toolhost_state::id::{CallId, ChatId};
use toolhost_workspace::{Bounded, Sees, Workspace};

impl Host {
    /// Returns whether the actor may see the effects of a call. An actor that is bound to some tools sees those of calls that
    /// are known to be of these tools, and nothing that happened without a call.
    pub fn may_see_call(&self, actor: &Actor, chat: &ChatId, call: Option<&CallId>) -> bool {
        // A store that is not asked over a network answers at once.
        let status = || self.status(chat, call?).now_or_never().flatten();
        self.may_reach(actor, chat)
            && (actor.may_use_all()
                || match status() {
                    // A tombstone does not tell of which tool an earlier call with its id was.
                    Some(CallStatus::Tombstone { .. }) | None => false,
                    Some(status) => status.is_visible_to(actor),
                })
    }

    /// Returns whether the actor may see a process that was started under this key.
    pub fn may_see_process(&self, actor: &Actor, chat: &ChatId, key: Option<&str>) -> bool {
        let call = || key.and_then(CallId::of_start_key);
        match actor.may_use_all() {
            true => self.may_reach(actor, chat),
            false => self.may_see_call(actor, chat, call().as_ref()),
        }
    }

    /// Returns a workspace with the processes that the actor may see.
    pub fn seen_by(&self, actor: &Actor, workspace: &Arc<dyn Workspace>) -> Arc<dyn Workspace> {
        if actor.may_use_all() && !matches!(actor.workspaces(), Reach::Some(_)) {
            return Arc::clone(workspace);
        }
        let (host, actor) = (self.clone(), actor.clone());
        let sees: Sees = Arc::new(move |owner, key| {
            owner.is_some_and(|chat| host.may_see_process(&actor, chat, key))
        });
        Arc::new(Bounded::new(Arc::clone(workspace), sees))
    }
}
