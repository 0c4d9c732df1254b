//! The builder of a host: its parts, and the order in which they start.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::links::Links;
use super::notices::Board;
use super::workspaces::{Oversight, Providers, Routed, Workspaces, keep_up};
use super::{
    Host, Inner, Offer, PluginSet, PluginSource, Plugins, StartError, connected, embedded,
    interrupted, live, neighbours, observe, offer, readers,
};
use toolhost_call::approval::Approval;
use toolhost_call::audit::Audit;
use toolhost_call::call::{self, Durability, Ledger};
use toolhost_call::events::{self, Events};
use toolhost_call::metrics::Metrics;
use toolhost_call::notice::Courier;
use toolhost_link::{Agents, AgentsConfig};
use toolhost_local::files;
use toolhost_local::process;
use toolhost_local::{ClaimedDirectories, DirectoriesConfig, Local};
use toolhost_machine::{Machines, Template};
use toolhost_plugin::{Cause, CodeCache, Compiler, Engine, Options};
use toolhost_state::id::ChatId;
use toolhost_state::state_dir::{StateDir, StateDirError};
use toolhost_store::HostState;
use toolhost_workspace::files::FilesGrant;
use toolhost_workspace::process::Subscriber;
use toolhost_workspace::{Provider, Workspace};

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
    directories: Option<DirectoriesConfig>,
    agents: Option<AgentsConfig>,
    templates: BTreeMap<String, Template>,
    workspace: Option<Arc<dyn Workspace>>,
    state_dir: Option<PathBuf>,
    shared_code: Option<PathBuf>,
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
    only: Option<(ChatId, String)>,
    failures: Option<UnboundedSender<Cause>>,
    offer: Offer,
    courier: Option<Arc<dyn Courier>>,
}

/// The most bytes of arguments that are kept, if the operator allows it.
const KEPT_ARGUMENTS: usize = 64 << 10;

