//! The options that every command has.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use toolhost_local::files::Temporaries;
use toolhost_local::process::Records;
use toolhost_state::state_dir::StateDir;

use crate::{errors, logging};

/// The options that every command has.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
#[group(skip)]
pub struct Common {
    /// The directory in which commands run [default: the current directory]
    #[arg(long, global = true, value_name = "DIR", env = "TOOLHOST_WORKSPACE")]
    pub workspace: Option<PathBuf>,
    /// Where compiled code and records of processes are kept [default: $XDG_STATE_HOME/toolhost or ~/.local/state/toolhost]
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
    /// Returns the path of the state directory; `None` if neither an option nor the environment names one.
    pub fn state_dir(&self) -> Option<PathBuf> {
        self.state_dir.clone().or_else(StateDir::default_path)
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

    /// Returns where records are kept: in the state directory if possible, so that a later start finds them.
    ///
    /// A directory that the operator named must work. If the default one cannot be used, is locked by another host, or has no
    /// space, records are temporary and end with this program.
    pub(crate) fn records(&self) -> anyhow::Result<Records> {
        let temporary = |error: String| {
            tracing::warn!(
                error,
                "the next start will know neither the processes nor the calls of this one: a call that is repeated then runs again"
            );
            Records::Temporary(std::env::temp_dir())
        };
        let Some(path) = self.state_dir() else {
            return Ok(temporary("neither XDG_STATE_HOME nor HOME is set".into()));
        };
        // The lock is released at once: the registry takes it again when it opens the records.
        let opened = StateDir::open(&path).and_then(|state| state.lock().map(|_| state));
        match opened {
            Ok(state) if self.state_dir.is_none() => {
                Ok(Records::KeptIfSpace(state, std::env::temp_dir()))
            }
            Ok(state) => Ok(Records::Kept(state)),
            Err(error) if self.state_dir.is_none() => Ok(temporary(errors::told(&error.into()))),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns where the names of temporary files are kept. A directory that the operator named must work.
    pub(crate) fn temporaries(&self) -> anyhow::Result<Temporaries> {
        let Some(path) = self.state_dir() else {
            return Ok(Temporaries::Forgotten);
        };
        match StateDir::open(&path) {
            Ok(state) if self.state_dir.is_some() => Ok(Temporaries::Kept(state)),
            Ok(state) => Ok(Temporaries::KeptIfPossible(state)),
            Err(error) if self.state_dir.is_some() => Err(error.into()),
            // `records` has already logged this error.
            Err(_) => Ok(Temporaries::Forgotten),
        }
    }
}
