//! The sandboxes of commands: one for each chat, because each chat has temporary files of its own, and for each policy that a plugin
//! narrows further.

mod confined;
mod egress;
mod removal;

use std::borrow::Cow;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tempfile::TempDir;
use toolhost_sandbox::{Mode, Narrower, Policy, PrepareError, Report};
use toolhost_state::id::ChatId;
use toolhost_store::HostState;

use super::{Environment, Error, Spawner};
pub use confined::support;
pub(super) use confined::{Common, Confined};

/// The directory for temporary files of commands in the state directory.
const TEMPORARY: &str = "tmp";

/// The variables that name the directory for temporary files. Without the second, tmux makes its socket in `/tmp`.
pub const VARIABLES: [&str; 2] = ["TMPDIR", "TMUX_TMPDIR"];

/// What confines the commands of a workspace.
#[derive(Debug)]
pub(super) struct Confinement {
    common: Common,
    /// The state directory, if there is one.
    state: Option<PathBuf>,
    /// The directory of the chats' temporary directories, which the first sandbox needs; `None`: commands use that of the system.
    temporary: OnceLock<Option<Temporary>>,
}

/// The directory of the chats' temporary directories.
#[derive(Debug)]
enum Temporary {
    /// In the state directory, whose lock this host holds. The next host removes what a killed one left.
    Kept(PathBuf),
    Own(TempDir),
}

/// A place for the sandboxes of a chat, which its first commands make.
pub(super) type Place = Arc<Mutex<Sandboxes>>;

/// The sandboxes of a chat.
#[derive(Debug, Default)]
pub(super) struct Sandboxes {
    /// The directory for the temporary files of all of them; `None` until a command is confined.
    directory: Option<PathBuf>,
    /// As many as there are policies: the configuration and the two restrictions of a start bound them.
    made: Vec<(Policy, Confined)>,
}

impl Confinement {
    /// Reads the policy of a workspace. Without a spawner, no command can be confined.
    pub(super) fn open(
        policy: Policy,
        workspace: &Path,
        environment: &Environment,
        state: &HostState,
        spawner: Option<&Spawner>,
    ) -> Result<Self, PrepareError> {
        let mut policy = policy;
        if spawner.is_none() && policy.mode != Mode::Off {
            if policy.required {
                return Err(PrepareError::Missing("there is no spawner".to_owned()));
            }
            policy.mode = Mode::Off;
        }
        let state = state.directory().map(Path::to_path_buf);
        policy.never.extend(state.clone());
        let confinement = Self {
            common: Common::new(policy, workspace, environment, spawner),
            state,
            temporary: OnceLock::new(),
        };
        if confinement.common.policy.mode != Mode::Off {
            confinement.temporary();
        }
        // What cannot be applied is told now, and not at the first command.
        confinement.tell(confinement.common.prepare()?.report());
        Ok(confinement)
    }

    fn tell(&self, report: &Report) {
        if self.common.policy.mode == Mode::Off {
            return;
        }
        for gap in &report.missing {
            tracing::warn!("the sandbox of commands does not enforce the whole policy: {gap}");
        }
    }

    /// Returns the sandbox of a chat for a wish. It is made for the first command with this wish, and if its spawner has ended. Blocks
    /// on the disk. The caller is within a tokio runtime.
    pub(super) fn of_chat(
        &self,
        place: &Place,
        chat: Option<&ChatId>,
        wish: &Narrower,
    ) -> Result<Confined, Error> {
        let policy = match wish.is_empty() {
            true => Cow::Borrowed(&self.common.policy),
            false if self.common.spawner.is_none() => {
                return Err(Error::Failed(
                    "the command is to be confined further, which takes a spawner, and this host has none".into(),
                ));
            }
            false => Cow::Owned(self.common.policy.narrow(wish)),
        };
        let mut place = place.lock();
        place.made.retain(|(_, confined)| !confined.has_ended());
        if let Some((_, confined)) = place.made.iter().find(|(made, _)| *made == *policy) {
            return Ok(confined.clone());
        }
        if place.directory.is_none() && policy.mode != Mode::Off {
            place.directory = self.make_directory()?;
        }
        let directory = place.directory.clone();
        let directory = directory.filter(|_| policy.mode != Mode::Off);
        let confined = self.common.confine(&policy, directory, chat)?;
        place.made.push((policy.into_owned(), confined.clone()));
        Ok(confined)
    }

    fn temporary(&self) -> Option<&Temporary> {
        let open = || {
            let opened = Temporary::open(self.state.as_deref()).inspect_err(|error| {
                tracing::warn!(%error, "commands have no directory for temporary files");
            });
            opened.ok()
        };
        self.temporary.get_or_init(open).as_ref()
    }

    fn make_directory(&self) -> Result<Option<PathBuf>, Error> {
        let made = self.temporary().map(|temporary| {
            make_directory(temporary.path()).map_err(|error| {
                let path = temporary.path().display();
                Error::Failed(format!(
                    "no directory for temporary files can be made in {path}: {error}"
                ))
            })
        });
        made.transpose()
    }

    /// Removes the temporary files of a chat. No command of it may run any more.
    pub(super) fn remove(place: &Place) {
        let sandboxes = std::mem::take(&mut *place.lock());
        if let Some(directory) = sandboxes.directory {
            remove(&directory);
        }
    }

    /// Removes the temporary files of all chats. No command may run any more.
    pub(super) fn close(&self) {
        if let Some(Some(temporary)) = self.temporary.get() {
            remove(temporary.path());
        }
    }
}

impl Temporary {
    fn open(state: Option<&Path>) -> io::Result<Self> {
        let Some(directory) = state else {
            let mut builder = tempfile::Builder::new();
            return Ok(Self::Own(
                for_this_user(&mut builder).prefix("toolhost-").tempdir()?,
            ));
        };
        let path = directory.join(TEMPORARY);
        remove(&path);
        private().create(&path)?;
        Ok(Self::Kept(path))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Own(directory) => directory.path(),
        }
    }
}

/// Makes a directory with a short name: the path of a socket has 107 bytes at most.
fn make_directory(parent: &Path) -> io::Result<PathBuf> {
    let directory = for_this_user(&mut tempfile::Builder::new())
        .prefix("")
        .rand_bytes(8)
        .tempdir_in(parent)?;
    Ok(directory.keep())
}

/// Lets other users neither list nor enter what is made: the usual mode is that of the umask.
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
    match removal::remove(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let path = directory.display();
            tracing::warn!(%path, %error, "temporary files of commands stay");
        }
        _ => {}
    }
}
