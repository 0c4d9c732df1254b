//! The sandboxes of commands. Each chat has a sandbox of its own, because it has its own temporary files, and one more for each narrower
//! policy of a plugin or a call.

mod ahead;
mod confined;
mod egress;
mod homes;
mod layers;
mod refusals;
mod support;

use std::borrow::Cow;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::time::timeout;
use toolhost_sandbox::{Mode, Narrower, Policy, PrepareError, Report};
use toolhost_state::closed::Closed;
use toolhost_state::id::ChatId;
use toolhost_store::HostState;

use super::contain::Directories;
use super::{Environment, Error, Spawner, room, shortage};
use ahead::Ahead;
pub(super) use confined::{Common, Confined, OwnDirectories};
pub(super) use egress::DenialObserver;
use homes::Homes;
pub(crate) use homes::in_root as homes_in_root;
pub use layers::lack_of_layers;
pub use support::support;

/// The name of the directory for temporary files of commands, within the state directory.
const TEMPORARY: &str = "tmp";

/// How long the end of idle sandboxes is waited for. Usually it takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// The variables that name the directory for temporary files. tmux makes its socket in the directory of the second one.
pub const VARIABLES: [&str; 2] = ["TMPDIR", "TMUX_TMPDIR"];

/// The confinement of commands.
#[derive(Debug)]
pub(super) struct Confinement {
    common: Common,
    /// The workspace of starts that name no other.
    workspace: Arc<Path>,
    /// The sandbox of its next chat.
    ahead: Ahead,
    homes: Homes,
    /// The state directory, if there is one.
    state: Option<PathBuf>,
    /// The temporary directories of processes that were taken over.
    kept: Vec<PathBuf>,
    /// The parent of the chats' temporary directories; unset until the first sandbox needs it; `None`: commands use that of the system.
    temporary: OnceLock<Option<Temporary>>,
    /// Held while that is opened.
    opening: Mutex<()>,
}

/// The parent of the chats' temporary directories.
#[derive(Debug)]
enum Temporary {
    /// A directory in the state directory, whose lock this host holds. If the host is killed, the next one removes the directory.
    Kept(PathBuf),
    Own(TempDir),
}

/// The sandboxes of a chat, shared by its commands.
pub(super) type SharedSandboxes = Arc<Mutex<Sandboxes>>;

/// The sandboxes of a chat.
#[derive(Debug, Default)]
pub(super) struct Sandboxes {
    /// The temporary directory of the chat, which all its sandboxes share; `None` until a command is confined.
    directory: Option<PathBuf>,
    /// One sandbox for each policy. The number of policies is bounded, because only the grants and the starts of plugins narrow the policy.
    made: Vec<Made>,
}

/// A sandbox, and the policy and the workspace that it was made for.
#[derive(Debug)]
struct Made {
    workspace: Arc<Path>,
    policy: Policy,
    confined: Confined,
}

impl Sandboxes {
    /// Returns the sandbox in a workspace with a policy, unless its spawner has ended.
    fn find(&self, workspace: &Path, policy: &Policy) -> Option<Confined> {
        let mut made = self.made.iter();
        let found = made.find(|made| {
            *made.workspace == *workspace && made.policy == *policy && !made.confined.has_ended()
        })?;
        Some(found.confined.clone())
    }
}

impl Sandboxes {
    /// Returns the spawner of a sandbox that has this process id.
    pub(super) fn spawner(&self, pid: i32) -> Option<Spawner> {
        let mut spawners = self.made.iter().flat_map(|made| &made.confined.spawner);
        let found = spawners.find(|spawner| spawner.pid().cast_signed() == pid);
        found.cloned()
    }
}

