//! Making, listing and removing workspaces.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolhost_call::call::{Actor, WorkspaceError};
use toolhost_state::id::ChatId;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::process::{AllQuery, Info};
use toolhost_workspace::{Phase, ProviderError, Spec};

use super::entry::Entry;
use super::{MOST_WORKSPACES, Workspaces, unrecorded};
use crate::host::Host;

/// A workspace as lists show it.
#[derive(Clone, Debug)]
pub struct WorkspaceInfo {
    /// Its name.
    pub name: WorkspaceName,
    /// What it should be; `None` for the default workspace.
    pub spec: Option<Spec>,
    /// Its state.
    pub state: WorkspaceState,
    /// What is wrong: why it could not be opened the last time.
    pub problem: Option<String>,
    /// The parts of its specification that are not enforced, while it is open.
    pub gaps: Vec<String>,
    /// How many chats belong to it; `None` for the default workspace, to which all others belong.
    pub chats: Option<usize>,
    /// How many calls run in it; `None` for the default workspace.
    pub calls: Option<usize>,
    /// How many processes run or linger in it; `None` if the workspace cannot be asked.
    pub processes: Option<usize>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: Option<u64>,
    /// When a call last began or ended in it.
    pub used_ms: Option<u64>,
}

/// The state of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceState {
    /// The host has it open.
    Open,
    /// The next call opens it, and makes it if it is not there.
    Closed,
    /// It could not be opened the last time. The next call tries again.
    Failed,
    /// It is being removed.
    Removing,
    /// It has a machine of its own, which is in this phase.
    Machine(Phase),
}

/// When a workspace is removed or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// If nothing runs in it.
    Unused,
    /// If nothing runs in it, and no call has used it for this long.
    Idle(Duration),
    /// Whatever runs in it, which is ended.
    Forced,
}

/// A workspace that was removed or stopped.
#[derive(Clone, Debug)]
pub struct RemovedWorkspace {
    /// The processes that were live.
    pub ended: Vec<Info>,
}

/// The problem of an open workspace whose agent does not answer.
const SILENT: &str = "its agent does not answer";

/// How many processes live in each workspace; `None` where the agent of the workspace does not answer. A workspace without live processes
/// is left out.
type Live = BTreeMap<WorkspaceName, Option<usize>>;

impl Host {
    /// Makes a workspace. Its provider makes it when it is first used. Repeating that is no error, and may change after how long the
    /// workspace is removed. Returns whether the workspace is new.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::WorkspaceExists`] if there is another one of this name, and [`WorkspaceError::BoundedActor`] if it begins with
    /// files and the actor is bound to some tools.
    pub async fn put_workspace(
        &self,
        name: &WorkspaceName,
        spec: Option<Spec>,
        actor: &Actor,
    ) -> Result<bool, WorkspaceError> {
        if !actor.may_name(name) {
            return Err(WorkspaceError::ForeignWorkspace);
        }
        if name.is_default() {
            return Err(WorkspaceError::WorkspaceExists(name.clone()));
        }
        if spec.as_ref().is_some_and(Spec::has_files) && !actor.may_use_all() {
            return Err(WorkspaceError::BoundedActor);
        }
        if let Some(Spec::Template(spec)) = &spec
            && !actor.may_use_template(&spec.template)
        {
            return Err(WorkspaceError::ForeignTemplate(spec.template.clone()));
        }
        let workspaces = &self.inner.workspaces;
        let _turn = workspaces.turns.take(name).await;
        if spec.is_some() || workspaces.present_here(name).is_none() {
            workspaces.learn_now(name).await?;
        }
        let known = workspaces.table.lock().entries.get(name).map(Arc::clone);
        let present = known.as_ref().filter(|known| !known.is_removed());
        let spec = match (spec, present) {
            (None, Some(_)) => return Ok(false),
            (None, None) => workspaces.default_spec(name).await?,
            (Some(spec), Some(present)) if present.spec() == spec => return Ok(false),
            (Some(spec), Some(present)) if !present.spec().may_become(&spec) => {
                return Err(WorkspaceError::WorkspaceExists(name.clone()));
            }
            (Some(spec), _) => spec,
        };
        let is_new = present.is_none();
        let provider = workspaces.providers.of(&spec)?;
        provider.check(name, &spec).map_err(|error| match error {
            ProviderError::Invalid(text) => WorkspaceError::InvalidWorkspace(text),
            other => WorkspaceError::WorkspaceFailed {
                name: name.clone(),
                reason: other.to_string(),
            },
        })?;
        let principal = actor.name().to_owned();
        let changed = Entry::new(name.clone(), spec.clone(), principal);
        let mut stored = changed.stored();
        if let Some(present) = present {
            stored.principal = present.stored().principal;
            stored.created_ms = present.stored().created_ms;
        } else if workspaces.table.lock().entries.len() >= MOST_WORKSPACES {
            let text = format!("there are {MOST_WORKSPACES} workspaces, which is the most");
            return Err(WorkspaceError::TooManyWorkspaces(text));
        }
        let put = workspaces.store.put_workspace(stored).await;
        put.map_err(|error| unrecorded(&error))?;
        let entry = match known {
            Some(known) => {
                known.renew(spec.clone(), actor.name());
                known
            }
            None => Arc::new(changed),
        };
        workspaces.table.lock().put(name.clone(), entry);
        let event = match is_new {
            true => "workspace_created",
            false => "workspace_changed",
        };
        self.inner.audit.record(
            event,
            json!({
                "principal": actor.name(), "workspace": name.as_str(), "provider": spec.provider(),
            }),
        );
        Ok(is_new)
    }

