//! The reach of an actor that is bound to some tools or workspaces: calls of these, and their processes.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::Host;
use toolhost_call::call::{Actor, CallStatus, Reach};
use toolhost_state::id::{CallId, ChatId};
use toolhost_workspace::{Bounded, Owner, Sight, Workspace};

/// How many tools of ended calls are kept in memory. All are dropped when one more comes.
const MOST_TOOLS: usize = 16_384;

/// The tools of calls that have ended, as far as they were looked up.
#[derive(Debug, Default)]
pub(super) struct ToolsOfCalls(Mutex<HashMap<(ChatId, CallId), Arc<str>>>);

impl ToolsOfCalls {
    fn get(&self, chat: &ChatId, call: &CallId) -> Option<Arc<str>> {
        let key = (chat.clone(), call.clone());
        self.0.lock().get(&key).cloned()
    }

    fn put(&self, chat: &ChatId, call: &CallId, tool: &str) {
        let mut tools = self.0.lock();
        if tools.len() >= MOST_TOOLS {
            tools.clear();
        }
        tools.insert((chat.clone(), call.clone()), tool.into());
    }
}

impl Host {
    /// Returns whether the actor may see the effects of a call. An actor that is bound to some tools sees those of calls that
    /// are known to be of these tools, and nothing that happened without a call.
    pub async fn may_see_call(&self, actor: &Actor, chat: &ChatId, call: Option<&CallId>) -> bool {
        if !self.may_reach(actor, chat) {
            return false;
        }
        let call = match call {
            _ if actor.may_use_all() => return true,
            Some(call) => call,
            None => return false,
        };
        let known = &self.inner.tools_of_calls;
        if let Some(tool) = known.get(chat, call) {
            return actor.may_use(&tool);
        }
        match self.status(chat, call).await {
            // A tombstone does not tell of which tool an earlier call with its id was.
            Ok(Some(CallStatus::Tombstone { .. }) | None) | Err(_) => false,
            Ok(Some(status)) => {
                if let CallStatus::Ended(outcome) = &status {
                    known.put(chat, call, &outcome.tool);
                }
                status.is_visible_to(actor)
            }
        }
    }

    /// Returns whether the actor may see a process that was started under this key.
    pub async fn may_see_process(&self, actor: &Actor, chat: &ChatId, key: Option<&str>) -> bool {
        let call = key.and_then(CallId::of_start_key);
        self.may_see_call(actor, chat, call.as_ref()).await
    }

    /// Returns a workspace with the processes that the actor may see.
    pub fn seen_by(&self, actor: &Actor, workspace: &Arc<dyn Workspace>) -> Arc<dyn Workspace> {
        if actor.may_use_all() && !matches!(actor.workspaces(), Reach::Some(_)) {
            return Arc::clone(workspace);
        }
        let sight = OfActor {
            host: self.clone(),
            actor: actor.clone(),
        };
        Arc::new(Bounded::new(Arc::clone(workspace), Arc::new(sight)))
    }
}

/// The sight of an actor.
struct OfActor {
    host: Host,
    actor: Actor,
}

impl Sight for OfActor {
    fn sees<'a>(&'a self, owner: Owner<'a>, key: Option<&'a str>) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            match owner {
                Some(chat) => self.host.may_see_process(&self.actor, chat, key).await,
                None => false,
            }
        })
    }
}
