//! The options that every command has.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use clap::builder::FalseyValueParser;
use toolhost_state::closed::{contains, leads_through};
use toolhost_state::home;
use toolhost_state::state_dir::StateDir;
use toolhost_store::{Durability, HostState, HostStateError};

use crate::{errors, logging};

/// The socket in a state directory at which its server listens.
const LOCAL_SOCKET: &str = "toolhost.sock";

/// The advice in the error of a workspace that is refused.
pub const CHOOSE: &str =
    "choose a directory below with --workspace, or open this one with --workspace-anyway";

/// The options that every command has.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
#[group(skip)]
pub struct Common {
    /// The directory in which commands run [default: the current directory]
    #[arg(long, global = true, value_name = "DIR", env = "TOOLHOST_WORKSPACE")]
    pub workspace: Option<PathBuf>,
    /// Take also a workspace that is or contains the home, the configuration or the state directory, such as `/`. Keys and the files of
    /// Toolhost stay closed
    #[arg(
        long,
        global = true,
        env = "TOOLHOST_WORKSPACE_ANYWAY",
        value_parser = FalseyValueParser::new()
    )]
    pub workspace_anyway: bool,
    /// Where records of calls and processes are kept; compiled code is in $XDG_CACHE_HOME/toolhost or ~/.cache/toolhost [default: $XDG_STATE_HOME/toolhost or ~/.local/state/toolhost]
    #[arg(long, global = true, value_name = "DIR", env = "TOOLHOST_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
    /// The log level, or a filter such as `toolhost=debug`
    #[arg(
        long,
        value_parser = logging::filter,
        global = true,
        value_name = "FILTER",
        env = "TOOLHOST_LOG",
        default_value = "warn,toolhost=info"
    )]
    pub log: String,
    /// The format of log lines
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        env = "TOOLHOST_LOG_FORMAT",
        default_value = "text"
    )]
    pub log_format: logging::LogFormat,
}

impl Common {
    /// Returns the absolute path of the state directory; `None` if neither an option nor the environment names one.
    pub fn state_dir(&self) -> Option<PathBuf> {
        let named = self.state_dir.as_ref();
        let named = named.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
        named.or_else(StateDir::default_path)
    }

    /// Returns the absolute path of the socket in the state directory, by which commands of this user find its server; `None` if
    /// there is no state directory.
    pub fn local_socket(&self) -> Option<PathBuf> {
        Some(self.state_dir()?.join(LOCAL_SOCKET))
    }

    /// Returns the directories that commands and tools must not reach: the state directory, and the code that all hosts of this user share.
    pub fn private_directories(&self) -> impl Iterator<Item = PathBuf> + use<> {
        let all = [self.state_dir(), StateDir::default_cache_path()];
        all.into_iter().flatten()
    }

    /// Returns the directory for the compiled code that all hosts of this user share; `None` if there is none, or if it is in the
    /// workspace: where commands may write, not every sandbox can close a path.
    pub fn shared_code(&self) -> Option<PathBuf> {
        let shared = StateDir::default_cache_path()?;
        let workspace = self.workspace().ok()?.canonicalize().ok()?;
        let mut above = shared.ancestors();
        let place = above.find_map(|path| path.canonicalize().ok())?;
        (!place.starts_with(workspace)).then_some(shared)
    }

    /// Returns the directory in which commands run.
    pub fn workspace(&self) -> anyhow::Result<PathBuf> {
        match &self.workspace {
            Some(workspace) => std::path::absolute(workspace).with_context(|| {
                format!("{} cannot be used as the workspace", workspace.display())
            }),
            None => std::env::current_dir()
                .context("the current directory cannot be used as the workspace"),
        }
    }

    /// Checks that the workspace is a directory for work: not one that is or contains the home, this configuration file, the usual place
    /// of the configuration, the state directory or the code cache.
    ///
    /// # Errors
    ///
    /// If it is no such directory, unless the operator wants it anyway.
    pub fn check_workspace(&self, configuration: Option<&Path>) -> anyhow::Result<()> {
        self.refuse(self.unsuitable(configuration)?)
    }