    /// Returns at most `max` workspaces that the actor may name, by name: those whose names begin so and come after this one. Returns
    /// whether more follow.
    pub async fn workspaces(
        &self,
        prefix: &str,
        after: Option<&WorkspaceName>,
        max: usize,
        actor: &Actor,
    ) -> (Vec<WorkspaceInfo>, bool) {
        let default = WorkspaceName::of_default();
        let wanted = |name: &WorkspaceName| {
            name.as_str().starts_with(prefix)
                && actor.may_name(name)
                && after.is_none_or(|after| name > after)
        };
        let mut found: BTreeMap<WorkspaceName, Option<Arc<Entry>>> = {
            let table = self.inner.workspaces.table.lock();
            let after = after.map_or(Bound::Unbounded, Bound::Excluded);
            let all = table
                .entries
                .range::<WorkspaceName, _>((after, Bound::Unbounded));
            let all = all.filter(|(name, entry)| wanted(name) && !entry.is_removed());
            all.take(max + 1)
                .map(|(name, entry)| (name.clone(), Some(Arc::clone(entry))))
                .collect()
        };
        if wanted(&default) {
            found.insert(default, None);
        }
        let is_more = found.len() > max;
        let live = self.live_by_workspace().await;
        let infos = found.into_iter().take(max);
        let workspaces = &self.inner.workspaces;
        let infos =
            infos.map(|(name, entry)| workspaces.info(name, entry.as_deref(), live.as_ref()));
        (infos.collect(), is_more)
    }

    /// Returns a workspace.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::UnknownWorkspace`], or [`WorkspaceError::ForeignWorkspace`] if the actor may not name it.
    pub async fn workspace_info(
        &self,
        name: &WorkspaceName,
        actor: &Actor,
    ) -> Result<WorkspaceInfo, WorkspaceError> {
        if !actor.may_name(name) {
            return Err(WorkspaceError::ForeignWorkspace);
        }
        let entry = match name.is_default() {
            true => None,
            false => Some(self.inner.workspaces.present(name).await?),
        };
        let live = self.live_by_workspace().await;
        let workspaces = &self.inner.workspaces;
        Ok(workspaces.info(name.clone(), entry.as_deref(), live.as_ref()))
    }

    /// Removes a workspace: ends what runs in it, and has its provider remove everything that it made. Its chats stay with it: their
    /// calls are refused until there is a workspace of this name again. The work goes on if the caller drops the future.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::WorkspaceInUse`] if something runs in it, unless the removal is [`Removal::Forced`].
    pub async fn remove_workspace(
        &self,
        name: &WorkspaceName,
        removal: Removal,
        actor: &Actor,
    ) -> Result<RemovedWorkspace, WorkspaceError> {
        if !actor.may_name(name) {
            return Err(WorkspaceError::ForeignWorkspace);
        }
        if name.is_default() {
            return Err(WorkspaceError::DefaultWorkspace);
        }
        let (host, name, actor) = (self.clone(), name.clone(), actor.clone());
        let failed = {
            let name = name.clone();
            move |reason: String| WorkspaceError::WorkspaceFailed { name, reason }
        };
        let removing = tokio::spawn(async move { host.removed(&name, removal, &actor).await });
        removing
            .await
            .unwrap_or_else(|error| Err(failed(error.to_string())))
    }

