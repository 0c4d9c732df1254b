//! The sandbox of the commands of one chat, and the parts that the sandboxes of all chats share.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use rustix::fs::OFlags;

use toolhost_sandbox::{
    Entered, Mode, Network, Places, Plan, Policy, PrepareError, Report, Sandbox, Support, View,
};

use toolhost_state::id::ChatId;

use super::VARIABLES;
use super::egress::{DenialObserver, Egress, Reports};
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
    /// The spawner in the namespaces of the chat; `None`: the commands run in the namespaces of the host.
    pub(in crate::process) spawner: Option<Spawner>,
    /// The proxy, if the network is a list of hosts.
    egress: Option<Arc<Egress>>,
}

/// A temporary directory.
#[derive(Clone, Debug)]
struct Directory {
    path: PathBuf,
    /// The path at which commands see it.
    seen_at: PathBuf,
}

/// Returns the layers that this machine supports for a policy. The spawner tries the namespaces.
pub fn support(policy: &Policy, spawner: Option<&Spawner>) -> Support {
    let mut support = Support::detect();
    if policy.no_namespaces {
        support.namespaces = Err("they are disabled by --sandbox-no-namespaces".to_owned());
    } else if let Some(spawner) = spawner {
        let tried = spawner.within(&View::trial());
        support.namespaces = tried.map(drop).map_err(|error| error.to_string());
    }
    support
}

impl Common {
    /// Collects the shared parts, for commands with these environment variables.
    pub(in crate::process) fn new(
        policy: Policy,
        environment: &Environment,
        spawner: Option<&Spawner>,
    ) -> Self {
        let mut places = Places::new(PathBuf::new(), environment.variables());
        places.workspace.clear();
        if policy.mode == Mode::Workspace {
            places.make_caches();
        }
        Self {
            policy,
            places,
            support: OnceLock::new(),
            spawner: spawner.cloned(),
            observer: OnceLock::new(),
        }
    }

    /// Makes a sandbox without a temporary directory and without namespaces, for its report. Must be called within a tokio runtime.
    pub(in crate::process) fn prepare(&self, workspace: &Path) -> Result<Sandbox, PrepareError> {
        let places = self.places(workspace);
        let plan = Plan::new(&self.policy, &places);
        Sandbox::of(plan, &self.support_for(&self.policy), None)
    }

    /// Returns the report of that sandbox. Must be called within a tokio runtime.
    pub(in crate::process) fn report(&self, workspace: &Path) -> Result<Report, PrepareError> {
        let places = self.places(workspace);
        let plan = Plan::new(&self.policy, &places);
        Sandbox::foresee(&plan, &self.support_for(&self.policy))
    }

    /// Returns the paths that the commands of a workspace can reach. Other workspaces are not among them.
    fn places(&self, workspace: &Path) -> Places {
        Places {
            workspace: vec![workspace.to_path_buf()],
            ..self.places.clone()
        }
    }

    /// Makes the sandbox of a chat in this workspace, with this temporary directory. `policy` is the common policy or a narrower one.
    /// Must be called within a tokio runtime.
    pub(in crate::process) fn confine(
        &self,
        workspace: &Path,
        policy: &Policy,
        directory: Option<PathBuf>,
        chat: Option<&ChatId>,
    ) -> Result<Confined, Error> {
        let mut places = self.places(workspace);
        places.temporary.extend(directory.clone());
        let mut directory = directory.map(|path| Directory {
            seen_at: path.clone(),
            path,
        });
        let plan = Plan::new(policy, &places);
        let mut within = None;
        if let Some(directory) = &mut directory {
            let view = View::of(&plan, &directory.path);
            within = self.enter(policy, &view)?;
            if within.is_some() {
                directory.seen_at = view.temporary(&directory.path).to_path_buf();
            }
        }
        let (spawner, mut entered) = within.unzip();
        let sandbox = Sandbox::of(plan, &self.support_for(policy), entered.as_ref());
        let sandbox = Arc::new(sandbox.map_err(|error| Error::Failed(error.to_string()))?);
        let listener = entered.as_mut().and_then(|entered| entered.listener.take());
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
        let memory = entered.and_then(|entered| {
            let mut new = entered.new.into_iter();
            new.find_map(|(path, root)| (path == Path::new(MEMORY)).then_some(root))
        });
        Ok(Confined {
            sandbox,
            memory: memory.map(Arc::new),
            directory,
            spawner,
            egress,
        })
    }

    /// Starts a spawner in new namespaces with this view. `None`: the commands of the chat stay in the namespaces of the host.
    fn enter(&self, policy: &Policy, view: &View) -> Result<Option<(Spawner, Entered)>, Error> {
        let Some(host) = self
            .spawner
            .as_ref()
            .filter(|_| self.support().namespaces.is_ok())
        else {
            return Ok(None);
        };
        match host.within(view) {
            Ok(within) => Ok(Some(within)),
            Err(error) if policy.required => Err(Error::Failed(format!(
                "the sandbox is required, but the chat cannot have namespaces: {error}"
            ))),
            Err(error) => {
                tracing::warn!(%error, "a chat cannot have namespaces: its commands run in those of the host");
                Ok(None)
            }
        }
    }

    /// Returns the layers that this machine supports. Without a sandbox, the namespaces are not tried.
    fn support_for(&self, policy: &Policy) -> Cow<'_, Support> {
        match policy.mode {
            Mode::Off => Cow::Owned(Support::detect()),
            Mode::ReadOnly | Mode::Workspace => Cow::Borrowed(self.support()),
        }
    }

    /// Returns whether the sandboxes of the common policy, and so of all narrower ones, have a filter of system calls.
    pub(super) fn filters_calls(&self) -> bool {
        self.policy.mode != Mode::Off && self.support_for(&self.policy).seccomp.is_ok()
    }

    fn support(&self) -> &Support {
        let detect = || support(&self.policy, self.spawner.as_ref());
        self.support.get_or_init(detect)
    }
}

impl Confined {
    /// Returns the temporary directory of the chat.
    pub(in crate::process) fn temporary(&self) -> Option<&Path> {
        let directory = self.directory.as_ref();
        directory.map(|directory| directory.path.as_path())
    }

    /// Returns whether the namespaces of the sandbox have ended, so that it can confine no more commands.
    pub(super) fn has_ended(&self) -> bool {
        self.spawner.as_ref().is_some_and(Spawner::has_ended)
    }

    /// Returns whether the sandbox holds nothing that another one of the same policy would not have: no file is in its shared memory.
    pub(super) fn can_be_made_again(&self) -> bool {
        let is_empty = |root: &Arc<OwnedFd>| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let root = rustix::fs::openat(root, c".", flags, rustix::fs::Mode::empty());
            let entries = root.and_then(rustix::fs::Dir::new);
            entries.is_ok_and(|mut entries| {
                entries.all(|entry| {
                    entry.is_ok_and(|entry| matches!(entry.file_name().to_bytes(), b"." | b".."))
                })
            })
        };
        self.memory.as_ref().is_none_or(is_empty)
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
        let proxies = self.egress.iter().flat_map(|egress| egress.variables());
        directories.chain(proxies.map(|(name, value)| (name, value.into())))
    }
}
