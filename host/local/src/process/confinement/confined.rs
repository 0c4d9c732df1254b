//! The sandbox of the commands of one chat, and the parts that the sandboxes of all chats share.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::SystemTime;

use parking_lot::Mutex;
use rustix::fs::{OFlags, openat};
use toolhost_sandbox::{
    Entered, Home, Mode, Network, Places, Plan, Policy, PrepareError, Report, Sandbox, Support,
    View,
};

use toolhost_state::closed::Closed;
use toolhost_state::id::ChatId;

use super::VARIABLES;
use super::egress::{DenialObserver, Egress, Reports};
use super::layers::{AllLayers, HomeLayers, lack_of_layers};
use super::refusals::{no_home, unentered, unprepared};
use super::support::support;
use crate::process::contain::{Directories, LayerNamespaces};
use crate::process::{Command, Environment, Error, Spawner};

/// Where commands see the shared memory of their namespaces.
const MEMORY: &str = "/dev/shm";

/// The parts that the sandboxes of all chats share.
#[derive(Debug)]
pub(in crate::process) struct Common {
    pub(super) policy: Policy,
    /// The paths that commands can reach besides their workspace.
    places: Places,
    /// The layers that this machine supports; unset until the first sandbox is made.
    support: OnceLock<Support>,
    /// Whether the homes in a directory have layers. The state directory and a root of workspaces can be on different file systems.
    has_layers: Mutex<HashMap<PathBuf, bool>>,
    pub(super) layers: Arc<AllLayers>,
    /// Starts the spawners of chats. `None`: commands cannot be confined.
    pub(super) spawner: Option<Spawner>,
    /// Learns of the refusals of proxies; unset until the registry is open.
    pub(super) observer: OnceLock<Weak<dyn DenialObserver>>,
}

/// The sandbox of the commands of one chat.
#[derive(Clone, Debug)]
pub(in crate::process) struct Confined {
    pub(in crate::process) sandbox: Arc<Sandbox>,
    /// The root of the shared memory of the namespaces.
    memory: Option<Arc<OwnedFd>>,
    /// The temporary directory of the chat.
    directory: Option<Directory>,
    /// The variables of the home of the workspace, if commands do not see it at its usual path.
    variables: Vec<(&'static str, PathBuf)>,
    /// The home of the workspace.
    home: Option<Home>,
    /// The layers of the home, if the commands write into some.
    layers: Option<Arc<HomeLayers>>,
    /// The spawner in the namespaces of the chat; `None`: the commands run in the namespaces of the host.
    pub(in crate::process) spawner: Option<Spawner>,
    /// The proxy, if the network is a list of hosts.
    egress: Option<Arc<Egress>>,
}

/// The directories of a chat.
#[derive(Clone, Debug, Default)]
pub(in crate::process) struct OwnDirectories {
    /// Its temporary directory.
    pub(super) temporary: Option<PathBuf>,
    /// The directory for the home of its workspace.
    pub(super) home: Option<PathBuf>,
    /// Whether commands of an earlier host may write into the layers of that home.
    pub(super) are_taken: bool,
}

impl OwnDirectories {
    /// Makes them in a directory.
    pub(in crate::process) fn below(directory: &Path) -> io::Result<Self> {
        let make = |name: &str| {
            let path = directory.join(name);
            super::private().create(&path).map(|()| Some(path))
        };
        Ok(Self {
            temporary: make("tmp")?,
            home: make("home")?,
            are_taken: false,
        })
    }

    /// Removes them. No command may run any more.
    pub(in crate::process) fn remove(&self) {
        let all = [&self.temporary, &self.home];
        let all = all.into_iter().flatten();
        all.for_each(|directory| super::remove(directory));
    }
}

/// A temporary directory.
#[derive(Clone, Debug)]
struct Directory {
    path: PathBuf,
    /// The path at which commands see it.
    seen_at: PathBuf,
}

impl Common {
    /// Collects the shared parts, for commands with these environment variables and paths that are closed to them.
    pub(in crate::process) fn new(
        policy: Policy,
        closed: &Closed,
        environment: &Environment,
        spawner: Option<&Spawner>,
    ) -> Self {
        let mut places = Places::new(PathBuf::new(), environment.variables());
        places.workspace.clear();
        places.never.extend(closed.paths().map(Path::to_path_buf));
        Self {
            policy,
            places,
            support: OnceLock::new(),
            has_layers: Mutex::default(),
            layers: Arc::default(),
            spawner: spawner.cloned(),
            observer: OnceLock::new(),
        }
    }

