//! The providers of a host: one for each kind of workspace.

use std::sync::Arc;

use toolhost_call::call::WorkspaceError;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::{AgentSpec, DirectorySpec, Provider, Spec};

/// The providers of a host.
#[derive(Clone, Debug, Default)]
pub(in crate::host) struct Providers {
    pub(in crate::host) directories: Option<Arc<dyn Provider>>,
    pub(in crate::host) agents: Option<Arc<dyn Provider>>,
    pub(in crate::host) machines: Option<Arc<dyn Provider>>,
}

impl Providers {
    /// Returns the provider of such workspaces.
    pub(super) fn of(&self, spec: &Spec) -> Result<&Arc<dyn Provider>, WorkspaceError> {
        let provider = match spec {
            Spec::Directory(_) => &self.directories,
            Spec::Agent(_) => &self.agents,
            Spec::Template(_) => &self.machines,
        };
        let missing = || WorkspaceError::NoProvider(spec.provider());
        provider.as_ref().ok_or_else(missing)
    }

    /// Returns the specification that a workspace has if none is given: that of an agent, if one has the name, and else a directory.
    pub(super) fn default_spec(&self, name: &WorkspaceName) -> Spec {
        match self.agents.as_ref().is_some_and(|agents| agents.has(name)) {
            true => Spec::Agent(AgentSpec::default()),
            false => Spec::Directory(DirectorySpec::default()),
        }
    }
}
