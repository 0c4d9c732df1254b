//! The host: plugins, workspaces and the call ledger, put together. The command line and the server use it.

mod admission;
mod approving;
mod builder;
mod connected;
mod embedded;
mod files;
mod health;
mod input;
mod interrupted;
mod links;
mod live;
mod lookup;
mod neighbours;
mod nested;
mod notices;
mod observe;
mod offer;
mod plugins;
mod ports;
mod readers;
mod sessions;
mod start_error;
mod stopping;
mod visibility;
mod workspaces;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, broadcast, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use toolhost_call::approval::Approval;
use toolhost_call::audit::{Audit, Audited, Trail};
use toolhost_call::call::{
    self, Actor, Begun, CallError, CallStatus, Cancelled, Ledger, Outcome, Refused, Request,
    WorkspaceError,
};
use toolhost_call::events::{Event, Events};
use toolhost_call::metrics::Metrics;
use toolhost_call::tool::Definition;
use toolhost_local::Local;
use toolhost_plugin::Cause;
use toolhost_state::id::{CallId, ChatId};
use toolhost_store::LocalStore;
use toolhost_workspace::Workspace;
use toolhost_workspace::files::FilesGrant;
use toolhost_workspace::process::{self, Info, Subscriber, Totals};

pub use builder::Builder;
pub use embedded::{
    EMBEDDED, FILES, FIND_TOOLS, RUN_SCRIPT, SCRIPT, USUAL_COMPONENTS, embedded_limits, find_tools,
    script,
};
pub use files::{ChatFiles, READ_TOOL, WRITE_TOOL};
pub use input::{INPUT_TOOL, InputError};
pub use links::{LINK, Link, LinkError, PublicAddress, SHARE_TOOL, Target};
pub use live::{CallNow, ProcessNow};
pub use offer::{Offer, ToolMode};
pub use plugins::{
    Component, Embedded, Latency, PluginChange, PluginError, PluginInfo, PluginSet, PluginSource,
    PluginState, library, name_of, named_files,
};
use plugins::{Listed, Plugins};
pub use ports::{OUTPUT_TOOL, PortError};
pub use start_error::StartError;
use toolhost_link::Agents;
use toolhost_machine::Machines;
use workspaces::Workspaces;
pub use workspaces::{
    Located, Removal, RemovedWorkspace, TemplateUse, WorkspaceInfo, WorkspaceState,
};

/// Runs tools for chats. Cheap to clone: clones share everything.
#[derive(Clone, Debug)]
pub struct Host {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    ledger: Ledger,
    /// The store of this host alone.
    records: Arc<dyn LocalStore>,
    /// All workspaces, for callers that do not know that of a chat.
    workspace: Arc<dyn Workspace>,
    workspaces: Arc<Workspaces>,
    /// The agents that this host uses, if it uses any.
    agents: Option<Arc<Agents>>,
    /// The machines that this host makes, if it has templates.
    machines: Option<Arc<Machines>>,
    /// The default workspace, if it is on this machine and the host opened it for itself.
    local: Option<Arc<Local>>,
    /// The totals of the workspace as of the last [`Host::observe`].
    counted: Mutex<Totals>,
    files_grant: FilesGrant,
    events: Events,
    /// The subscribers to the processes of the workspace; dropping them ends the subscription.
    _subscribers: [Arc<dyn Subscriber>; 2],
    max_wait: Option<Duration>,
    plugins: Arc<Plugins>,
    audit: Audit,
    metrics: Metrics,
    approval: Approval,
    stopping: CancellationToken,
    /// Is cancelled when no new call begins any more, which is before `stopping` if the host drains.
    draining: CancellationToken,
    /// Cancelled when calls may go on for a while and new ones are refused.
    leaving: CancellationToken,
    /// Is cancelled when a host that drains waits no longer for the calls that run.
    hurried: CancellationToken,
    /// Cancelled once all calls have ended for good.
    over: CancellationToken,
    calls: TaskTracker,
    /// Receives the causes of failed calls, if there is a reader.
    failures: Option<UnboundedSender<Cause>>,
    /// The calls that wait for their workspaces.
    queued: live::Queued,
    tools_of_calls: visibility::ToolsOfCalls,
    readers: Arc<readers::Readers>,
    offer: Offer,
    notices: Arc<notices::Board>,
    /// Ends the work on notices when the host is dropped.
    _watching: DropGuard,
    /// Tells of the chats in which tools were found.
    found: broadcast::Sender<ChatId>,
    /// Notified when the store should be told again which agents are connected.
    reconnected: Arc<Notify>,
    links: Arc<links::Links>,
}

