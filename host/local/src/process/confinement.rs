//! The sandboxes of commands: one for each chat, because each chat has temporary files of its own.

mod removal;

use std::ffi::OsString;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tempfile::TempDir;
use toolhost_sandbox::{Mode, Places, Policy, PrepareError, Report, Sandbox, Support};
use toolhost_store::HostState;

use super::{Command, Environment, Error};

/// The directory for temporary files of commands in the state directory.
const TEMPORARY: &str = "tmp";

/// The variables that name the directory for temporary files. Without the second, tmux makes its socket in `/tmp`.
pub const VARIABLES: [&str; 2] = ["TMPDIR", "TMUX_TMPDIR"];

/// What confines the commands of a workspace.
#[derive(Debug)]
pub(super) struct Confinement {
    policy: Policy,
    places: Places,
    support: Support,
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

/// The sandbox of the commands of one chat.
#[derive(Clone, Debug)]
pub(super) struct Confined {
    pub(super) sandbox: Arc<Sandbox>,
    /// The directory for its temporary files.
    directory: Option<PathBuf>,
}

/// A place for the sandbox of a chat, which its first command makes.
pub(super) type Place = Arc<Mutex<Option<Confined>>>;

/// Returns the places of a workspace, for commands with these variables.
pub(super) fn places(policy: &Policy, workspace: &Path, environment: &Environment) -> Places {
    let places = Places::new(workspace, environment.variables());
    if policy.mode == Mode::Workspace {
        places.make_caches();
    }
    places
}

impl Confinement {
    /// Reads the policy of a workspace. Without a spawner, no command can be confined.
    pub(super) fn open(
        policy: Policy,
        workspace: &Path,
        environment: &Environment,
        state: &HostState,
        has_spawner: bool,
    ) -> Result<Self, PrepareError> {
        let mut policy = policy;
        if !has_spawner && policy.mode != Mode::Off {
            if policy.required {
                return Err(PrepareError::Missing("there is no spawner".to_owned()));
            }
            policy.mode = Mode::Off;
        }
        policy
            .never
            .extend(state.directory().map(Path::to_path_buf));
        let places = places(&policy, workspace, environment);
        let temporary = match policy.mode {
            Mode::Off => None,
            Mode::ReadOnly | Mode::Workspace => Temporary::open(state)
                .inspect_err(|error| {
                    tracing::warn!(%error, "commands have no directory for temporary files");
                })
                .ok(),
        };
        let confinement = Self {
            policy,
            places,
            support: Support::detect(),
            temporary,
        };
        // What cannot be applied is told now, and not at the first command.
        let sandbox = confinement.sandbox(&confinement.places)?;
        confinement.tell(sandbox.report());
        Ok(confinement)
    }

    fn tell(&self, report: &Report) {
        if self.policy.mode == Mode::Off {
            return;
        }
        for gap in &report.missing {
            tracing::warn!("the sandbox of commands is not whole: {gap}");
        }
    }

    /// Returns the sandbox of a chat, and makes it if this is its first command. Blocks on the disk.
    pub(super) fn of_chat(&self, place: &Place) -> Result<Confined, Error> {
        let mut place = place.lock();
        if let Some(confined) = &*place {
            return Ok(confined.clone());
        }
        let mut places = self.places.clone();
        let directory = match &self.temporary {
            Some(temporary) => {
                let made = make_directory(temporary.path());
                Some(made.map_err(|error| {
                    let path = temporary.path().display();
                    Error::Failed(format!(
                        "no directory for temporary files can be made in {path}: {error}"
                    ))
                })?)
            }
            None => None,
        };
        places.temporary.extend(directory.clone());
        let sandbox = self.sandbox(&places);
        let confined = Confined {
            sandbox: Arc::new(sandbox.map_err(|error| Error::Failed(error.to_string()))?),
            directory,
        };
        *place = Some(confined.clone());
        Ok(confined)
    }

    fn sandbox(&self, places: &Places) -> Result<Sandbox, PrepareError> {
        Sandbox::prepare(&self.policy, places, &self.support)
    }

    /// Removes the temporary files of all chats. No command may run any more.
    pub(super) fn close(&self) {
        if let Some(temporary) = &self.temporary {
            remove(temporary.path());
        }
    }
}

impl Confined {
    /// Returns the variables that a command gets besides its own.
    pub(super) fn variables(&self, command: &Command) -> Vec<(OsString, OsString)> {
        let Some(directory) = &self.directory else {
            return Vec::new();
        };
        let is_set = |name: &str| command.env.iter().any(|(own, _)| own == name);
        let names = VARIABLES.into_iter().filter(|name| !is_set(name));
        names.map(|name| (name.into(), directory.into())).collect()
    }

    /// Removes the temporary files of a chat. No command of it may run any more.
    pub(super) fn remove(place: &Place) {
        if let Some(directory) = place.lock().take().and_then(|confined| confined.directory) {
            remove(&directory);
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
