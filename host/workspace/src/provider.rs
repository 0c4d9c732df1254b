//! Providers: where workspaces with a name come from.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolhost_state::secret::Secret;
use toolhost_state::workspace_name::WorkspaceName;

use super::Workspace;

/// Makes, opens and removes the workspaces of one kind.
pub trait Provider: fmt::Debug + Send + Sync {
    /// Checks that this provider can make such a workspace. Changes nothing.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Invalid`].
    fn check(&self, name: &WorkspaceName, spec: &Spec) -> Result<(), ProviderError>;

    /// Returns whether a workspace of this name is one of this provider if nothing else is said of it.
    fn has(&self, name: &WorkspaceName) -> bool {
        _ = name;
        true
    }

    /// Returns the agent that has to connect to this host before the workspace can be used, if it is not connected.
    fn awaits(&self, name: &WorkspaceName, spec: &Spec) -> Option<WorkspaceName> {
        _ = (name, spec);
        None
    }

    /// Opens a workspace. One that is not there is made empty. The host opens a workspace when a call needs it, once at a time, and drops
    /// it when it was idle for a while: what runs in it goes on.
    ///
    /// # Errors
    ///
    /// [`ProviderError::NotMade`] if it is not there and begins with files: [`Provider::make`] makes those. [`ProviderError::Stopped`] if it
    /// has to be started first: [`Provider::start`].
    fn open<'a>(
        &'a self,
        name: &'a WorkspaceName,
        spec: &'a Spec,
    ) -> BoxFuture<'a, Result<Opened, ProviderError>>;

    /// Makes a workspace that is not there, with the files with which it begins. This may start processes, all of them in workspaces that
    /// `watched` returned.
    fn make<'a>(
        &'a self,
        name: &'a WorkspaceName,
        spec: &'a Spec,
        watched: Watched<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        _ = (name, spec, watched);
        Box::pin(async { Ok(()) })
    }

    /// Removes everything that this provider made for a workspace. Nothing runs in the workspace any more. A workspace that was never
    /// opened is no error.
    fn remove<'a>(
        &'a self,
        name: &'a WorkspaceName,
        spec: &'a Spec,
    ) -> BoxFuture<'a, Result<(), ProviderError>>;

    /// Returns whether an open workspace can be used as it is. Otherwise the host opens it anew.
    fn is_usable(&self, name: &WorkspaceName, spec: &Spec) -> bool {
        _ = (name, spec);
        true
    }

    /// Starts a workspace that is stopped, so that it can be opened.
    fn start<'a>(
        &'a self,
        name: &'a WorkspaceName,
        spec: &'a Spec,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        _ = (name, spec);
        Box::pin(async { Err(ProviderError::without_machine()) })
    }

    /// Stops a workspace, and keeps its files. Nothing of a chat runs in it any more. One that does not run is no error.
    fn stop<'a>(
        &'a self,
        name: &'a WorkspaceName,
        spec: &'a Spec,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        _ = (name, spec);
        Box::pin(async { Err(ProviderError::without_machine()) })
    }

    /// Finds out in which phase a workspace is, if that is not known.
    fn look<'a>(&'a self, name: &'a WorkspaceName, spec: &'a Spec) -> BoxFuture<'a, ()> {
        _ = (name, spec);
        Box::pin(async {})
    }

    /// Returns the phase of a workspace as far as it is known; `None` for a workspace without a machine of its own.
    fn phase(&self, name: &WorkspaceName) -> Option<Phase> {
        _ = name;
        None
    }

    /// Returns the last lines about the making and starting of a workspace that came after so many; `None` if this provider keeps none.
    fn log(&self, name: &WorkspaceName, after: u64) -> Option<LogPage> {
        _ = (name, after);
        None
    }

    /// Waits until there are lines for a reader that had so many.
    fn until_logged<'a>(&'a self, name: &'a WorkspaceName, after: u64) -> BoxFuture<'a, ()> {
        _ = (name, after);
        Box::pin(std::future::pending())
    }

    /// Returns what happens to a workspace without a call or a process.
    fn idleness(&self, spec: &Spec) -> Idleness {
        Idleness {
            removed_after: spec.idle(),
            ..Idleness::default()
        }
    }
}