impl Builder {
    fn new(workspace: PathBuf) -> Self {
        Self {
            processes: process::Config::new(workspace),
            directories: None,
            agents: None,
            templates: BTreeMap::new(),
            workspace: None,
            state_dir: None,
            shared_code: None,
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
            only: None,
            failures: None,
            offer: Offer::default(),
            courier: None,
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

    /// Keeps compiled code in this directory instead, if it can be used: one that all hosts of a user share, whatever their state
    /// directories are. It needs a state directory.
    pub fn shared_code(mut self, path: impl Into<PathBuf>) -> Self {
        self.shared_code = Some(path.into());
        self
    }

    /// Lets the tools reach the files of further directories, by absolute paths.
    pub fn file_roots(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.file_roots = paths.into_iter().collect();
        self
    }

    /// Lets live processes run on when this host ends, in whatever way, until the next host of the same state takes them over. If none has
    /// come after this time, they are ended. Needs a spawner and a state that outlives the host: [`Builder::start`] fails without.
    pub fn keep_processes(mut self, time: Option<Duration>) -> Self {
        self.processes.keep = time;
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

    /// Starts a host for a single call of this tool. It loads no embedded plugin after the one that offers the tool, unless there are
    /// other plugins, or settings of embedded ones.
    pub fn for_call(mut self, chat: ChatId, tool: impl Into<String>) -> Self {
        self.only = Some((chat, tool.into()));
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
    pub async fn start(mut self) -> Result<Host, StartError> {
        let cache = self.state_dir.as_deref().map(StateDir::open).transpose()?;
        let cache = cache.as_ref().map(CodeCache::open).transpose()?;
        let cache = match &self.shared_code {
            Some(shared) => cache.map(|cache| cache.sharing(shared)),
            None => cache,
        };
        let state = match (self.state, self.kept) {
            (Some(state), _) => state,
            (None, Some(directory)) => HostState::open(&directory, self.durability)?,
            (None, None) => HostState::temporary(std::env::temp_dir())?,
        };
        let keeps = state.directory().is_some() && state.durability() == self.durability;
        if self.durability == Durability::Power && !keeps {
            return Err(StartError::NotDurable);
        }
        let directories = self.directories.take();
        let directories = directories.map(ClaimedDirectories::claim).transpose()?;
        let root = directories.as_ref().map(ClaimedDirectories::path);
        let shared = self.shared_code.as_deref();
        let audit = self.audit.directory();
        let own = [self.state_dir.as_deref(), state.directory(), shared, audit];
        // A command and a file of one workspace must not reach another.
        let further = self.processes.sandbox.never.iter().map(PathBuf::as_path);
        let closed = self
            .processes
            .closed
            .with_own(own.into_iter().flatten().map(Into::into));
        self.processes.closed = closed.and(further.chain(root).map(Into::into));
        let closed = self.processes.closed.clone();
        let is_only = self.plugins.is_empty() && self.configured.is_empty();
        let (chat, only) = self.only.filter(|_| is_only).unzip();
        let file_access = self.files;
        let opening = async {
            let Some(workspace) = self.workspace else {
                let files = files::Config {
                    roots: self.file_roots,
                    ..files::Config::new(self.processes.workspace.clone())
                };
                let local = Arc::new(Local::open(self.processes, files, &state).await?);
                if let (Some(chat), Some(embedded::EXECUTE)) = (&chat, only.as_deref()) {
                    local.processes().expect_start(chat);
                }
                return Ok((Arc::clone(&local) as Arc<dyn Workspace>, Some(local)));
            };
            Ok::<_, StartError>((workspace, None))
        };
        let loading = async {
            let calls = if only.is_some() { 1 } else { usize::MAX };
            let engine = Engine::for_calls(calls, cache, self.compiler)?
                .observed(self.audit.clone(), self.metrics.clone())
                .closing(closed);
            let engine = match self.guest_memory {
                Some(bytes) => engine.with_guest_memory(bytes),
                None => engine,
            };
            let embedded = embedded::plugins(self.shell, file_access);
            let loaded = embedded::load(&engine, embedded, only.as_deref()).await;
            let loaded = loaded.map_err(|(name, source)| StartError::Load { name, source })?;
            Ok((engine, loaded))
        };
        // Each of the two waits for work on other threads most of the time.
        let ((default, local), (engine, loaded)) = tokio::try_join!(opening, loading)?;
        let mut providers = Providers::default();
        if let Some(directories) = directories {
            let local = local.clone().ok_or(StartError::NoLocalWorkspace)?;
            providers.directories = Some(Arc::new(directories.offer(local)?));
        }
        let agents = if let Some(agents) = self.agents {
            let agents = Agents::new(agents);
            let agents = agents.map_err(|(agent, source)| StartError::Agent { agent, source })?;
            Some(Arc::new(agents))
        } else {
            None
        };
        if let Some(agents) = agents.as_ref().filter(|_| state.store().is_shared())
            && let Some(tls) = agents.hosts().cloned()
        {
            let store = Arc::clone(state.store());
            let passages = Arc::new(connected::OfStore { store, tls });
            agents.dialled().find_elsewhere(passages);
        }
        providers.agents = agents.clone().map(|agents| agents as Arc<dyn Provider>);
        let machines = machines(self.templates, &state, providers.agents.as_ref())?;
        providers.machines = machines
            .clone()
            .map(|machines| machines as Arc<dyn Provider>);
        let store = Arc::clone(state.store());
        let oversight = Oversight {
            audit: self.audit.clone(),
            metrics: self.metrics.clone(),
            approval: self.approval.clone(),
        };
        let opening = Workspaces::open(
            Arc::clone(&default),
            local.is_some(),
            providers,
            store,
            oversight,
        );
        let workspaces = opening.await?;
        let workspaces = Arc::new(workspaces);
        let workspace: Arc<dyn Workspace> = Arc::new(Routed(Arc::clone(&workspaces)));
        let events = Events::new(self.event_limits);
        let subscribers: [Arc<dyn Subscriber>; 2] =
            [Arc::new(events.clone()), Arc::new(self.audit.clone())];
        for subscriber in &subscribers {
            workspace.subscribe(Arc::downgrade(subscriber));
        }
        let plugins = Arc::new(Plugins::new(
            engine,
            default,
            self.audit.clone(),
            self.metrics.clone(),
            Arc::clone(state.store()),
        ));
        let loaded = loaded.into_iter();
        let embedded = loaded.map(|(source, plugin)| (source, Some(plugin)));
        let others = self.plugins.into_iter();
        let others = others.map(|(bytes, options)| (PluginSource::bytes(bytes, options), None));
        let mut names = Vec::new();
        for (source, plugin) in embedded.chain(others) {
            let name = source.options.name.clone();
            if names.contains(&name) {
                return Err(StartError::Duplicate(name));
            }
            names.push(name.clone());
            let added = plugins.add(source, plugin).await;
            added.map_err(|source| StartError::Load { name, source })?;
        }
        plugins.apply(self.configured).await;
        let opening = Board::open(
            Arc::clone(state.local()),
            Arc::clone(&workspace),
            events.clone(),
            self.metrics.clone(),
            self.courier,
        );
        let (notices, watching) = opening.await?;
        let stopping = CancellationToken::new();
        let (ledger, interrupted) = Ledger::open(
            self.ledger_limits,
            (Arc::clone(state.store()), state.durability()),
            Some(Box::new(events.clone())),
            stopping.clone(),
        )
        .await?;
        interrupted::settle(&ledger, interrupted, &*workspace, &workspaces).await;
        let inner = Inner {
            workspace,
            workspaces,
            agents,
            machines,
            local,
            counted: parking_lot::Mutex::default(),
            files_grant: file_access,
            ledger,
            records: Arc::clone(state.local()),
            events,
            _subscribers: subscribers,
            max_wait: self.max_wait,
            plugins,
            audit: self.audit,
            metrics: self.metrics,
            approval: self.approval,
            stopping,
            draining: CancellationToken::new(),
            leaving: CancellationToken::new(),
            hurried: CancellationToken::new(),
            over: CancellationToken::new(),
            calls: TaskTracker::new(),
            failures: self.failures,
            queued: live::Queued::default(),
            tools_of_calls: Default::default(),
            readers: Arc::default(),
            offer: self.offer,
            notices: Arc::new(notices),
            _watching: watching,
            found: offer::chats_with_found_tools(),
            reconnected: Arc::default(),
            links: Arc::new(Links::new(state.link_key())),
        };
        let inner = Arc::new(inner);
        inner.metrics.watch(&inner, observe::add_levels);
        if let Some(machines) = &inner.machines {
            tokio::spawn(find_machines(
                Arc::clone(machines),
                Arc::clone(&inner.workspaces),
            ));
        }
        inner.workspaces.open_all_elsewhere();
        tokio::spawn(keep_up(Arc::downgrade(&inner)));
        if let Some(agents) = inner.agents.as_ref().filter(|_| state.store().is_shared()) {
            let changes = agents.dialled().changes();
            let again = Arc::clone(&inner.reconnected);
            tokio::spawn(connected::report(Arc::downgrade(&inner), changes, again));
        }
        if state.store().is_shared() {
            let (host, readers) = (Arc::downgrade(&inner), Arc::clone(&inner.readers));
            tokio::spawn(readers::keep_up(host.clone(), readers));
            tokio::spawn(readers::tell_progress(host, inner.events.clone()));
        }
        if let Some(news) = state.store().news() {
            tokio::spawn(neighbours::listen(Arc::downgrade(&inner), news));
        }
        Ok(Host { inner })
    }
}

/// Returns the provider of the workspaces of these templates; `None` if there are none.
fn machines(
    templates: BTreeMap<String, Template>,
    state: &HostState,
    agents: Option<&Arc<dyn Provider>>,
) -> Result<Option<Arc<Machines>>, StartError> {
    if templates.is_empty() {
        return Ok(None);
    }
    let (Some(directory), Some(agents)) = (state.directory(), agents) else {
        return Err(StartError::MachinesNotKept);
    };
    // Each of the hosts would make a machine for the same workspace.
    if state.store().is_shared() {
        return Err(StartError::MachinesShared);
    }
    let machines = Machines::open(templates, &state.link_key(), directory, Arc::clone(agents));
    let machines = machines.map_err(|source| StartError::Machines { source })?;
    Ok(Some(Arc::new(machines)))
}

/// Removes machines that an earlier host left without a workspace, and finds out how the others are.
async fn find_machines(machines: Arc<Machines>, workspaces: Arc<Workspaces>) {
    machines.sweep(|| workspaces.with_machines()).await;
    workspaces.look_at_machines().await;
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
    /// Offers workspaces with names, which are directories below the root of this configuration.
    directories: DirectoriesConfig;
    /// Offers workspaces with names, which agents have.
    agents: AgentsConfig;
    /// Offers workspaces on machines of these templates. They need a state directory and [`Builder::agents`].
    templates: BTreeMap<String, Template>;
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
    /// Sends the cause of each failed call of a guest to this channel, for a command that shows it to the author of the plugin.
    failures: UnboundedSender<Cause>;
    /// Delivers the notices that chats asked for to chat servers. Without it, notices are events and entries of a list.
    courier: Arc<dyn Courier>;
    /// Decides how clients are offered the tools. The default is each as a tool of its own.
    offer: Offer;
    /// Replaces everything about processes, the workspace and the spawner that forks their supervisors included.
    processes: process::Config;
    /// Has the tools run their commands in this workspace, which may be another machine. The settings of [`Host::builder`],
    /// [`Builder::processes`] and [`Builder::file_roots`] for a workspace on this machine have no effect then.
    workspace: Arc<dyn Workspace>;
}
