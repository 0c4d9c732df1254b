//! One workspace with a name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use toolhost_call::call::WorkspaceError;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_store::StoredWorkspace;
use toolhost_workspace::process::Subscriber;
use toolhost_workspace::{Opened, Provider, ProviderError, Spec, Workspace};

use super::of_one::OfOneWorkspace;
use super::{Need, Workspaces};
use toolhost_state::unix_time;

/// The last use is stored if it is newer than the stored one by this much.
const MINUTE_MS: u64 = 60_000;

/// A workspace with a name.
#[derive(Debug)]
pub(in crate::host) struct Entry {
    pub(super) name: WorkspaceName,
    state: Mutex<State>,
    /// Held while the provider opens the workspace.
    opening: tokio::sync::Mutex<()>,
    calls: AtomicUsize,
    chats: AtomicUsize,
    /// When a call last began or ended, in milliseconds since 1970.
    used_ms: AtomicU64,
}

/// The part of an entry that changes together.
#[derive(Debug)]
struct State {
    spec: Spec,
    principal: String,
    created_ms: u64,
    /// When it was removed.
    removed_ms: Option<u64>,
    /// Whether it is being removed: no call begins.
    is_closing: bool,
    open: Option<Opened>,
    /// Since when clients read the events of one of its chats, which then stays open; `None`: they read none.
    read_since: Option<Instant>,
    /// When it was closed last.
    closed: Option<Instant>,
    /// The subscriber of its events, if an agent sends them.
    subscriber: Option<Arc<dyn Subscriber>>,
    /// Why it could not be opened the last time.
    problem: Option<String>,
    /// The last use that the store has.
    stored_ms: u64,
}

/// A workspace in use. It is not closed while one of these exists.
#[derive(Debug)]
pub(in crate::host) struct InUse(Arc<Entry>);

/// The facts about an entry at one moment.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) spec: Spec,
    pub(super) created_ms: u64,
    pub(super) used_ms: u64,
    pub(super) calls: usize,
    pub(super) chats: usize,
    pub(super) is_open: bool,
    pub(super) is_closing: bool,
    pub(super) gaps: Vec<String>,
    pub(super) problem: Option<String>,
}

impl Entry {
    /// Makes an entry that was never opened.
    pub(super) fn new(name: WorkspaceName, spec: Spec, principal: String) -> Self {
        let now = unix_time::now_ms();
        Self {
            name,
            state: Mutex::new(State {
                spec,
                principal,
                created_ms: now,
                removed_ms: None,
                is_closing: false,
                open: None,
                read_since: None,
                closed: None,
                subscriber: None,
                problem: None,
                stored_ms: now,
            }),
            opening: tokio::sync::Mutex::default(),
            calls: AtomicUsize::new(0),
            chats: AtomicUsize::new(0),
            used_ms: AtomicU64::new(now),
        }
    }

    /// Makes the entry of a workspace of an earlier host.
    pub(super) fn of_stored(stored: StoredWorkspace) -> Result<Self, serde_json::Error> {
        let spec = serde_json::from_str(&stored.spec)?;
        let entry = Self::new(stored.name, spec, stored.principal);
        entry.used_ms.store(stored.used_ms, Ordering::Relaxed);
        {
            let mut state = entry.state.lock();
            state.created_ms = stored.created_ms;
            state.removed_ms = stored.removed_ms;
            state.stored_ms = stored.used_ms;
        }
        Ok(entry)
    }

    /// Returns the workspace as the store keeps it.
    pub(super) fn stored(&self) -> StoredWorkspace {
        let state = self.state.lock();
        StoredWorkspace {
            name: self.name.clone(),
            spec: serde_json::json!(state.spec).to_string(),
            principal: state.principal.clone(),
            created_ms: state.created_ms,
            used_ms: self.used_ms.load(Ordering::Relaxed),
            removed_ms: state.removed_ms,
        }
    }

    /// Keeps the workspace open, also while it is being removed.
    pub(super) fn hold(self: &Arc<Self>) -> Result<InUse, WorkspaceError> {
        match self.is_removed() {
            true => Err(WorkspaceError::UnknownWorkspace(self.name.clone())),
            false => Ok(InUse::new(self)),
        }
    }

