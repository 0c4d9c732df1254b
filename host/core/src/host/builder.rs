//! The builder of a host: its parts, the order in which they start, and the errors of a start.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Host, Inner, PluginSet, PluginSource, Plugins, interrupted, observe};
use toolhost_call::approval::Approval;
use toolhost_call::audit::Audit;
use toolhost_call::call::{self, Durability, Ledger};
use toolhost_call::events::{self, Events};
use toolhost_call::metrics::Metrics;
use toolhost_local::files;
use toolhost_local::process;
use toolhost_local::{Local, OpenError};
use toolhost_plugin::Grants;
use toolhost_plugin::{CacheError, CodeCache, Compiler, Engine, EngineError, LoadError, Options};
use toolhost_state::state_dir::{StateDir, StateDirError};
use toolhost_store::{HostState, HostStateError, StoreError};
use toolhost_workspace::Workspace;
use toolhost_workspace::files::FilesGrant;
use toolhost_workspace::process::Subscriber;

impl Host {
    /// Returns a builder of a host whose commands run in this directory.
    pub fn builder(workspace: impl Into<PathBuf>) -> Builder {
        Builder::new(workspace.into())
    }
}

/// The parts of a host. [`Builder::start`] makes the host.
#[derive(Debug)]
pub struct Builder {
    processes: process::Config,
    workspace: Option<Arc<dyn Workspace>>,
    state_dir: Option<PathBuf>,
    kept: Option<StateDir>,
    state: Option<HostState>,
    file_roots: Vec<PathBuf>,
    files: FilesGrant,
    max_wait: Option<Duration>,
    ledger_limits: call::Limits,
    durability: Durability,
    event_limits: events::Limits,
    shell: bool,
    plugins: Vec<(Vec<u8>, Options)>,
    configured: PluginSet,
    audit: Audit,
    metrics: Metrics,
    approval: Approval,
    compiler: Option<Compiler>,
    guest_memory: Option<u64>,
}

/// The most bytes of arguments that are kept, if the operator allows it.
const KEPT_ARGUMENTS: usize = 64 << 10;

/// A reason why a host does not start.
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
    /// This machine cannot run guests.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A plugin does not load.
    #[error("plugin {name} cannot be loaded")]
    Load {
        /// The name of the plugin.
        name: String,
        /// The reason.
        source: LoadError,
    },
    /// The state that is kept cannot be opened.
    #[error(transparent)]
    Kept(#[from] HostStateError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The durability is [`Durability::Power`], and there is no state directory for the records of calls.
    #[error(
        "durability is power, and calls are not kept in a state directory: name one that no other host uses (--state-dir)"
    )]
    NotDurable,
    /// Two plugins have one name.
    #[error("two plugins are named {0:?}")]
    Duplicate(String),
}

impl Builder {
    fn new(workspace: PathBuf) -> Self {
        Self {
            processes: process::Config::new(workspace),
            workspace: None,
            state_dir: None,
            kept: None,
            state: None,
            file_roots: Vec::new(),
            files: FilesGrant::Write,
            max_wait: None,
            ledger_limits: call::Limits::default(),
            durability: Durability::default(),
            event_limits: events::Limits::default(),
            shell: true,
            plugins: Vec::new(),
            configured: PluginSet::default(),
            audit: Audit::default(),
            metrics: Metrics::default(),
            approval: Approval::default(),
            compiler: None,
            guest_memory: None,
        }
    }

    /// Keeps everything that a later start needs in this state directory: the calls and their outcomes, the processes and
    /// their output, and the files of [`Builder::state_dir`]. One host at a time can use it.
    ///
    /// # Errors
    ///
    /// If the directory cannot be used: see [`StateDir::open`].
    pub fn keep(mut self, path: impl Into<PathBuf>) -> Result<Self, StateDirError> {
        let path = path.into();
        self.kept = Some(StateDir::open(&path)?);
        Ok(self.state_dir(path))
    }

