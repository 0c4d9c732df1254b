//! Starting and stopping the machines of workspaces, and their logs.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolhost_call::call::{Actor, WorkspaceError};
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::{LogPage, ProviderError, Spec};

use super::entry::Entry;
use super::managing::ids;
use super::{Place, Removal, RemovedWorkspace, Workspaces};
use crate::host::Host;

/// How much a template is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TemplateUse {
    /// The workspaces that are made from it.
    pub workspaces: usize,
    /// The chats that belong to these workspaces.
    pub chats: usize,
}

impl Host {
    /// Returns how much each template is used, by its name; none that is not.
    pub fn template_uses(&self) -> BTreeMap<String, TemplateUse> {
        let mut uses = BTreeMap::<_, TemplateUse>::new();
        for entry in self.inner.workspaces.elsewhere() {
            let facts = entry.facts();
            if let Spec::Template(spec) = facts.spec {
                let of_one = uses.entry(spec.template).or_default();
                of_one.workspaces += 1;
                of_one.chats += facts.chats;
            }
        }
        uses
    }

    /// Returns the last lines about the machine of a workspace that came after so many: the output of its engine and of its start-up
    /// script. Empty for a workspace without a machine. Waits for the first such line for at most `wait`.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::UnknownWorkspace`], or [`WorkspaceError::ForeignWorkspace`] if the actor may not name it.
    pub async fn workspace_log(
        &self,
        name: &WorkspaceName,
        after: u64,
        wait: Duration,
        actor: &Actor,
    ) -> Result<LogPage, WorkspaceError> {
        let entry = self.named_by(name, actor).await?;
        let provider = self.inner.workspaces.providers.of(&entry.spec()).ok();
        let known = || provider.and_then(|provider| provider.log(name, after));
        if let (Some(provider), Some(_)) = (provider, known()) {
            // Without a line in time, the page is empty.
            _ = tokio::time::timeout(wait, provider.until_logged(name, after)).await;
        }
        Ok(known().unwrap_or_default())
    }

    /// Makes and starts the machine of a workspace, if it does not run, and returns when the workspace can be used. The work goes on if the
    /// caller drops the future.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::InvalidWorkspace`] if the workspace has no machine of its own.
    pub async fn start_workspace(
        &self,
        name: &WorkspaceName,
        actor: &Actor,
    ) -> Result<(), WorkspaceError> {
        let entry = self.named_by(name, actor).await?;
        check_machine(&entry)?;
        let workspaces = &self.inner.workspaces;
        let place = Place::Named(entry.enter()?);
        let need = || Some(workspaces.oversight().of_start(actor.name()));
        workspaces.opened(&place, need).await.map(drop)
    }

    /// Stops the machine of a workspace, and keeps its files. The work goes on if the caller drops the future.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::InvalidWorkspace`] if the workspace has no machine of its own, and [`WorkspaceError::WorkspaceInUse`] if something
    /// runs in it, unless this is [`Removal::Forced`].
    pub async fn stop_workspace(
        &self,
        name: &WorkspaceName,
        removal: Removal,
        actor: &Actor,
    ) -> Result<RemovedWorkspace, WorkspaceError> {
        let entry = self.named_by(name, actor).await?;
        check_machine(&entry)?;
        let (host, actor) = (self.clone(), actor.clone());
        let stopping = tokio::spawn(async move { host.stopped(&entry, removal, &actor).await });
        stopping.await.unwrap_or_else(|error| {
            Err(WorkspaceError::WorkspaceFailed {
                name: name.clone(),
                reason: error.to_string(),
            })
        })
    }

    async fn stopped(
        &self,
        entry: &Arc<Entry>,
        removal: Removal,
        actor: &Actor,
    ) -> Result<RemovedWorkspace, WorkspaceError> {
        let (workspaces, name) = (&self.inner.workspaces, &entry.name);
        if entry.is_removed() {
            return Err(WorkspaceError::UnknownWorkspace(name.clone()));
        }
        let provider = workspaces.providers.of(&entry.spec())?;
        let (ended, _reopens) = self.emptied(entry, removal, actor).await?;
        entry.drop_open();
        let stopped = provider.stop(name, &entry.spec()).await;
        self.inner.audit.record(
            "workspace_stopped",
            json!({
                "principal": actor.name(), "workspace": name.as_str(), "processes": ids(&ended),
                "error": stopped.as_ref().err().map(ProviderError::detail),
            }),
        );
        stopped.map_err(|error| WorkspaceError::WorkspaceFailed {
            name: name.clone(),
            reason: error.to_string(),
        })?;
        entry.clear_problem();
        Ok(RemovedWorkspace { ended })
    }

    /// Returns a workspace with a name that the actor may use.
    async fn named_by(
        &self,
        name: &WorkspaceName,
        actor: &Actor,
    ) -> Result<Arc<Entry>, WorkspaceError> {
        if !actor.may_name(name) {
            return Err(WorkspaceError::ForeignWorkspace);
        }
        if name.is_default() {
            return Err(WorkspaceError::DefaultWorkspace);
        }
        self.inner.workspaces.present(name).await
    }
}

impl Workspaces {
    /// Tells of each line that is logged about the machine of a place from now on. Does not return.
    pub(in crate::host) async fn tell_log(
        &self,
        place: &Place,
        mut tell: impl FnMut(String),
    ) -> Infallible {
        let Place::Named(used) = place else {
            return std::future::pending().await;
        };
        let (name, spec) = (used.name(), used.spec());
        let provider = self.providers.of(&spec).ok();
        let known = |after| provider.and_then(|provider| provider.log(name, after));
        let Some((provider, mut page)) = provider.zip(known(0)) else {
            return std::future::pending().await;
        };
        loop {
            provider.until_logged(name, page.next).await;
            page = known(page.next).unwrap_or_default();
            if let Some(line) = page.text.lines().next_back() {
                tell(line.to_owned());
            }
        }
    }
}

/// Checks that a workspace has a machine of its own.
fn check_machine(entry: &Entry) -> Result<(), WorkspaceError> {
    match entry.spec() {
        Spec::Template(_) => Ok(()),
        Spec::Directory(_) | Spec::Agent(_) => {
            let text = "only workspaces of the provider \"template\" are started and stopped";
            Err(WorkspaceError::InvalidWorkspace(text.into()))
        }
    }
}