    /// Notes the beginning of a call.
    pub(super) fn enter(self: &Arc<Self>) -> Result<InUse, WorkspaceError> {
        let state = self.state.lock();
        if state.removed_ms.is_some() {
            return Err(WorkspaceError::UnknownWorkspace(self.name.clone()));
        }
        if state.is_closing {
            return Err(WorkspaceError::Changing(self.name.clone()));
        }
        Ok(InUse::new(self))
    }

    pub(super) fn add_chat(&self) {
        self.chats.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn is_removed(&self) -> bool {
        self.state.lock().removed_ms.is_some()
    }

    /// Returns since when it was removed.
    pub(super) fn removed_ms(&self) -> Option<u64> {
        self.state.lock().removed_ms
    }

    pub(super) fn spec(&self) -> Spec {
        self.state.lock().spec.clone()
    }

    /// Returns the facts at this moment.
    pub(super) fn facts(&self) -> Facts {
        let state = self.state.lock();
        let gaps = state.open.as_ref().map(|open| open.gaps.clone());
        Facts {
            spec: state.spec.clone(),
            created_ms: state.created_ms,
            used_ms: self.used_ms.load(Ordering::Relaxed),
            calls: self.calls.load(Ordering::SeqCst),
            chats: self.chats.load(Ordering::Relaxed),
            is_open: state.open.is_some(),
            is_closing: state.is_closing,
            gaps: gaps.unwrap_or_default(),
            problem: state.problem.clone(),
        }
    }

    /// Replaces the specification. A workspace that was removed is there again, and empty.
    pub(super) fn renew(&self, spec: Spec, principal: &str) {
        let mut state = self.state.lock();
        if state.removed_ms.take().is_some() {
            state.created_ms = unix_time::now_ms();
            principal.clone_into(&mut state.principal);
            self.used_ms.store(state.created_ms, Ordering::Relaxed);
            state.problem = None;
        }
        if spec.is_elsewhere() && state.spec != spec {
            // The next call opens it where it is now.
            state.open = None;
            state.problem = None;
        }
        state.spec = spec;
    }

    /// Returns whether it could not be opened the last time.
    pub(super) fn has_problem(&self) -> bool {
        self.state.lock().problem.is_some()
    }

    /// Returns whether its processes are those of an agent.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.state.lock().spec.is_elsewhere()
    }

    /// Returns whether it is on a machine that the host makes and stops.
    pub(super) fn has_machine(&self) -> bool {
        matches!(self.state.lock().spec, Spec::Template(_))
    }

    /// Returns the workspace if it is open.
    pub(super) fn open(&self) -> Option<Arc<dyn Workspace>> {
        let state = self.state.lock();
        state.open.as_ref().map(|open| Arc::clone(&open.workspace))
    }

    /// Returns whether the workspace is open, and a start with a key runs once in it, also if host and workspace are started anew in between.
    pub(super) fn remembers_starts(&self) -> bool {
        let state = self.state.lock();
        state
            .open
            .as_ref()
            .is_some_and(|open| open.remembers_starts)
    }

    /// Lets no call begin from now on, until [`Entry::reopen`]. Returns how many calls run.
    pub(super) fn close(&self) -> usize {
        self.state.lock().is_closing = true;
        self.calls.load(Ordering::SeqCst)
    }

    /// Lets calls begin again.
    pub(super) fn reopen(&self) {
        self.state.lock().is_closing = false;
    }

    /// Notes that it is as it should be.
    pub(super) fn clear_problem(&self) {
        self.state.lock().problem = None;
    }

    /// Drops the open workspace. What runs in it goes on.
    pub(super) fn drop_open(&self) {
        let mut state = self.state.lock();
        if state.open.take().is_some() {
            state.closed = Some(Instant::now());
        }
    }

    /// Drops the open workspace, and marks the entry as removed.
    pub(super) fn remove(&self) {
        let mut state = self.state.lock();
        state.open = None;
        state.removed_ms = Some(unix_time::now_ms());
    }

    /// Takes the mark back.
    pub(super) fn stay(&self) {
        self.state.lock().removed_ms = None;
    }

    /// Drops the open workspace if no call has used it for this long, and no client reads the events of its chats. What runs in it goes on.
    pub(super) fn close_if_idle(&self, time: Duration) {
        let mut state = self.state.lock();
        let is_used = self.calls.load(Ordering::SeqCst) > 0 || state.read_since.is_some();
        if !is_used && self.idle_for() >= time && state.open.take().is_some() {
            state.closed = Some(Instant::now());
        }
    }