impl Confinement {
    /// Opens the confinement for a policy, and reports the gaps that it leaves in this workspace. Without a spawner, commands cannot
    /// be confined. The directories `kept` stay, because commands that were taken over use them.
    pub(super) fn open(
        policy: Policy,
        closed: &Closed,
        workspace: &Path,
        environment: &Environment,
        state: &HostState,
        spawner: Option<&Spawner>,
        kept: &[Arc<Directories>],
    ) -> Result<Self, PrepareError> {
        let mut policy = policy;
        if policy.mode == Mode::Off {
            tracing::warn!(
                "the sandbox is off: commands may do everything that the user of this host may, such as read its keys and trace its processes"
            );
        }
        if spawner.is_none() && policy.mode != Mode::Off {
            if policy.required {
                return Err(PrepareError::Missing("there is no spawner".to_owned()));
            }
            policy.mode = Mode::Off;
        }
        policy.limits.processes = policy.limits.processes.map(room::most_processes);
        let state = state.directory().map(Path::to_path_buf);
        let common = Common::new(policy, closed, environment, spawner);
        let others = common.adopt(kept);
        let confinement = Self {
            common,
            workspace: workspace.into(),
            ahead: Ahead::default(),
            homes: Homes::new(state.as_deref(), &others),
            state,
            kept: kept
                .iter()
                .filter_map(|kept| kept.temporary.clone())
                .collect(),
            temporary: OnceLock::new(),
            opening: Mutex::default(),
        };
        if confinement.common.policy.mode != Mode::Off {
            confinement.temporary()?;
        }
        // Log now what cannot be enforced, instead of at the first command.
        confinement.log_gaps(&confinement.common.report(workspace)?);
        if let Some(why) = confinement.common.lack_of_namespaces() {
            tracing::warn!(
                why,
                "commands have no namespaces of their own here: they see the names of all processes, and share /tmp; `toolhost doctor` says what gives them some"
            );
        }
        Ok(confinement)
    }

    /// Reports certain denials to this observer from now on.
    pub(super) fn observe(&self, observer: Weak<dyn DenialObserver>) {
        _ = self.common.observer.set(observer);
    }

    /// Returns whether all sandboxes have a filter of system calls.
    pub(super) fn filters_calls(&self) -> bool {
        self.common.filters_calls()
    }

    fn log_gaps(&self, report: &Report) {
        if self.common.policy.mode == Mode::Off {
            return;
        }
        for gap in &report.missing {
            tracing::warn!("the sandbox of commands does not enforce the whole policy: {gap}");
        }
    }

    /// Returns the sandbox of a chat in a workspace for a wish, if it has been made and its spawner has not ended. While another command
    /// has a sandbox made, there is none.
    pub(super) fn find(
        &self,
        workspace: &Path,
        sandboxes: &SharedSandboxes,
        wish: &Narrower,
    ) -> Result<Option<Confined>, Error> {
        let policy = self.policy(wish)?;
        let made = sandboxes.try_lock();
        Ok(made.and_then(|made| made.find(workspace, &policy)))
    }

    /// Makes the sandbox of a chat in a workspace for a wish, unless there is one. Must be called within a tokio runtime.
    pub(super) async fn make(
        self: &Arc<Self>,
        workspace: &Arc<Path>,
        sandboxes: &SharedSandboxes,
        chat: Option<&ChatId>,
        wish: &Narrower,
    ) -> Result<Confined, Error> {
        let policy = self.policy(wish)?.into_owned();
        let (this, sandboxes) = (Arc::clone(self), Arc::clone(sandboxes));
        let (chat, workspace) = (chat.cloned(), Arc::clone(workspace));
        let making = move || this.make_now(workspace, &sandboxes, chat.as_ref(), policy);
        let made = tokio::task::spawn_blocking(making).await;
        made.unwrap_or_else(|error| Err(Error::Failed(error.to_string())))
    }

