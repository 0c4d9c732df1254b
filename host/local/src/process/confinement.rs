//! The sandboxes of commands: one for each chat, because each chat has temporary files of its own.

mod confined;
mod egress;
mod removal;

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tempfile::TempDir;
use toolhost_sandbox::{Mode, Policy, PrepareError, Report};
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
    /// The directory of the chats' temporary directories; `None`: commands are not confined, and use that of the system.
    temporary: Option<Temporary>,
}

/// The directory of the chats' temporary directories.
#[derive(Debug)]
enum Temporary {
    /// In the state directory, whose lock this host holds. The next host removes what a killed one left.
    Kept(PathBuf),
    Own(TempDir),
}

/// A place for the sandbox of a chat, which its first command makes.
pub(super) type Place = Arc<Mutex<Option<Confined>>>;

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
        policy
            .never
            .extend(state.directory().map(Path::to_path_buf));
        let temporary = match policy.mode {
            Mode::Off => None,
            Mode::ReadOnly | Mode::Workspace => Temporary::open(state)
                .inspect_err(|error| {
                    tracing::warn!(%error, "commands have no directory for temporary files");
                })
                .ok(),
        };
        let common = Common::new(policy, workspace, environment, spawner);
        let confinement = Self { common, temporary };
        // What cannot be applied is told now, and not at the first command.
        confinement.tell(confinement.common.prepare()?.report());
        Ok(confinement)
    }

    fn tell(&self, report: &Report) {
        if self.common.policy.mode == Mode::Off {
            return;
        }
        for gap in &report.missing {
            tracing::warn!("the sandbox of commands is not whole: {gap}");
        }
    }

    /// Returns the sandbox of a chat, and makes it if this is its first command, or if its spawner has ended. Blocks on the disk.
    /// The caller is within a tokio runtime.
    pub(super) fn of_chat(&self, place: &Place, chat: Option<&ChatId>) -> Result<Confined, Error> {
        let mut place = place.lock();
        let directory = match &*place {
            Some(confined) if !confined.has_ended() => return Ok(confined.clone()),
            Some(confined) => confined.directory.clone().map(|directory| directory.path),
            None => self.make_directory()?,
        };
        let confined = self.common.confine(directory, chat)?;
        *place = Some(confined.clone());
        Ok(confined)
    }

    fn make_directory(&self) -> Result<Option<PathBuf>, Error> {
        let made = self.temporary.as_ref().map(|temporary| {
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
        if let Some(directory) = place.lock().take().and_then(|confined| confined.directory) {
            remove(&directory.path);
        }
    }

    /// Removes the temporary files of all chats. No command may run any more.
    pub(super) fn close(&self) {
        if let Some(temporary) = &self.temporary {
            remove(temporary.path());
        }
    }
}

impl Temporary {
    fn open(state: &HostState) -> io::Result<Self> {
        let Some(directory) = state.directory() else {
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