impl Host {
    /// Returns the tools of all plugins, as they are at this moment, also those that only models of some formats are offered: what to show
    /// a model is in [`Host::offered`].
    pub fn tools(&self) -> Arc<[Definition]> {
        Arc::clone(&self.inner.plugins.table().tools)
    }

    /// Returns a receiver of the number of changes of the list of tools, with which to wait for the next change.
    pub fn tools_changed(&self) -> watch::Receiver<u64> {
        self.inner.plugins.changes()
    }

    /// Returns all plugins, also those that are turned off or do not load.
    pub fn plugins(&self) -> Vec<PluginInfo> {
        let table = self.inner.plugins.table();
        table.plugins.iter().map(Listed::now).collect()
    }

    /// Returns whether a plugin is being loaded for the first time, so that some tools are not there yet.
    pub fn is_loading(&self) -> bool {
        let table = self.inner.plugins.table();
        let mut plugins = table.plugins.iter();
        plugins.any(|plugin| plugin.now().state == PluginState::Loading)
    }

    /// Returns whether calls can be recorded, as far as the host knows: a store that several hosts share may be away.
    pub fn is_recording(&self) -> bool {
        self.inner.ledger.store().is_reachable()
    }

    /// Applies a configuration: loads plugins that are new or have changed, removes those that it no longer names, and leaves
    /// the others alone. A plugin that does not load is logged and listed. Its former version stays, unless its options have
    /// changed.
    ///
    /// Calls go on meanwhile. A call under way keeps the version that it began with.
    pub async fn apply(&self, set: PluginSet) {
        self.inner.plugins.apply(set).await;
        self.compare_offer();
    }

    /// Turns a plugin on or off, or loads it again.
    ///
    /// # Errors
    ///
    /// If there is no plugin of this name, or it does not load: then its former version stays.
    pub async fn change_plugin(
        &self,
        name: &str,
        change: PluginChange,
        actor: &Actor,
    ) -> Result<PluginInfo, PluginError> {
        self.inner.plugins.change(name, change, actor).await
    }

    /// Returns all workspaces as one, for callers that may see the processes of all chats. It starts the commands of a chat in the
    /// workspace of the chat. Its files are those of the default workspace.
    pub fn workspace(&self) -> &Arc<dyn Workspace> {
        &self.inner.workspace
    }

    /// Returns the default workspace if it is on this machine and the host opened it for itself; `None` if [`Builder::workspace`]
    /// named another.
    pub fn local(&self) -> Option<&Arc<Local>> {
        self.inner.local.as_ref()
    }

    /// Returns the audit trail.
    pub fn audit(&self) -> &Audit {
        &self.inner.audit
    }

    /// Returns the approval hook.
    pub fn approval(&self) -> &Approval {
        &self.inner.approval
    }

    /// Asks the workspace for its totals, which the metrics show from then on. If the workspace cannot be reached, nothing
    /// changes.
    pub async fn observe(&self) {
        if let Ok(status) = self.inner.workspace.status().await {
            *self.inner.counted.lock() = status.totals;
        }
    }

    /// Returns the metrics of the plugins, and of the workspace as of the last [`Host::observe`].
    pub fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// Returns the file access of the embedded plugin `files`, which holds for the agent API as well.
    pub fn files_grant(&self) -> FilesGrant {
        self.inner.files_grant
    }