    /// Keeps compiled code in this state directory, which any number of hosts may share. Without it, every start compiles.
    pub fn state_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(path.into());
        self
    }

    /// Lets the tools reach the files of further directories, by absolute paths.
    pub fn file_roots(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.file_roots = paths.into_iter().collect();
        self
    }

    /// Keeps the arguments of calls of at most 64 KiB with their outcomes. Arguments may contain secrets. Call this after
    /// [`Builder::ledger_limits`], which replaces it.
    pub fn keep_arguments(mut self, keep: bool) -> Self {
        self.ledger_limits.arguments = if keep { KEPT_ARGUMENTS } else { 0 };
        self
    }

    /// Runs every command below a supervisor that this spawner forks, instead of in a plain process group.
    pub fn spawner(mut self, spawner: process::Spawner) -> Self {
        self.processes.spawner = Some(spawner);
        self
    }

    /// Replaces the policy of the sandbox of commands. Only a [spawner](Self::spawner) can confine them.
    pub fn sandbox(mut self, policy: process::Policy) -> Self {
        self.processes.sandbox = policy;
        self
    }

    /// Replaces the limits for processes.
    pub fn process_limits(mut self, limits: process::Limits) -> Self {
        self.processes.limits = limits;
        self
    }

    /// Leaves out the embedded plugin `shell`.
    pub fn without_shell(mut self) -> Self {
        self.shell = false;
        self
    }

    /// Adds a plugin, which must load.
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
        let cache = self.state_dir.as_deref().map(StateDir::open).transpose()?;
        let cache = cache.as_ref().map(CodeCache::open).transpose()?;
        let state = match (self.state, self.kept) {
            (Some(state), _) => state,
            (None, Some(directory)) => HostState::open(&directory, self.durability)?,
            (None, None) => HostState::temporary(std::env::temp_dir())?,
        };
        let keeps = state.directory().is_some() && state.durability() == self.durability;
        if self.durability == Durability::Power && !keeps {
            return Err(StartError::NotDurable);
        }
        let hidden = [self.state_dir.as_deref(), state.directory()];
        let hidden: Vec<PathBuf> = hidden
            .into_iter()
            .chain([self.audit.directory()])
            .flatten()
            .map(Into::into)
            .collect();
        let (workspace, local) = match self.workspace {
            Some(workspace) => (workspace, None),
            None => {
                let files = files::Config {
                    roots: self.file_roots,
                    hidden: hidden.clone(),
                    ..files::Config::new(self.processes.workspace.clone())
                };
                let local = Arc::new(Local::open(self.processes, files, &state).await?);
                (Arc::clone(&local) as Arc<dyn Workspace>, Some(local))
            }
        };
        let events = Events::new(self.event_limits);
        let subscribers: [Arc<dyn Subscriber>; 2] =
            [Arc::new(events.clone()), Arc::new(self.audit.clone())];
        for subscriber in &subscribers {
            workspace.subscribe(Arc::downgrade(subscriber));
        }
        let engine = Engine::with_compiler(cache, self.compiler)?
            .observed(self.audit.clone(), self.metrics.clone())
            .protecting(hidden);
        let engine = match self.guest_memory {
            Some(bytes) => engine.with_guest_memory(bytes),
            None => engine,
        };
        let plugins = Arc::new(Plugins::new(
            engine,
            Arc::clone(&workspace),
            self.audit.clone(),
            self.metrics.clone(),
        ));
        let embedded = embedded(self.shell, self.files);
        let mut names = Vec::new();
        for (component, options) in embedded.chain(self.plugins) {
            let name = options.name.clone();
            if names.contains(&name) {
                return Err(StartError::Duplicate(name));
            }
            names.push(name.clone());
            let added = plugins.add(PluginSource::bytes(component, options)).await;
            added.map_err(|source| StartError::Load { name, source })?;
        }
        plugins.apply(self.configured).await;
        let stopping = CancellationToken::new();
        let (ledger, interrupted) = Ledger::open(
            self.ledger_limits,
            (Arc::clone(state.store()), state.durability()),
            Some(Box::new(events.clone())),
            stopping.clone(),
        )
        .await?;
        interrupted::settle(&ledger, interrupted, &*workspace).await;
        let inner = Inner {
            workspace,
            local,
            counted: parking_lot::Mutex::default(),
            files_grant: self.files,
            ledger,
            events,
            _subscribers: subscribers,
            max_wait: self.max_wait,
            plugins,
            audit: self.audit,
            metrics: self.metrics,
            approval: self.approval,
            stopping,
            calls: TaskTracker::new(),
        };
        let inner = Arc::new(inner);
        inner.metrics.watch(&inner, observe::add_levels);
        Ok(Host { inner })
    }
}