/// Lines of the log of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPage {
    /// The lines, each with its end.
    pub text: String,
    /// How many lines there were so far: the next page begins after them.
    pub next: u64,
}

/// The phase of a workspace that has a machine of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The machine is being made.
    Creating,
    /// The machine starts, its agent connects, or the start-up script runs.
    Starting,
    /// The workspace can be used.
    Ready,
    /// The workspace can be used, and its start-up script has failed.
    StartFailed,
    /// The workspace can be used, and its start-up script still runs after its time.
    StartTimeout,
    /// The machine is being stopped.
    Stopping,
    /// The machine does not run.
    Stopped,
    /// The machine could not be made, started or stopped, or its agent did not connect.
    Failed,
}

impl Phase {
    /// Returns whether the workspace can be used.
    pub fn is_up(self) -> bool {
        matches!(self, Self::Ready | Self::StartFailed | Self::StartTimeout)
    }
}

/// The fate of a workspace without a call or a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idleness {
    /// After how long it is stopped; `None`: never.
    pub stopped_after: Option<Duration>,
    /// After how long it is removed; `None`: never.
    pub removed_after: Option<Duration>,
    /// Whether a call in a stopped workspace is refused, and does not start it.
    pub stays_stopped: bool,
}

/// Returns a workspace that records the changes made through it.
pub type Watched<'a> = &'a (dyn Fn(Arc<dyn Workspace>) -> Arc<dyn Workspace> + Sync);

/// An open workspace.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The workspace.
    pub workspace: Arc<dyn Workspace>,
    /// The parts of its specification that are not enforced, and why. Each is a sentence for the operator.
    pub gaps: Vec<String>,
    /// Whether a start with a key runs once, also if host and workspace are started anew in between.
    pub remembers_starts: bool,
}

/// A reason why a provider cannot do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The specification is one that the provider cannot meet. Nothing was done.
    #[error("{0}")]
    Invalid(String),
    /// The system failed. It may succeed later.
    #[error("{0}")]
    Failed(String),
    /// The workspace cannot be reached now. Nothing was done.
    #[error("{0}")]
    Unreachable(String),
    /// The workspace is not there, and begins with files that were not made yet. Nothing was done.
    #[error("the workspace is not made yet")]
    NotMade,
    /// The workspace is stopped. Nothing was done.
    #[error("the workspace is stopped: start it with `toolhost workspaces start`")]
    Stopped,
    /// The operator refused to have the workspace made. Nothing was done.
    #[error("the workspace was not made: {0}")]
    NotApproved(String),
    /// A repository cannot be cloned. The client learns no reason: it chose the address, and the reason would tell which services this
    /// machine reaches.
    #[error("the repository cannot be cloned; the operator's log says why")]
    NotCloned {
        /// The reason with the last words of git, for the operator.
        reason: String,
    },
}

impl ProviderError {
    /// Returns the error of an operation on the machine of a workspace that has none.
    fn without_machine() -> Self {
        Self::Invalid("a workspace of this provider has no machine of its own".into())
    }

    /// Returns the error with its reason, for the operator.
    pub fn detail(&self) -> String {
        match self {
            Self::NotCloned { reason } => reason.clone(),
            other => other.to_string(),
        }
    }
}

/// What a workspace should be. The tag `provider` names its provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "provider", rename_all = "snake_case")]
pub enum Spec {
    /// A directory on the machine of the host.
    Directory(DirectorySpec),
    /// The workspace of an agent, which may be on another machine.
    Agent(AgentSpec),
    /// A machine that the host makes as a template of the operator says. The agent in it connects to the host.
    Template(TemplateSpec),
}