    async fn removed(
        &self,
        name: &WorkspaceName,
        removal: Removal,
        actor: &Actor,
    ) -> Result<RemovedWorkspace, WorkspaceError> {
        let workspaces = &self.inner.workspaces;
        let _turn = workspaces.turns.take(name).await;
        let entry = workspaces.present(name).await?;
        let (ended, _reopens) = self.emptied(&entry, removal, actor).await?;
        // The provider first: a workspace of this name that is made later must never find the old files.
        if let Ok(provider) = workspaces.providers.of(&entry.spec()) {
            let removed = provider.remove(name, &entry.spec()).await;
            removed.map_err(|error| WorkspaceError::WorkspaceFailed {
                name: name.clone(),
                reason: error.to_string(),
            })?;
        }
        entry.remove();
        let stored = workspaces.store.put_workspace(entry.stored()).await;
        if let Err(error) = stored {
            entry.stay();
            return Err(unrecorded(&error));
        }
        self.inner.audit.record(
            "workspace_removed",
            json!({ "principal": actor.name(), "workspace": name.as_str(), "processes": ids(&ended) }),
        );
        Ok(RemovedWorkspace { ended })
    }

    /// Ends what runs in a workspace, in which no call begins until the second part of the result is dropped. Returns the processes that
    /// were live.
    pub(super) async fn emptied<'e>(
        &self,
        entry: &'e Arc<Entry>,
        removal: Removal,
        actor: &Actor,
    ) -> Result<(Vec<Info>, Reopens<'e>), WorkspaceError> {
        let (workspaces, name) = (&self.inner.workspaces, &entry.name);
        let calls = entry.close();
        let reopens = Reopens(entry);
        let processes = self.live_by_workspace().await;
        let processes = processes.and_then(|live| live.get(name).copied().unwrap_or(Some(0)));
        let is_in_use = calls > 0 || processes != Some(0);
        let stays = match removal {
            Removal::Forced => false,
            Removal::Unused => is_in_use,
            // A call may have run since the caller looked.
            Removal::Idle(idle) => is_in_use || entry.idle_for() < idle,
        };
        if removal != Removal::Forced && processes.is_none() {
            let reason = "it is not known whether something runs there, as its agent does not answer: remove it with force";
            return Err(WorkspaceError::WorkspaceFailed {
                name: name.clone(),
                reason: reason.into(),
            });
        }
        if stays {
            return Err(WorkspaceError::WorkspaceInUse {
                name: name.clone(),
                calls,
                processes: processes.unwrap_or_default(),
            });
        }
        let failed = |reason: String| WorkspaceError::WorkspaceFailed {
            name: name.clone(),
            reason,
        };
        let provider = workspaces.providers.of(&entry.spec()).ok();
        let phase = provider.and_then(|provider| provider.phase(name));
        let chats = match phase {
            // Nothing runs on a machine that does not.
            Some(Phase::Stopped) => Vec::new(),
            _ => workspaces.chats_of(entry),
        };
        let mut ended = Vec::new();
        for chat in chats {
            match self.end_chat(&chat, &Actor::new(actor.name())).await {
                Ok(ends) => ended.extend(ends),
                // An agent that is gone for good must not keep its workspace.
                Err(error) if entry.is_elsewhere() => {
                    tracing::warn!(workspace = %name, %chat, %error, "the processes of a chat could not be ended");
                }
                Err(error) => return Err(failed(error.to_string())),
            }
        }
        Ok((ended, reopens))
    }

    /// Returns the workspaces whose agents do not answer now, of those that were used since the host started.
    pub async fn agents_away(&self) -> Vec<WorkspaceName> {
        let live = self.inner.workspaces.live_elsewhere().await;
        let away = live.into_iter().filter(|(_, count)| count.is_none());
        away.map(|(name, _)| name).collect()
    }

    /// Returns how many processes live in each workspace; `None` if the workspaces cannot be asked.
    pub(super) async fn live_by_workspace(&self) -> Option<Live> {
        let query = AllQuery {
            running_only: true,
            max: usize::MAX,
            ..AllQuery::default()
        };
        let workspaces = &self.inner.workspaces;
        let all = workspaces.default.list_all(query).await.ok()?.processes;
        let mut live = Live::new();
        for process in all {
            let chat = process.owner.as_ref();
            let name = chat.map_or_else(WorkspaceName::of_default, |chat| workspaces.of_chat(chat));
            let count: &mut Option<usize> = live.entry(name).or_insert(Some(0));
            *count = count.map(|count| count + 1);
        }
        live.extend(workspaces.live_elsewhere().await);
        Some(live)
    }
}