/// Defines a method for each of these parts of a host, which replaces the part.
macro_rules! setters {
    ($($(#[$documentation:meta])* $part:ident: $kind:ty;)*) => {
        impl Builder {$(
            $(#[$documentation])*
            pub fn $part(mut self, $part: $kind) -> Self {
                self.$part = $part.into();
                self
            }
        )*}
    };
}

setters! {
    /// Bounds the time of each single wait of a guest.
    max_wait: Duration;
    /// Replaces the limits of the ledger.
    ledger_limits: call::Limits;
    /// Sets the failures that the records of calls and processes survive. They survive none unless a state directory keeps them:
    /// see [`Builder::keep`].
    durability: Durability;
    /// Keeps calls and processes in a state that is open already, in the place of [`Builder::keep`].
    state: HostState;
    /// Replaces the limits of the event buffers and their readers.
    event_limits: events::Limits;
    /// Has plugins compiled in processes of their own, instead of within this one.
    compiler: Compiler;
    /// Bounds the memory of all guests together, in bytes; without it, see
    /// [`Engine::with_guest_memory`](toolhost_plugin::Engine::with_guest_memory). Calls beyond it are refused as busy.
    guest_memory: u64;
    /// Sets the file access of the embedded plugin `files`, and of the agent API if it is offered. The default is read and
    /// write access to the whole workspace. With [`FilesGrant::None`] both are left out.
    files: FilesGrant;
    /// Adds the plugins of a configuration. One that does not load is logged and listed, and does not keep the host from
    /// starting. [`Host::apply`] changes them later.
    configured: PluginSet;
    /// Records calls, and the capabilities that plugins use, in this audit trail.
    audit: Audit;
    /// Counts in these metrics, which other hosts may share. By default, the host has metrics of its own.
    metrics: Metrics;
    /// Asks this approval hook before a tool runs that may destroy something.
    approval: Approval;
    /// Replaces everything about processes, the workspace and the spawner that forks their supervisors included.
    processes: process::Config;
    /// Has the tools run their commands in this workspace, which may be another machine. The settings of [`Host::builder`],
    /// [`Builder::processes`] and [`Builder::file_roots`] for a workspace on this machine have no effect then.
    workspace: Arc<dyn Workspace>;
}

/// The names of the plugins that are part of the program.
pub const EMBEDDED: [&str; 2] = ["shell", "files"];

/// Returns the plugins that are part of the program, with their grants.
fn embedded(shell: bool, files: FilesGrant) -> impl Iterator<Item = (Vec<u8>, Options)> {
    let with = |name, grants| Options {
        grants,
        ..Options::new(name)
    };
    let grants = Grants::default().with_processes();
    let shell = shell.then(|| (toolhost_artifacts::SHELL.to_vec(), with("shell", grants)));
    let grants = Grants::default().with_files(files);
    let offered = files != FilesGrant::None;
    let files = offered.then(|| (toolhost_artifacts::FILES.to_vec(), with("files", grants)));
    shell.into_iter().chain(files)
}