    /// Returns the common policy, narrowed by a wish.
    fn policy(&self, wish: &Narrower) -> Result<Cow<'_, Policy>, Error> {
        match wish.is_empty() {
            true => Ok(Cow::Borrowed(&self.common.policy)),
            false if self.common.spawner.is_none() => Err(Error::Failed(
                "the command cannot be confined further, because this host has no spawner".into(),
            )),
            false => Ok(Cow::Owned(self.common.policy.narrow(wish))),
        }
    }

    /// Returns the sandbox of a chat with a policy, and makes it if there is none. Blocks on the disk.
    fn make_now(
        self: &Arc<Self>,
        workspace: Arc<Path>,
        sandboxes: &SharedSandboxes,
        chat: Option<&ChatId>,
        policy: Policy,
    ) -> Result<Confined, Error> {
        let mut sandboxes = sandboxes.lock();
        let ended = sandboxes
            .made
            .extract_if(.., |made| made.confined.has_ended());
        ended.for_each(|made| made.confined.release());
        if let Some(confined) = sandboxes.find(&workspace, &policy) {
            return Ok(confined);
        }
        let is_usual = *workspace == *self.workspace && policy == self.common.policy;
        let is_next = is_usual && sandboxes.directory.is_none();
        let ahead = match is_next {
            true => self.take_ahead(),
            false => None,
        };
        let confined = match ahead {
            Some((confined, directory)) => {
                sandboxes.directory = Some(directory);
                confined
            }
            None => {
                if sandboxes.directory.is_none() && policy.mode != Mode::Off {
                    sandboxes.directory = self.make_directory()?;
                }
                let own = match policy.mode {
                    Mode::Off => OwnDirectories::default(),
                    Mode::ReadOnly | Mode::Workspace => {
                        self.own_directories(&workspace, sandboxes.directory.clone())?
                    }
                };
                self.common.confine(&workspace, &policy, own, chat)?
            }
        };
        if is_next {
            self.expect_another();
        }
        sandboxes.made.push(Made {
            workspace,
            policy,
            confined: confined.clone(),
        });
        Ok(confined)
    }

    /// Makes the directories of a chat in a workspace, besides its temporary one.
    fn own_directories(
        &self,
        workspace: &Path,
        temporary: Option<PathBuf>,
    ) -> Result<OwnDirectories, Error> {
        let home = self.make_home(workspace)?;
        Ok(OwnDirectories {
            temporary,
            are_taken: home.as_ref().is_some_and(|home| self.homes.are_taken(home)),
            home,
        })
    }

    /// Returns the parent of temporary directories. Without one, commands share that of the system and have no namespaces, so a shortage is
    /// no reason to go without.
    fn temporary(&self) -> Result<Option<&Temporary>, PrepareError> {
        if let Some(temporary) = self.temporary.get() {
            return Ok(temporary.as_ref());
        }
        let _one_at_a_time = self.opening.lock();
        if let Some(temporary) = self.temporary.get() {
            return Ok(temporary.as_ref());
        }
        let opened = match Temporary::open(self.state.as_deref(), &self.kept) {
            Ok(opened) => Some(opened),
            Err(error) if shortage::shortage(&error).is_some() => {
                return Err(PrepareError::Short(error.to_string()));
            }
            Err(error) => {
                tracing::warn!(%error, "commands have no directory for temporary files");
                None
            }
        };
        Ok(self.temporary.get_or_init(|| opened).as_ref())
    }

    fn make_directory(&self) -> Result<Option<PathBuf>, Error> {
        let temporary = self
            .temporary()
            .map_err(|error| refusals::unprepared(&error))?;
        let made = temporary.map(|temporary| {
            make_directory(temporary.path()).map_err(|error| {
                let path = temporary.path().display();
                let doing = format!("cannot make a directory for temporary files in {path}");
                shortage::failed(&doing, &error)
            })
        });
        made.transpose()
    }

    /// Makes the directory for the home of a workspace.
    fn make_home(&self, workspace: &Path) -> Result<Option<PathBuf>, Error> {
        let home = self.home(workspace);
        let made = home
            .as_ref()
            .map(|home| private().recursive(true).create(home));
        made.transpose().map_err(refusals::no_home)?;
        Ok(home)
    }

    /// Returns the directory for the home of a workspace.
    fn home(&self, workspace: &Path) -> Option<PathBuf> {
        let temporary = || Some(self.temporary.get()?.as_ref()?.path());
        self.homes.of(workspace, temporary)
    }

    /// Keeps the homes of the workspaces in this root there.
    pub(super) fn keep_homes_in(&self, root: &Path) {
        self.homes.keep_in(root);
    }

    /// Takes the sandboxes of a chat that can be made again from its temporary directory. All its commands must have ended. While one is
    /// being made, the chat is not idle.
    pub(super) fn take_idle(sandboxes: &SharedSandboxes) -> Vec<Confined> {
        let Some(mut sandboxes) = sandboxes.try_lock() else {
            return Vec::new();
        };
        let idle = |made: &mut Made| made.confined.can_be_made_again();
        let idle = sandboxes.made.extract_if(.., idle);
        idle.map(|made| made.confined).collect()
    }

    /// Ends idle sandboxes, and waits until their processes and descriptors are gone.
    pub(super) async fn end(idle: Vec<Confined>) {
        idle.iter().for_each(Confined::end);
        let gone = async {
            for confined in &idle {
                confined.gone().await;
            }
        };
        _ = timeout(PATIENCE, gone).await;
        idle.iter().for_each(Confined::release);
    }

    /// Removes the temporary files of a chat. All its commands must have ended.
    pub(super) fn remove(sandboxes: &SharedSandboxes) {
        let sandboxes = std::mem::take(&mut *sandboxes.lock());
        let made = sandboxes.made.iter();
        made.for_each(|made| made.confined.release());
        sandboxes
            .directory
            .iter()
            .for_each(|directory| remove(directory));
    }

    /// Notes the temporary directory of a chat with a process that was taken over. Commands that the chat starts from now on have it, too.
    pub(super) fn adopt(sandboxes: &SharedSandboxes, directory: Option<PathBuf>) {
        let mut sandboxes = sandboxes.lock();
        sandboxes.directory = directory.or(sandboxes.directory.take());
    }

    /// Removes the temporary files of all chats, and the mounts over the layers of homes. All commands must have ended.
    pub(super) fn close(&self) {
        self.close_ahead();
        self.common.layers.close();
        if let Some(Some(temporary)) = self.temporary.get() {
            remove(temporary.path());
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Self::Own(directory) = self {
            remove(directory.path());
        }
    }
}