/// A workspace that is a directory, which the host makes when it is first used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DirectorySpec {
    /// The name of the template whose files it begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The repository that it begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSpec>,
    /// The most that its files may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// After how many seconds without a call or a process it is removed; `None`: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<u64>,
}

/// A workspace that an agent offers. Without any field, the operator's lookup URL is asked where the agent is; if there is none, the agent
/// has the name of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSpec {
    /// The name of an agent that the operator configured, or that connects to this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The address of the agent, with which the operator has to agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The token with which the agent at this address lets hosts in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Secret>,
}

/// A workspace on a machine of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateSpec {
    /// The name of the template.
    pub template: String,
    /// The values of its parameters. Those that are missing have their defaults.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
}

/// A repository to clone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitSpec {
    /// Its address, as `git clone` takes it.
    pub url: String,
    /// The branch or tag to check out; `None`: that of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// The most that the files of a workspace may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quota {
    /// Bytes on the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Files and directories, with the directory of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Whether a workspace whose quota cannot be enforced is refused. Otherwise it is made, and its state names the gap.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

impl GitSpec {
    /// Returns the address without its user information and query, which may hold credentials.
    pub fn shown_url(&self) -> String {
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        match self.credentials() {
            Some(credentials) => url.replacen(&format!("{credentials}@"), "…@", 1),
            None => url.to_owned(),
        }
    }

    /// Returns a text without the parts of the address that may hold credentials: its user information and its query.
    pub fn mask(&self, text: &str) -> String {
        let query = self.url.find(['?', '#']).and_then(|at| self.url.get(at..));
        let text = match query {
            Some(query) => text.replace(query, "?…"),
            None => text.to_owned(),
        };
        match self.credentials() {
            Some(credentials) => text.replace(&format!("{credentials}@"), "…@"),
            None => text,
        }
    }

    /// Returns the user information of the address, such as `user:password`.
    fn credentials(&self) -> Option<&str> {
        let (_, rest) = self.url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let (credentials, _) = authority.rsplit_once('@')?;
        Some(credentials)
    }
}

impl DirectorySpec {
    /// Returns whether its making writes files or starts processes.
    pub fn has_files(&self) -> bool {
        self.template.is_some() || self.git.is_some()
    }
}

impl Spec {
    /// Returns whether its making writes files or starts processes on this machine.
    pub fn has_files(&self) -> bool {
        match self {
            Self::Directory(spec) => spec.has_files(),
            Self::Agent(_) => false,
            Self::Template(_) => true,
        }
    }

    /// Returns the name of its provider.
    pub fn provider(&self) -> &'static str {
        match self {
            Self::Directory(_) => "directory",
            Self::Agent(_) => "agent",
            Self::Template(_) => "template",
        }
    }

    /// Returns after how long without a call or a process the workspace is removed; `None`: never.
    pub fn idle(&self) -> Option<Duration> {
        match self {
            Self::Directory(spec) => spec.idle_seconds.map(Duration::from_secs),
            Self::Agent(_) | Self::Template(_) => None,
        }
    }

    /// Returns whether a workspace of this specification becomes one of the other without being made anew.
    pub fn may_become(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Directory(this), Self::Directory(other)) => {
                this.template == other.template
                    && this.git == other.git
                    && this.quota == other.quota
            }
            // The agent may have moved, or have another token.
            (Self::Agent(this), Self::Agent(other)) => {
                this.agent == other.agent && this.url.is_some() == other.url.is_some()
            }
            _ => false,
        }
    }

    /// Returns whether its processes are those of an agent, and not of this host.
    pub fn is_elsewhere(&self) -> bool {
        matches!(self, Self::Agent(_) | Self::Template(_))
    }
}

impl Default for Spec {
    /// An empty directory.
    fn default() -> Self {
        Self::Directory(DirectorySpec::default())
    }
}