    /// Makes a sandbox without a temporary directory and without namespaces, for its report. Must be called within a tokio runtime.
    pub(in crate::process) fn prepare(&self, workspace: &Path) -> Result<Sandbox, PrepareError> {
        let places = self.places(workspace);
        let plan = Plan::new(&self.policy, &places);
        Sandbox::of(plan, &*self.support_for(&self.policy)?, None)
    }

    /// Returns why commands run in the namespaces of the host though the policy gives them their own; `None` if they have theirs.
    pub(in crate::process) fn lack_of_namespaces(&self) -> Option<&str> {
        if self.policy.no_namespaces || self.policy.mode == Mode::Off {
            return None;
        }
        self.support()
            .ok()?
            .namespaces
            .as_ref()
            .err()
            .map(String::as_str)
    }

    /// Returns the report of that sandbox. Must be called within a tokio runtime.
    pub(in crate::process) fn report(&self, workspace: &Path) -> Result<Report, PrepareError> {
        let places = self.places(workspace);
        let plan = Plan::new(&self.policy, &places);
        Sandbox::foresee(&plan, &*self.support_for(&self.policy)?)
    }

    /// Returns the paths that the commands of a workspace can reach. Other workspaces are not among them.
    fn places(&self, workspace: &Path) -> Places {
        Places {
            workspace: vec![workspace.to_path_buf()],
            ..self.places.clone()
        }
    }

    /// Returns whether this machine supports layers in a home. The first call for homes in the same directory tries it.
    fn has_layers(&self, home: &Path) -> io::Result<bool> {
        let place = home.parent().unwrap_or(home);
        if let Some(known) = self.has_layers.lock().get(place) {
            return Ok(*known);
        }
        let has_namespaces = self
            .support()
            .is_ok_and(|support| support.namespaces.is_ok());
        let Some(spawner) = self.spawner.as_ref().filter(|_| has_namespaces) else {
            return Ok(false);
        };
        // After an error, the next chat tries it again.
        let lack = lack_of_layers(home, spawner)?;
        if let Some(error) = &lack {
            tracing::info!(%error, "caches of toolchains begin empty in each workspace, because this machine cannot show them in layers");
        }
        let mut known = self.has_layers.lock();
        Ok(*known.entry(place.to_path_buf()).or_insert(lack.is_none()))
    }

    /// Makes the sandbox of a chat in this workspace, with these directories. `policy` is the common policy or a narrower one. Must be
    /// called within a tokio runtime.
    pub(in crate::process) fn confine(
        &self,
        workspace: &Path,
        policy: &Policy,
        own: OwnDirectories,
        chat: Option<&ChatId>,
    ) -> Result<Confined, Error> {
        let made = self.confine_and_show(workspace, policy, own, chat);
        made.map(|(confined, _)| confined)
    }

    /// As [`Common::confine`]. Also returns the view, if there is one.
    pub(super) fn confine_and_show(
        &self,
        workspace: &Path,
        policy: &Policy,
        own: OwnDirectories,
        chat: Option<&ChatId>,
    ) -> Result<(Confined, Option<View>), Error> {
        let layers = self.layers_for(policy, &own).map_err(no_home)?;
        let confined = self.confine_with(workspace, policy, own, chat, layers.as_ref());
        confined.inspect_err(|_| layers.iter().for_each(|layers| layers.release()))
    }

    /// Shares the layers that commands of an earlier host use. Returns the others of these directories.
    pub(super) fn adopt(&self, kept: &[Arc<Directories>]) -> Vec<Arc<Directories>> {
        let Some(spawner) = &self.spawner else {
            return kept.to_vec();
        };
        let plan = Plan::new(&self.policy, &self.places);
        let kept = kept.iter();
        let others = kept.filter(|kept| !self.layers.adopt(kept, &plan, spawner));
        others.cloned().collect()
    }

