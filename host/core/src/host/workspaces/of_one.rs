//! The events of one agent, as far as they concern this host.

use std::sync::{Arc, Weak};

use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::Owner;
use toolhost_workspace::process::{Denials, ProcessEvent, Subject, Subscriber};

use super::Workspaces;

/// A subscriber that gets only the events of the chats that belong to one workspace. Other clients of the agent may use the same names of
/// chats as this host.
#[derive(Debug)]
pub(super) struct OfOneWorkspace {
    name: WorkspaceName,
    workspaces: Weak<Workspaces>,
}

impl OfOneWorkspace {
    pub(super) fn new(name: WorkspaceName, workspaces: &Arc<Workspaces>) -> Self {
        Self {
            name,
            workspaces: Arc::downgrade(workspaces),
        }
    }

    fn pass(&self, owner: Owner<'_>, tell: impl Fn(&dyn Subscriber)) {
        let Some(workspaces) = self.workspaces.upgrade() else {
            return;
        };
        if workspaces.is_of(owner, &self.name) {
            let subscribers = workspaces.subscribers.lock().clone();
            let there = subscribers.iter().filter_map(Weak::upgrade);
            there.for_each(|subscriber| tell(&*subscriber));
        }
    }
}

impl Subscriber for OfOneWorkspace {
    fn event(&self, process: Subject<'_>, event: ProcessEvent<'_>) {
        self.pass(process.chat, |subscriber| subscriber.event(process, event));
    }

    fn denied(&self, denials: Denials<'_>) {
        self.pass(denials.chat, |subscriber| subscriber.denied(denials));
    }
}