/// Lets calls begin again in a workspace, when it is dropped.
pub(super) struct Reopens<'a>(&'a Entry);

impl Drop for Reopens<'_> {
    fn drop(&mut self) {
        self.0.reopen();
    }
}

impl Workspaces {
    /// Returns a workspace that was not removed, also one that another host has just made.
    pub(super) async fn present(&self, name: &WorkspaceName) -> Result<Arc<Entry>, WorkspaceError> {
        if let Some(entry) = self.present_here(name) {
            return Ok(entry);
        }
        self.learn_now(name).await?;
        self.present_here(name)
            .ok_or_else(|| WorkspaceError::UnknownWorkspace(name.clone()))
    }

    /// Returns a workspace that was not removed, as far as this host knows it.
    fn present_here(&self, name: &WorkspaceName) -> Option<Arc<Entry>> {
        let entry = self.table.lock().entries.get(name).map(Arc::clone);
        entry.filter(|entry| !entry.is_removed())
    }

    /// Asks the store for a workspace: the news of another host may be under way.
    async fn learn_now(&self, name: &WorkspaceName) -> Result<(), WorkspaceError> {
        let learnt = self.learn(name).await;
        learnt.map_err(|error| unrecorded(&error))
    }

    fn chats_of(&self, entry: &Arc<Entry>) -> Vec<ChatId> {
        let table = self.table.lock();
        let chats = table.chats.iter().filter(|(_, of)| Arc::ptr_eq(of, entry));
        chats.map(|(chat, _)| chat.clone()).collect()
    }

    fn info(
        &self,
        name: WorkspaceName,
        entry: Option<&Entry>,
        live: Option<&Live>,
    ) -> WorkspaceInfo {
        let processes = live.and_then(|live| live.get(&name).copied().unwrap_or(Some(0)));
        let Some(facts) = entry.map(Entry::facts) else {
            return WorkspaceInfo {
                name,
                spec: None,
                state: WorkspaceState::Open,
                problem: None,
                gaps: Vec::new(),
                chats: None,
                calls: None,
                processes,
                created_ms: None,
                used_ms: None,
            };
        };
        let provider = self.providers.of(&facts.spec).ok();
        let phase = provider.and_then(|provider| provider.phase(&name));
        let is_silent = facts.is_open && processes.is_none() && facts.spec.is_elsewhere();
        let problem = is_silent.then(|| SILENT.to_owned()).or(facts.problem);
        WorkspaceInfo {
            name,
            state: match (phase, facts.is_closing, facts.is_open, &problem) {
                (Some(phase), ..) => WorkspaceState::Machine(phase),
                (_, true, ..) => WorkspaceState::Removing,
                (_, _, true, _) => WorkspaceState::Open,
                (_, _, false, Some(_)) => WorkspaceState::Failed,
                (_, _, false, None) => WorkspaceState::Closed,
            },
            spec: Some(facts.spec),
            problem,
            gaps: facts.gaps,
            chats: Some(facts.chats),
            calls: Some(facts.calls),
            processes,
            created_ms: Some(facts.created_ms),
            used_ms: Some(facts.used_ms),
        }
    }
}

/// Returns the ids of processes, for the audit trail.
pub(super) fn ids(processes: &[Info]) -> Vec<&str> {
    processes.iter().map(|info| info.id.as_str()).collect()
}