    /// Notes since when clients read the events of its chats; `None`: they read none. Returns whether it has to be opened for them.
    pub(super) fn read(&self, since: Option<Instant>) -> bool {
        let mut state = self.state.lock();
        state.read_since = since;
        since.is_some() && state.open.is_none() && state.removed_ms.is_none()
    }

    /// Returns for how long no call has used it.
    pub(super) fn idle_for(&self) -> Duration {
        let used = self.used_ms.load(Ordering::Relaxed);
        Duration::from_millis(unix_time::now_ms().saturating_sub(used))
    }

    /// Notes that it is in use now.
    pub(super) fn use_now(&self) {
        self.used_ms.store(unix_time::now_ms(), Ordering::Relaxed);
    }

    /// Returns whether the store should be told the present last use, and notes that it is.
    pub(super) fn takes_use(&self) -> bool {
        let mut state = self.state.lock();
        let used = self.used_ms.load(Ordering::Relaxed);
        let is_newer = used >= state.stored_ms.saturating_add(MINUTE_MS);
        if is_newer {
            state.stored_ms = used;
        }
        is_newer
    }
}

impl InUse {
    /// Returns whether the workspace is open, and a start with a key runs once in it.
    pub(in crate::host) fn remembers_starts(&self) -> bool {
        self.0.remembers_starts()
    }

    fn new(entry: &Arc<Entry>) -> Self {
        entry.calls.fetch_add(1, Ordering::SeqCst);
        entry.use_now();
        Self(Arc::clone(entry))
    }

    pub(in crate::host) fn name(&self) -> &WorkspaceName {
        &self.0.name
    }

    /// Returns the workspace if it is open.
    pub(super) fn open(&self) -> Option<Arc<dyn Workspace>> {
        self.0.open()
    }

    pub(super) fn spec(&self) -> Spec {
        self.0.spec()
    }

    /// Returns whether the workspace is on a machine that the host makes and stops.
    pub(super) fn has_machine(&self) -> bool {
        self.0.has_machine()
    }

    /// Opens the workspace unless it is open. If it begins with files that are not there yet, and there is a need, these are made.
    pub(super) async fn open_with(
        &self,
        provider: &dyn Provider,
        workspaces: &Arc<Workspaces>,
        need: Option<Need>,
    ) -> Result<Arc<dyn Workspace>, ProviderError> {
        let _turn = self.0.opening.lock().await;
        let (name, spec) = (&self.0.name, self.0.spec());
        if let Some(open) = self.open().filter(|_| provider.is_usable(name, &spec)) {
            return Ok(open);
        }
        let opened = match (provider.open(name, &spec).await, need) {
            (Err(ProviderError::NotMade), Some(need)) => {
                match need.make(provider, name, &spec).await {
                    Ok(()) => provider.open(name, &spec).await,
                    Err(error) => Err(error),
                }
            }
            (Err(ProviderError::Stopped), Some(need)) => {
                match need.start(provider, name, &spec).await {
                    Ok(()) => provider.open(name, &spec).await,
                    Err(error) => Err(error),
                }
            }
            (opened, _) => opened,
        };
        let mut state = self.0.state.lock();
        match opened {
            Ok(opened) => {
                state.problem = None;
                let workspace = Arc::clone(&opened.workspace);
                if state.spec.is_elsewhere() {
                    // Its readers have not heard what happened since they read, or since it was open.
                    let unheard = state.read_since.max(state.closed);
                    if let Some(since) = unheard.filter(|_| state.read_since.is_some()) {
                        workspace.hear_since(since.elapsed());
                    }
                    let of_one = OfOneWorkspace::new(self.0.name.clone(), workspaces);
                    let of_one: Arc<dyn Subscriber> = Arc::new(of_one);
                    workspace.subscribe(Arc::downgrade(&of_one));
                    state.subscriber = Some(of_one);
                }
                state.open = Some(opened);
                Ok(workspace)
            }
            // The next call that needs the machine makes or starts it.
            Err(error @ (ProviderError::Stopped | ProviderError::NotMade))
                if spec.is_elsewhere() =>
            {
                state.open = None;
                state.problem = None;
                Err(error)
            }
            Err(error) => {
                state.open = None;
                state.problem = Some(error.to_string());
                tracing::error!(workspace = %self.0.name, error = error.detail(), "a workspace cannot be opened");
                Err(error)
            }
        }
    }
}

impl Clone for InUse {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.use_now();
        self.0.calls.fetch_sub(1, Ordering::SeqCst);
    }
}