    /// Checks that none of these files is in the workspace: tokens, keys, the audit trail, the program of the approval hook. A command
    /// that may write the directories above such a file can put another one in its place, although it cannot reach the file.
    ///
    /// # Errors
    ///
    /// If one of them is there, unless the operator wants it anyway.
    pub fn check_files(&self, files: impl IntoIterator<Item = PathBuf>) -> anyhow::Result<()> {
        self.refuse(self.relied_upon(files)?)
    }

    /// Refuses the workspace for a reason, unless the operator wants it anyway.
    ///
    /// # Errors
    ///
    /// If there is a reason.
    pub fn refuse(&self, reason: Option<String>) -> anyhow::Result<()> {
        match reason {
            Some(reason) if !self.workspace_anyway => bail!("{reason}; {CHOOSE}"),
            _ => Ok(()),
        }
    }

    /// Returns the reason why the workspace should not have one of these files in it; `None` if it has none of them.
    pub fn relied_upon(
        &self,
        files: impl IntoIterator<Item = PathBuf>,
    ) -> anyhow::Result<Option<String>> {
        let workspace = self.workspace()?;
        let mut files = files.into_iter();
        let found = files.find(|file| leads_through(&workspace, file));
        Ok(found.map(|file| {
            format!(
                "the workspace {} contains {}, on which the host relies",
                workspace.display(),
                file.display()
            )
        }))
    }

    /// Returns the reason why the workspace is no directory for work; `None` if it is one.
    pub fn unsuitable(&self, configuration: Option<&Path>) -> anyhow::Result<Option<String>> {
        let workspace = self.workspace()?;
        let homes = [home::of_environment(), home::of_system()];
        let homes = homes.into_iter().flatten().map(|path| ("the home", path));
        // A configuration that is not there yet would be read at the next start.
        let usual = home::configuration();
        let configurations = configuration
            .map(Path::to_path_buf)
            .into_iter()
            .chain(usual);
        let configurations = configurations.map(|path| ("the configuration", path));
        let state = self.state_dir().map(|path| ("the state directory", path));
        let code = StateDir::default_cache_path().map(|path| ("the code cache", path));
        let mut all = homes.chain(configurations).chain(state).chain(code);
        let found = all.find(|(_, path)| leads_through(&workspace, path));
        let shown = workspace.display();
        let whole = || format!("the workspace {shown} is the whole file system");
        Ok(match found {
            _ if workspace
                .canonicalize()
                .is_ok_and(|real| real.parent().is_none()) =>
            {
                Some(whole())
            }
            Some((name, path)) if contains(&path, &workspace) => {
                Some(format!("the workspace {shown} is {name} of this user"))
            }
            Some((name, path)) => Some(format!(
                "the workspace {shown} contains {name} {}",
                path.display()
            )),
            None => None,
        })
    }

    /// Opens the state in which calls and processes are kept: that of the state directory if possible, so that a later start finds
    /// them.
    ///
    /// A directory that the operator named must work. If the default one cannot be used or is locked by another host, the state is
    /// temporary and ends with this program.
    pub fn open_state(&self, durability: Durability) -> anyhow::Result<HostState> {
        let temporary = |error: String| {
            tracing::warn!(
                error,
                "the next start will know neither the processes nor the calls of this one: a call that is repeated then runs again"
            );
            Ok(HostState::temporary(std::env::temp_dir())?)
        };
        let Some(path) = self.state_dir() else {
            return temporary("neither XDG_STATE_HOME nor HOME is set".into());
        };
        let directory = StateDir::open(&path).map_err(HostStateError::Directory);
        match directory.and_then(|directory| HostState::open(&directory, durability)) {
            Err(error @ HostStateError::Directory(_)) if self.state_dir.is_none() => {
                temporary(errors::full_text(&error.into()))
            }
            opened => Ok(opened?),
        }
    }
}
