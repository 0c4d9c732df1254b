//! The host: plugins, a workspace and the call ledger, put together. What the command line and the server use.

mod builder;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::call::{Ledger, Outcome, Refused, Request};
use crate::capability::FilesGrant;
use crate::files::Pool;
use crate::id::ChatId;
use crate::plugin::{Context, Plugin};
use crate::process::{self, Info, Registry};
use crate::tool::Definition;
use crate::workspace::Workspace;

pub use builder::{Builder, StartError};

/// Runs tools for chats. Cheap to clone: clones share everything.
#[derive(Clone, Debug)]
pub struct Host {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    workspace: Arc<dyn Workspace>,
    /// Whether that is another one than the workspace on this machine.
    elsewhere: bool,
    /// Those of the workspace on this machine.
    processes: Arc<Registry>,
    files: Pool,
    files_grant: FilesGrant,
    ledger: Ledger,
    max_wait: Option<Duration>,
    /// Tools as callers see them, and behind each name the plugin that offers it under a name of its own.
    tools: Vec<Definition>,
    routes: HashMap<String, Route>,
    stopping: CancellationToken,
    calls: TaskTracker,
}

#[derive(Debug)]
struct Route {
    plugin: Arc<Plugin>,
    tool: String,
}

/// Why a request gets no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// There is no such tool.
    #[error("there is no tool {name:?}; the tools are {}", .known.join(", "))]
    UnknownTool {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The ledger refuses it.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl Host {
    /// Begins a host whose commands run in this directory.
    pub fn builder(workspace: impl Into<PathBuf>) -> Builder {
        Builder::new(workspace.into())
    }

    /// Returns the tools of all plugins.
    pub fn tools(&self) -> &[Definition] {
        &self.inner.tools
    }

    /// Returns the directory in which commands run.
    pub fn workspace(&self) -> &std::path::Path {
        self.inner.workspace.root()
    }

    /// Returns the processes of all chats, for those who may see them.
    pub fn processes(&self) -> &Arc<Registry> {
        &self.inner.processes
    }

    /// Returns the files of the workspace on this machine, for those who may see them.
    pub fn files(&self) -> &Pool {
        &self.inner.files
    }

    /// Returns what the embedded plugin may do with files, which holds for the agent API as well.
    pub fn files_grant(&self) -> FilesGrant {
        self.inner.files_grant
    }

    /// Returns the one outcome of a call. Repeats of it, at any time, get the same.
    ///
    /// Dropping the returned future does not end the call; [`Host::shutdown`] does.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. A tool that fails, whatever the reason, is no error: the outcome says so.
    pub async fn call(&self, request: Request) -> Result<Arc<Outcome>, CallError> {
        let inner = &self.inner;
        if !inner.routes.contains_key(&request.tool) {
            let known = inner.tools.iter().map(|tool| tool.name.clone()).collect();
            return Err(CallError::UnknownTool {
                name: request.tool,
                known,
            });
        }
        let request = Arc::new(request);
        Ok(inner.ledger.run(&request, || self.admit(&request)).await?)
    }

    /// Takes a place for a call, and returns what runs it.
    fn admit(
        &self,
        request: &Arc<Request>,
    ) -> Result<impl Future<Output = Outcome> + Send + use<>, Refused> {
        let inner = Arc::clone(&self.inner);
        if inner.stopping.is_cancelled() {
            return Err(Refused::Closed);
        }
        let gone = || Refused::Busy("the tool was just unloaded".into());
        let route = inner.routes.get(&request.tool).ok_or_else(gone)?;
        let admitted = route
            .plugin
            .admit()
            .map_err(|busy| Refused::Busy(busy.to_string()))?;
        let (plugin, tool, request) = (
            Arc::clone(&route.plugin),
            route.tool.clone(),
            Arc::clone(request),
        );
        let context = Context {
            workspace: Arc::clone(&inner.workspace),
            max_wait: inner.max_wait,
            cancelled: inner.stopping.child_token(),
        };
        let tracked = inner.calls.token();
        Ok(async move {
            let _tracked = tracked;
            plugin.call(admitted, &tool, request, context).await
        })
    }

    /// Ends every process of a chat, and returns those that were live.
    ///
    /// # Errors
    ///
    /// If the workspace cannot be reached.
    pub async fn end_chat(&self, chat: &ChatId) -> Result<Vec<Info>, process::Error> {
        self.inner.workspace.end_chat(chat).await
    }

    /// Cancels every call, waits for their replies, and ends every process. Returns the processes that were live.
    ///
    /// New calls are refused from here on.
    pub async fn shutdown(&self) -> Vec<Info> {
        self.inner.stopping.cancel();
        self.inner.calls.close();
        self.inner.calls.wait().await;
        let mut live = self.inner.workspace.shutdown().await;
        if self.inner.elsewhere {
            live.extend(self.inner.processes.shutdown().await);
        }
        live
    }

    /// Kills what is being ended at once, without the rest of its grace: somebody asked a second time.
    pub fn hurry(&self) {
        self.inner.workspace.hurry();
        self.inner.processes.hurry();
    }
}
