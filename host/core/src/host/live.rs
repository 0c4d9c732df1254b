//! Running calls and processes of all chats, at this moment.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use toolhost_call::call::LiveCall;
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::process::{
    AllQuery, Error, MAX_OBSERVED, Observation, Owned, ProcessName, Usage,
};

use super::Host;

/// A call that runs, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallNow {
    /// The call.
    pub call: LiveCall,
    /// Whether it waits for its workspace to be opened.
    pub is_queued: bool,
    /// The workspace of its chat.
    pub workspace: WorkspaceName,
}

/// A process, what it uses and last wrote, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessNow {
    /// The process.
    pub process: Owned,
    /// Its use, if it lives and its use is known.
    pub usage: Option<Usage>,
    /// The last line of its output, if it is in memory.
    pub last_line: Option<String>,
    /// The workspace of its chat.
    pub workspace: WorkspaceName,
}

/// The calls that wait for their workspaces.
#[derive(Clone, Debug, Default)]
pub(super) struct Queued(Arc<Mutex<HashSet<(ChatId, CallId)>>>);

/// A call that waits, until this is dropped.
pub(super) struct Waiting {
    queued: Queued,
    key: (ChatId, CallId),
}

impl Queued {
    /// Notes that a call waits.
    pub(super) fn wait(&self, chat: &ChatId, id: &CallId) -> Waiting {
        let key = (chat.clone(), id.clone());
        self.0.lock().insert(key.clone());
        Waiting {
            queued: self.clone(),
            key,
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.queued.0.lock().remove(&self.key);
    }
}

impl Host {
    /// Returns the calls that run, the longest first.
    pub fn calls_now(&self) -> Vec<CallNow> {
        let mut calls = self.inner.ledger.live();
        calls.sort_by(|one, other| {
            let order = |call: &LiveCall| (call.since, call.chat.clone(), call.id.clone());
            order(one).cmp(&order(other))
        });
        let queued = self.inner.queued.0.lock().clone();
        let with_place = |call: LiveCall| CallNow {
            is_queued: queued.contains(&(call.chat.clone(), call.id.clone())),
            workspace: self.workspace_of(&call.chat),
            call,
        };
        calls.into_iter().map(with_place).collect()
    }

    /// Returns the processes that live, in the order of lists, with what they use and last wrote: 4,096 at most; and the workspaces whose
    /// agents do not answer, so that their processes are missing.
    ///
    /// # Errors
    ///
    /// If the default workspace cannot be reached.
    pub async fn processes_now(&self) -> Result<(Vec<ProcessNow>, Vec<String>), Error> {
        let query = AllQuery {
            running_only: true,
            max: MAX_OBSERVED,
            ..AllQuery::default()
        };
        let listed = self.inner.workspace.list_all(query).await?;
        let processes = self.with_observations(listed.processes).await;
        Ok((processes, listed.unanswered))
    }

    /// Adds to processes what they use and last wrote. Where that is not known, as with an agent of an earlier version, it is missing.
    pub async fn with_observations(&self, listed: Vec<Owned>) -> Vec<ProcessNow> {
        let names: Vec<_> = listed.iter().map(ProcessName::from).collect();
        let observed = self.inner.workspace.observe(names).await;
        let mut observed: std::collections::HashMap<_, _> = observed
            .unwrap_or_default()
            .into_iter()
            .map(|one| (one.process.clone(), one))
            .collect();
        let now = |process: Owned| {
            let found = observed.remove(&ProcessName::from(&process));
            let (usage, last_line) =
                found.map_or((None, None), |one: Observation| (one.usage, one.last_line));
            let workspace = match &process.owner {
                Some(chat) => self.workspace_of(chat),
                None => WorkspaceName::of_default(),
            };
            ProcessNow {
                process,
                usage,
                last_line,
                workspace,
            }
        };
        listed.into_iter().map(now).collect()
    }
}