    /// Returns the one outcome of a call. Repeats of it, at any time, get the same.
    ///
    /// Dropping the returned future does not end the call; [`Host::cancel`] and [`Host::shutdown`] do.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. A tool that fails, whatever the reason, is no error: the outcome says so.
    pub async fn call(&self, mut request: Request) -> Result<Arc<Outcome>, CallError> {
        let settled = self.settle_workspace(&mut request).await;
        let refused = |error: &CallError| self.inner.metrics.call_refused(error.reason());
        let elsewhere = match settled {
            Ok(()) => None,
            // The outcome of a call that has ended is in the store, whichever host ran it.
            Err(error) if error.other_host().is_some() && self.has_ended(&request).await => {
                Some(error)
            }
            Err(error) => return Err(error.into()).inspect_err(refused),
        };
        let workspaces = &self.inner.workspaces;
        workspaces.open_before_calls(&request.chat).await;
        let request = Arc::new(request);
        self.outcome(&request, elsewhere).await.inspect_err(refused)
    }

    /// Returns the outcome of a call. If it is new, runs it, unless its chat is at another host.
    async fn outcome(
        &self,
        request: &Arc<Request>,
        elsewhere: Option<WorkspaceError>,
    ) -> Result<Arc<Outcome>, CallError> {
        loop {
            let known = match self.inner.ledger.begin(request).await? {
                // Even if its plugin has been removed since.
                Begun::Known(known) => known,
                Begun::New(_) if let Some(error) = elsewhere => return Err(error.into()),
                Begun::New(permit) => {
                    let admitted = self.admit(request, &permit)?;
                    permit.run(admitted)?
                }
            };
            if let Some(outcome) = known.outcome().await? {
                return Ok(outcome);
            }
        }
    }

    async fn has_ended(&self, request: &Request) -> bool {
        let status = self.status(&request.chat, &request.id).await;
        matches!(status, Ok(Some(CallStatus::Ended(_) | CallStatus::Gone)))
    }

    /// Cancels a call, and returns once it has ended. The host sends SIGTERM to the processes that the call started in the
    /// foreground, and SIGKILL after the grace of 5 s. The guest has 2 s more to reply with the results so far. A call that has
    /// not arrived yet will not run when it arrives. The actor can only cancel calls of tools that it may use.
    ///
    /// If the host of the call was lost, its processes are ended in the same way, also if its outcome was unknown before.
    ///
    /// # Errors
    ///
    /// [`Refused::Closed`] if the host ends meanwhile. [`CallError::Workspace`] if the outcome of the call is unknown, and the workspace does
    /// not answer in which its processes may still run, or another host has it.
    pub async fn cancel(
        &self,
        chat: &ChatId,
        id: &CallId,
        actor: &Actor,
    ) -> Result<Cancelled, CallError> {
        let counts = match self.status(chat, id).await {
            Ok(Some(CallStatus::Live { tool, .. })) => actor.may_use(&tool),
            // The tombstone keeps the call from running, which is a cancellation as well.
            Ok(None) => true,
            Ok(Some(_)) | Err(_) => actor.may_use_all(),
        };
        if counts {
            let fields =
                json!({ "principal": actor.name(), "chat": chat.as_str(), "call": id.as_str() });
            self.inner.audit.record("call_cancelled", fields);
        }
        let cancelled = self.inner.ledger.cancel(chat, id, actor).await?;
        if let Cancelled::Ended(outcome) = &cancelled
            && outcome.state() == call::State::Unknown
            && actor.may_use(&outcome.tool)
        {
            self.end_rest(chat, id).await?;
        }
        Ok(cancelled)
    }

    /// Ends what a call of unknown outcome may have left running.
    async fn end_rest(&self, chat: &ChatId, id: &CallId) -> Result<(), WorkspaceError> {
        if self.inner.workspaces.is_removed(chat) {
            return Ok(());
        }
        match self.locate(chat, None).await {
            // Its processes ended with it, or are taken over and ended by its next run.
            Err(error) if error.other_host().is_some_and(|host| !host.has_lease) => return Ok(()),
            located => located?,
        };
        let ended = interrupted::end_rest(chat, id, &*self.inner.workspace).await;
        ended.map_err(|error| WorkspaceError::WorkspaceFailed {
            name: self.inner.workspaces.of_chat(chat),
            reason: format!(
                "{error}; commands of the call {id} may still run there: cancel it again"
            ),
        })
    }

