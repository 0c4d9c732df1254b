//! `toolhost state`: looking after the store of a state directory.

mod recover;
mod upkeep;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};

use super::{Common, exit_code, print};
use toolhost_service::stderr;
use toolhost_state::state_dir::{Lock, StateDir, StateDirError, holder};
use toolhost_store::StoreFile;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost state check
  toolhost state backup /var/backups/toolhost-$(date +%F).db
  toolhost state export | jq 'select(.call.state == \"unknown\")'
  toolhost state recover --state-dir /var/lib/toolhost";

/// How long a command works before it says what it does.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find what is damaged in the store
    ///
    /// Reads everything and changes nothing, also while a host runs. Exit codes: 0 if nothing is wrong, 1 if something is, 2 if
    /// the store cannot be read.
    Check,
    /// Print everything in the store as lines of JSON
    ///
    /// Each line is an object with one key: chat, call, process, session or temporary. It works while a host runs. The lines
    /// contain what tools replied, and no tokens.
    Export {
        /// The file to write, which must not exist yet; only its owner can read it [default: standard output]
        file: Option<PathBuf>,
    },
    /// Give room that the store no longer uses back to the disk
    ///
    /// No host may run. The disk needs as much free space as the store has bytes.
    Compact,
    /// Copy the store into a file that a host can use instead
    ///
    /// It works while a host runs: the copy has what was stored when the command began. To restore it, end the host, remove
    /// store.db-wal and store.db-shm from the state directory, and copy the file over store.db.
    Backup {
        /// The file to write, which must not exist yet; only its owner can read it
        file: PathBuf,
    },
    /// Set a damaged store aside and make a new one of what can be read
    ///
    /// No host may run. A call of which only the id is left is unknown from then on, and never runs again. If it cannot be said
    /// which calls the store knew, nothing is changed. Exit codes: 0 if a host can start now, 2 otherwise.
    Recover,
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    let place = Place::open(common)?;
    match options.command {
        Command::Check => upkeep::check(common, place).await,
        Command::Export { file } => upkeep::export(place, file).await,
        Command::Compact => upkeep::compact(common, place).await,
        Command::Backup { file } => upkeep::backup(common, place, file).await,
        Command::Recover => recover::recover(common, place).await,
    }
}

/// A state directory that is there.
#[derive(Debug)]
pub(super) struct Place(StateDir);

impl Place {
    /// Opens the state directory that an option, the configuration or the environment names.
    pub(super) fn open(common: &Common) -> anyhow::Result<Self> {
        let path = common.state_dir();
        let path = path.context(
            "there is no state directory, as neither XDG_STATE_HOME nor HOME is set: name one with --state-dir",
        )?;
        if path.symlink_metadata().is_err() {
            bail!(
                "there is no state directory {}: name one with --state-dir",
                path.display()
            );
        }
        Ok(Self(StateDir::open(&path)?))
    }

    /// Returns the state directory.
    pub(super) fn directory(&self) -> &StateDir {
        &self.0
    }

    /// Takes the lock, so that no host starts meanwhile. If a host runs, says so and returns `None`: then only reading is allowed.
    fn lock_to_read(&self) -> anyhow::Result<Option<Lock>> {
        match self.0.lock() {
            Ok(lock) => Ok(Some(lock)),
            Err(StateDirError::Locked { path, pid }) => {
                stderr::line(format_args!(
                    "a toolhost{} uses {}: this is the store as it is now",
                    holder(pid),
                    path.display()
                ));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the file of the store.
    fn file(&self) -> anyhow::Result<StoreFile> {
        let file = StoreFile::open(&self.0)?;
        file.with_context(|| {
            let path = self.0.path().display();
            format!("there is no store in {path}: no host has kept calls there")
        })
    }
}

/// Does work that may take its time. If it does, says on a terminal what it is.
async fn patiently<T: Send + 'static>(
    doing: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<T> {
    let mut working = tokio::task::spawn_blocking(work);
    if let Ok(done) = tokio::time::timeout(PATIENCE, &mut working).await {
        return Ok(done?);
    }
    if io::stderr().is_terminal() {
        stderr::line(format_args!("{doing} …"));
    }
    Ok(working.await?)
}

/// Returns a size for people.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        _ => format!("{} MiB", bytes.div_ceil(1 << 20)),
    }
}