    /// Returns the layers of a home for the commands of a policy; `None` if they need none, or this machine has none.
    fn layers_for(
        &self,
        policy: &Policy,
        own: &OwnDirectories,
    ) -> io::Result<Option<Arc<HomeLayers>>> {
        // Commands that cannot write need no layers.
        let writes = policy.mode == Mode::Workspace && own.temporary.is_some();
        match own.home.as_deref().filter(|_| writes) {
            Some(home) if self.has_layers(home)? => self.layers.of(home, own.are_taken).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the paths that the commands of a chat can reach.
    fn places_of(
        &self,
        workspace: &Path,
        own: &OwnDirectories,
        layers: Option<&Arc<HomeLayers>>,
    ) -> Result<Places, Error> {
        let mut places = self.places(workspace);
        places.temporary.extend(own.temporary.clone());
        let place = layers.map(|layers| layers.place());
        let home = own.home.as_deref();
        let home = home.map(|home| self.places.open_home(home, place));
        places.home = home.transpose().map_err(no_home)?.flatten();
        Ok(places)
    }

    /// Returns whether [`Common::confine`] would make this sandbox with the common policy now, as it did with these directories at the time
    /// `since`, when it made this view.
    pub(super) fn is_current(
        &self,
        confined: &Confined,
        workspace: &Path,
        own: &OwnDirectories,
        (view, since): (&View, SystemTime),
    ) -> bool {
        let (Ok(places), Some(directory), Ok(Some(root))) = (
            self.places_of(workspace, own, confined.layers.as_ref()),
            &own.temporary,
            confined.root(),
        ) else {
            return false;
        };
        let plan = Plan::new(&self.policy, &places);
        !confined.has_ended()
            && View::of(&plan, directory) == *view
            && view.is_current(&root, since)
    }

    /// As [`Common::confine`], with the layers of the home. Also returns the view, if there is one.
    fn confine_with(
        &self,
        workspace: &Path,
        policy: &Policy,
        own: OwnDirectories,
        chat: Option<&ChatId>,
        layers: Option<&Arc<HomeLayers>>,
    ) -> Result<(Confined, Option<View>), Error> {
        let places = self.places_of(workspace, &own, layers)?;
        let mut directory = own.temporary.map(|path| Directory {
            seen_at: path.clone(),
            path,
        });
        let plan = Plan::new(policy, &places);
        plan.prepare_home().map_err(no_home)?;
        let mut within = None;
        if let Some(directory) = &mut directory {
            let view = View::of(&plan, &directory.path);
            let mounted = layers.zip(self.spawner.as_ref()).map(|(layers, spawner)| {
                let mounted = layers.mount(&plan, spawner);
                mounted.map_err(|error| unentered("cannot mount the layers of the home", &error))
            });
            let mounted = mounted.transpose()?.flatten();
            if let Some((spawner, entered)) = self.enter(&view, mounted.as_deref())? {
                directory.seen_at = view.temporary(&directory.path).to_path_buf();
                within = Some((spawner, view, entered));
            }
        }
        let support = self
            .support_for(policy)
            .map_err(|error| unprepared(&error))?;
        let view = within.as_ref().map(|(_, view, entered)| (view, entered));
        let sandbox = Sandbox::of(plan, &support, view);
        let sandbox = Arc::new(sandbox.map_err(|error| unprepared(&error))?);
        let (mut spawner, mut memory, mut listener, mut view) = (None, None, None, None);
        if let Some((own, made, entered)) = within {
            spawner = Some(own);
            view = Some(made);
            memory = entered.open(Path::new(MEMORY)).ok().map(Arc::new);
            listener = entered.listener;
        }
        let egress = match (listener, &policy.network) {
            (Some(listener), Network::Hosts(hosts)) => {
                let reports = Reports {
                    chat: chat.cloned(),
                    sandbox: Arc::downgrade(&sandbox),
                    observer: self.observer.get().cloned(),
                };
                Some(Arc::new(Egress::start(hosts, listener, reports)?))
            }
            _ => None,
        };
        let variables = match spawner {
            Some(_) => Vec::new(),
            None => places.variables_of_home(),
        };
        let confined = Confined {
            sandbox,
            memory,
            directory,
            variables,
            home: places.home,
            layers: layers.cloned(),
            spawner,
            egress,
        };
        Ok((confined, view))
    }

    /// Starts a spawner in new namespaces with this view. `None`: this machine has no namespaces, and the commands of the chat stay in those
    /// of the host. Where it has them, no chat goes without.
    fn enter(
        &self,
        view: &View,
        layers: Option<&LayerNamespaces>,
    ) -> Result<Option<(Spawner, Entered)>, Error> {
        let Some(host) = &self.spawner else {
            return Ok(None);
        };
        if self
            .support()
            .map_err(|error| unprepared(&error))?
            .namespaces
            .is_err()
        {
            return Ok(None);
        }
        let within = host.within(view, layers);
        within
            .map(Some)
            .map_err(|error| unentered("cannot make the namespaces of the chat", &error))
    }

    /// Returns the layers that this machine supports. Without a sandbox, the namespaces are not tried.
    fn support_for(&self, policy: &Policy) -> Result<Cow<'_, Support>, PrepareError> {
        match policy.mode {
            Mode::Off => Ok(Cow::Owned(Support::detect())),
            Mode::ReadOnly | Mode::Workspace => self.support().map(Cow::Borrowed),
        }
    }

    /// Returns whether the sandboxes of the common policy, and so of all narrower ones, have a filter of system calls.
    pub(super) fn filters_calls(&self) -> bool {
        let support = self.support_for(&self.policy);
        self.policy.mode != Mode::Off && support.is_ok_and(|support| support.seccomp.is_ok())
    }

    fn support(&self) -> Result<&Support, PrepareError> {
        if let Some(support) = self.support.get() {
            return Ok(support);
        }
        let support = support(&self.policy, self.spawner.as_ref())?;
        Ok(self.support.get_or_init(|| support))
    }
}

impl Confined {
    /// Ends the namespaces of the sandbox, in which no command may run. [`Confined::gone`] waits for their end.
    pub(super) fn end(&self) {
        if let Some(spawner) = &self.spawner {
            spawner.end();
        }
    }