    /// Sends a signal to everything that a process started, and returns the state of the process at that moment.
    ///
    /// # Errors
    ///
    /// If there is no such process for the actor, or the workspace cannot be reached.
    pub async fn signal(
        &self,
        chat: &ChatId,
        process: &str,
        signal: process::Signal,
        grace: Option<Duration>,
        actor: &Actor,
    ) -> Result<process::State, process::Error> {
        let workspace = &self.inner.workspace;
        let audited = Audited::new(self.seen_by(actor, workspace), self.trail_of(chat, actor));
        let workspace: &dyn Workspace = &audited;
        workspace.signal(Some(chat), process, signal, grace).await
    }

    /// Returns the trail of what an actor does in a chat without a call.
    fn trail_of(&self, chat: &ChatId, actor: &Actor) -> Trail {
        let (audit, metrics) = (self.inner.audit.clone(), self.inner.metrics.clone());
        Trail::of_client(audit, metrics, None, actor.name(), Some(chat), None)
    }

    /// Returns the status of a call; `None` if there is no such call in this chat.
    ///
    /// # Errors
    ///
    /// [`Refused::Unreadable`] if the store cannot say.
    pub async fn status(&self, chat: &ChatId, id: &CallId) -> Result<Option<CallStatus>, Refused> {
        self.inner.ledger.status(chat, id).await
    }

    /// Returns the machines that this host makes; `None` if it has no templates.
    pub fn machines(&self) -> Option<&Arc<Machines>> {
        self.inner.machines.as_ref()
    }

    /// Returns the agents that this host uses; `None` if it uses none.
    pub fn agents(&self) -> Option<&Arc<Agents>> {
        self.inner.agents.as_ref()
    }

    /// Returns the events of the chats, to listen to.
    pub fn events(&self) -> &Events {
        &self.inner.events
    }

    /// Returns the ledger of the calls.
    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }

    /// Returns how many calls run at this moment.
    pub fn running_calls(&self) -> usize {
        self.inner.calls.len()
    }

    /// Cancels every call of a chat, then ends every process of the chat, and returns the processes that were live. The work
    /// continues if the caller drops the future. If the actor is bound to some tools, only calls and processes of these tools
    /// are ended.
    ///
    /// # Errors
    ///
    /// If the workspace cannot be reached.
    pub async fn end_chat(
        &self,
        chat: &ChatId,
        actor: &Actor,
    ) -> Result<Vec<Info>, process::Error> {
        let (inner, chat, actor) = (Arc::clone(&self.inner), chat.clone(), actor.clone());
        let workspace = self.seen_by(&actor, &self.inner.workspace);
        let ending = tokio::spawn(async move {
            let closing = actor
                .may_use_all()
                .then(|| inner.ledger.refuse_new_calls(&chat));
            // A cancelled call ends its own processes. The result includes those that were live before, and those whose start
            // was under way.
            let before = workspace.list(Some(&chat), false, usize::MAX).await;
            let calls = inner.ledger.cancel_all(&chat, &actor).await;
            let after = workspace.list(Some(&chat), false, usize::MAX).await;
            let rest = workspace.end_chat(&chat).await?;
            let (before, _) = before?;
            let mut known: HashSet<_> = before.iter().map(|info| info.id.clone()).collect();
            let mut ended = before;
            ended.retain(|info| info.state.is_live());
            for info in after?.0.into_iter().chain(rest) {
                if known.insert(info.id.clone()) {
                    ended.push(info);
                }
            }
            if closing.is_some() {
                inner.ledger.end_chat(&chat).await;
            }
            drop(closing);
            let mut fields = json!({
                "principal": actor.name(),
                "chat": chat.as_str(),
                "calls": calls.iter().map(|call| call.id.as_str()).collect::<Value>(),
                "processes": ended.iter().map(|info| info.id.as_str()).collect::<Value>(),
            });
            if let (Some(tools), Some(fields)) = (actor.tools(), fields.as_object_mut()) {
                // Only the calls and processes of these tools were ended, so the chat goes on.
                fields.insert("tools".into(), json!(**tools));
            } else {
                inner.events.publish(&chat, Event::ChatEnded);
            }
            inner.audit.record("chat_ended", fields);
            Ok(ended)
        });
        let ended = ending.await;
        ended.unwrap_or_else(|error| Err(process::Error::Failed(error.to_string())))
    }
}
