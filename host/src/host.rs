//! The host: plugins, a workspace and the call ledger, put together. What the command line and the server use.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::call::{self, Ledger, Outcome, Refused, Request};
use crate::capability::Grants;
use crate::id::ChatId;
use crate::plugin::{
    CacheError, CodeCache, Context, Engine, EngineError, LoadError, Options, Plugin,
};
use crate::process::{self, Info};
use crate::state_dir::{StateDir, StateDirError};
use crate::tool::Definition;
use crate::workspace::{Local, OpenError, Workspace};

/// Runs tools for chats. Cheap to clone: clones share everything.
#[derive(Clone, Debug)]
pub struct Host {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    workspace: Arc<dyn Workspace>,
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

/// What a host is made of. [`Builder::start`] makes it.
#[derive(Debug)]
pub struct Builder {
    workspace: PathBuf,
    state_dir: Option<PathBuf>,
    max_wait: Option<Duration>,
    process_limits: process::Limits,
    ledger_limits: call::Limits,
    shell: bool,
    plugins: Vec<(Vec<u8>, Options)>,
}

/// Why a host does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The workspace cannot be used.
    #[error(transparent)]
    Workspace(#[from] OpenError),
    /// The state directory cannot be used.
    #[error(transparent)]
    StateDir(#[from] StateDirError),
    /// The code cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Guests cannot run here.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A plugin does not load.
    #[error("plugin {name}: {source}")]
    Load {
        /// The name of the plugin.
        name: String,
        /// Why not.
        source: LoadError,
    },
    /// Two plugins have one name.
    #[error("two plugins are named {0:?}")]
    Duplicate(String),
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

impl Builder {
    /// Keeps compiled code in this directory. Without one, every start compiles.
    pub fn state_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(path.into());
        self
    }

    /// Bounds every single wait of a guest.
    pub fn max_wait(mut self, time: Duration) -> Self {
        self.max_wait = Some(time);
        self
    }

    /// Replaces the limits for processes.
    pub fn process_limits(mut self, limits: process::Limits) -> Self {
        self.process_limits = limits;
        self
    }

    /// Replaces the limits of the ledger.
    pub fn ledger_limits(mut self, limits: call::Limits) -> Self {
        self.ledger_limits = limits;
        self
    }

    /// Leaves out the embedded plugin `shell`.
    pub fn without_shell(mut self) -> Self {
        self.shell = false;
        self
    }

    /// Adds a plugin.
    pub fn plugin(mut self, component: impl Into<Vec<u8>>, options: Options) -> Self {
        self.plugins.push((component.into(), options));
        self
    }

    /// Starts the host: compiles and loads every plugin.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with I/O and time.
    pub async fn start(self) -> Result<Host, StartError> {
        let workspace = Arc::new(Local::open(&self.workspace, self.process_limits)?);
        let cache = match &self.state_dir {
            Some(path) => Some(CodeCache::open(&StateDir::open(path)?)?),
            None => None,
        };
        let engine = Engine::new(cache)?;
        let mut loaded: Vec<Arc<Plugin>> = Vec::new();
        let shell = Options {
            grants: Grants { processes: true },
            ..Options::new("shell")
        };
        let embedded = self
            .shell
            .then(|| (toolhost_artifacts::SHELL.to_vec(), shell));
        for (component, options) in embedded.into_iter().chain(self.plugins) {
            let name = options.name.clone();
            if loaded.iter().any(|plugin| plugin.name() == name) {
                return Err(StartError::Duplicate(name));
            }
            let plugin = Plugin::load(&engine, &component, options).await;
            loaded.push(plugin.map_err(|source| StartError::Load { name, source })?);
        }
        let (tools, routes) = route(&loaded);
        let inner = Inner {
            workspace,
            ledger: Ledger::new(self.ledger_limits),
            max_wait: self.max_wait,
            tools,
            routes,
            stopping: CancellationToken::new(),
            calls: TaskTracker::new(),
        };
        Ok(Host {
            inner: Arc::new(inner),
        })
    }
}

/// Gives every tool a name of its own: where two plugins offer one name, both become `plugin__tool`.
fn route(plugins: &[Arc<Plugin>]) -> (Vec<Definition>, HashMap<String, Route>) {
    let all = || {
        plugins
            .iter()
            .flat_map(|plugin| plugin.tools().iter().map(move |tool| (plugin, tool)))
    };
    let mut counts = HashMap::<&str, usize>::new();
    all().for_each(|(_, tool)| *counts.entry(&tool.name).or_default() += 1);
    let named = |plugin: &Plugin, tool: &Definition| match counts.get(tool.name.as_str()) {
        Some(1) => tool.name.clone(),
        _ => format!("{}__{}", plugin.name(), tool.name),
    };
    let tools = all()
        .map(|(plugin, tool)| Definition {
            name: named(plugin, tool),
            ..tool.clone()
        })
        .collect();
    let routes = all().map(|(plugin, tool)| {
        (
            named(plugin, tool),
            Route {
                plugin: Arc::clone(plugin),
                tool: tool.name.clone(),
            },
        )
    });
    (tools, routes.collect())
}

impl Host {
    /// Begins a host whose commands run in this directory.
    pub fn builder(workspace: impl Into<PathBuf>) -> Builder {
        Builder {
            workspace: workspace.into(),
            state_dir: None,
            max_wait: None,
            process_limits: process::Limits::default(),
            ledger_limits: call::Limits::default(),
            shell: true,
            plugins: Vec::new(),
        }
    }

    /// Returns the tools of all plugins.
    pub fn tools(&self) -> &[Definition] {
        &self.inner.tools
    }

    /// Returns the directory in which commands run.
    pub fn workspace(&self) -> &std::path::Path {
        self.inner.workspace.root()
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
        self.inner.workspace.shutdown().await
    }
}
