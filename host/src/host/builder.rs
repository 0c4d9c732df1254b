//! Making a host: its parts, their order, and why it may not start.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Host, Inner, Route};
use crate::call::{self, Ledger};
use crate::capability::Grants;
use crate::plugin::{CacheError, CodeCache, Engine, EngineError, LoadError, Options, Plugin};
use crate::process;
use crate::state_dir::{StateDir, StateDirError};
use crate::tool::Definition;
use crate::workspace::{Local, OpenError, Workspace};

/// What a host is made of. [`Builder::start`] makes it.
#[derive(Debug)]
pub struct Builder {
    processes: process::Config,
    workspace: Option<Arc<dyn Workspace>>,
    code_cache: Option<PathBuf>,
    max_wait: Option<Duration>,
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
    #[error("plugin {name} cannot be loaded")]
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

impl Builder {
    pub(super) fn new(workspace: PathBuf) -> Self {
        Self {
            processes: process::Config::new(workspace),
            workspace: None,
            code_cache: None,
            max_wait: None,
            ledger_limits: call::Limits::default(),
            shell: true,
            plugins: Vec::new(),
        }
    }

    /// Keeps compiled code in this state directory, which any number of hosts may share. Without one, every start compiles.
    pub fn code_cache(mut self, path: impl Into<PathBuf>) -> Self {
        self.code_cache = Some(path.into());
        self
    }

    /// Replaces everything about processes, the workspace included. What the records of processes are kept in, and what
    /// forks supervisors for them, is said here.
    pub fn processes(mut self, config: process::Config) -> Self {
        self.processes = config;
        self
    }

    /// Has the tools run their commands in this workspace, which may be another machine. The agent API goes on to serve this
    /// one.
    pub fn workspace(mut self, workspace: Arc<dyn Workspace>) -> Self {
        self.workspace = Some(workspace);
        self
    }

    /// Runs every command below a supervisor that this forks, instead of in a plain process group.
    pub fn spawner(mut self, spawner: process::Spawner) -> Self {
        self.processes.spawner = Some(spawner);
        self
    }

    /// Bounds every single wait of a guest.
    pub fn max_wait(mut self, time: Duration) -> Self {
        self.max_wait = Some(time);
        self
    }

    /// Replaces the limits for processes.
    pub fn process_limits(mut self, limits: process::Limits) -> Self {
        self.processes.limits = limits;
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
        let local = Local::open(self.processes)?;
        let processes = Arc::clone(local.processes());
        let elsewhere = self.workspace.is_some();
        let workspace = self.workspace.unwrap_or_else(|| Arc::new(local));
        let cache = match &self.code_cache {
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
            elsewhere,
            processes,
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