    /// Waits until nothing is left of the ended namespaces.
    pub(super) async fn gone(&self) {
        if let Some(spawner) = &self.spawner {
            spawner.gone().await;
        }
    }

    /// Notes that no command of the sandbox runs any more. Call it once.
    pub(super) fn release(&self) {
        self.layers.iter().for_each(|layers| layers.release());
    }

    /// Returns the directories of its commands.
    pub(in crate::process) fn directories(&self) -> Directories {
        let temporary = self.directory.as_ref();
        let layers = self.layers.as_ref();
        Directories {
            temporary: temporary.map(|directory| directory.path.clone()),
            layers: layers.map(|layers| layers.place().work),
            namespaces: None,
        }
    }

    /// Opens the root of what its commands see; `None` if that is the root of this machine.
    pub(in crate::process) fn root(&self) -> io::Result<Option<OwnedFd>> {
        let up: PathBuf = Path::new(MEMORY)
            .components()
            .skip(1)
            .map(|_| "..")
            .collect();
        let open = |memory: &Arc<OwnedFd>| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            openat(memory, &up, flags, rustix::fs::Mode::empty())
        };
        Ok(self.memory.as_ref().map(open).transpose()?)
    }

    /// Returns the namespaces of the layers of the home, if there are layers.
    pub(in crate::process) fn layer_namespaces(&self) -> Option<Arc<LayerNamespaces>> {
        self.layers.as_ref()?.namespaces()
    }

    /// Returns whether the namespaces of the sandbox have ended, so that it can confine no more commands.
    pub(super) fn has_ended(&self) -> bool {
        self.spawner.as_ref().is_some_and(Spawner::has_ended)
    }

    /// Returns whether the sandbox holds nothing that another one of the same policy would not have: no file is in its shared memory, and
    /// none in layers of its own.
    pub(super) fn can_be_made_again(&self) -> bool {
        // Each file takes an inode, and the root another. To list them would take a descriptor, of which there may be none.
        let is_empty = |root: &Arc<OwnedFd>| {
            rustix::fs::fstatfs(root).is_ok_and(|system| {
                system.f_files > 0 && system.f_files.saturating_sub(system.f_ffree) <= 1
            })
        };
        let has_own_files = || self.home.as_ref().is_some_and(Home::has_own_files);
        self.memory.as_ref().is_none_or(is_empty) && !has_own_files()
    }

    /// Returns the variables of the sandbox that the command does not set itself.
    pub(in crate::process) fn variables(&self, command: &Command) -> Vec<(OsString, OsString)> {
        let is_set = |name: &str| command.env.iter().any(|(own, _)| own == name);
        let own = self.own_variables();
        own.filter(|(name, _)| !is_set(name))
            .map(|(name, value)| (name.into(), value))
            .collect()
    }

    /// Returns the variables that the sandbox sets for all its commands.
    pub(in crate::process) fn own_variables(
        &self,
    ) -> impl Iterator<Item = (&'static str, OsString)> {
        let directories = self.directory.iter().flat_map(|directory| {
            VARIABLES.map(|name| (name, directory.seen_at.clone().into_os_string()))
        });
        let home = self.variables.iter();
        let home = home.map(|(name, path)| (*name, path.clone().into_os_string()));
        let proxies = self.egress.iter().flat_map(|egress| egress.variables());
        let own = directories.chain(home);
        own.chain(proxies.map(|(name, value)| (name, value.into())))
    }
}