impl Temporary {
    fn open(state: Option<&Path>, kept: &[PathBuf]) -> io::Result<Self> {
        let Some(directory) = state else {
            let mut builder = tempfile::Builder::new();
            return Ok(Self::Own(
                for_this_user(&mut builder).prefix("toolhost-").tempdir()?,
            ));
        };
        let path = directory.join(TEMPORARY);
        if kept.is_empty() {
            remove(&path);
            private().create(&path)?;
            return Ok(Self::Kept(path));
        }
        if !path.exists() {
            private().create(&path)?;
        }
        for entry in std::fs::read_dir(&path)? {
            let entry = entry?.path();
            if !kept.contains(&entry) {
                remove(&entry);
            }
        }
        Ok(Self::Kept(path))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Own(directory) => directory.path(),
        }
    }
}

/// Makes a directory. Its name is short, because the path of a socket has at most 107 bytes.
fn make_directory(parent: &Path) -> io::Result<PathBuf> {
    let directory = for_this_user(&mut tempfile::Builder::new())
        .prefix("")
        .rand_bytes(8)
        .tempdir_in(parent)?;
    Ok(directory.keep())
}

/// Sets mode 0700 for a new directory. By default, the mode depends on the umask.
fn for_this_user<'a, 'b>(
    builder: &'a mut tempfile::Builder<'b, 'b>,
) -> &'a mut tempfile::Builder<'b, 'b> {
    builder.permissions(Permissions::from_mode(0o700))
}

fn private() -> std::fs::DirBuilder {
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

fn remove(directory: &Path) {
    match crate::removal::remove(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let path = directory.display();
            tracing::warn!(%path, %error, "files of commands cannot be removed");
        }
        _ => {}
    }
}
