//! The records that outlive a process: its saved output, and the journal by which a later host knows of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::time::timeout;

use super::chats::{Old, Owner};
use super::ends::LAST_WORDS;
use super::recovery::{Found, recover};
use super::{OpenError, Records};
use crate::process::Saved;
use crate::process::State;
use crate::process::journal::{self, Ended, Entry, Exited, Journal, Lost, Saving, Started};
use crate::process::record::Record;
use crate::process::running::Process;
use crate::process::saved::{ChatOutputs, OutputLocation, SaveLimits, SavedOutput, Store};
use toolhost_state::state_dir::{Lock, StateDir};

/// The saved outputs and the journal.
#[derive(Debug)]
pub(super) struct RecordStore {
    pub(super) store: Arc<Store>,
    pub(super) journal: Journal,
    /// Released last, because the next owner of the lock may read the store and the journal.
    lock: Option<Lock>,
}

impl RecordStore {
    /// Opens the records and returns the processes in them, in the order of starts.
    pub(super) fn open(
        records: Records,
        limits: SaveLimits,
    ) -> Result<(Self, Vec<Found>), OpenError> {
        match records {
            Records::Temporary(directory) => Self::open_temporary(directory, limits),
            Records::Kept(state) => Self::open_kept(state, limits),
            Records::KeptIfSpace(state, otherwise) => match Self::open_kept(state, limits) {
                Err(error) if error.is_full() => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "no space for records: the next start will not know of the processes of this one"
                    );
                    Self::open_temporary(otherwise, limits)
                }
                opened => opened,
            },
        }
    }

    fn open_temporary(
        directory: PathBuf,
        limits: SaveLimits,
    ) -> Result<(Self, Vec<Found>), OpenError> {
        let place = OutputLocation::Temporary(directory);
        let keeper = Self {
            store: Store::new(place, limits).map_err(OpenError::Saved)?,
            journal: Journal::none(),
            lock: None,
        };
        Ok((keeper, Vec::new()))
    }

    fn open_kept(state: StateDir, limits: SaveLimits) -> Result<(Self, Vec<Found>), OpenError> {
        let lock = state.lock()?;
        let (journal, known) = journal::open(&state).map_err(OpenError::Journal)?;
        let store =
            Store::new(OutputLocation::Directory(state), limits).map_err(OpenError::Saved)?;
        let keeper = Self {
            store,
            journal,
            lock: Some(lock),
        };
        let found = recover(&keeper.store, &keeper.journal, known);
        Ok((keeper, found))
    }

    /// Returns whether a later host can find these records.
    pub(super) fn is_kept(&self) -> bool {
        self.lock.is_some()
    }

    /// Waits until everything is saved, or removes it if it ends with the host. Blocks on the disk.
    pub(super) fn close(&self) {
        self.store.flush();
        self.store.remove_temporary();
    }

    /// Writes down that a process is about to be started.
    pub(super) fn starting(&self, record: &Record, output: &SavedOutput) {
        self.journal.append(&Entry::Started(Started {
            id: record.id.clone(),
            chat: record.chat.clone(),
            command: record.command.clone(),
            workdir: record.workdir.clone(),
            background: record.background,
            started: record.started,
            output: Some(output.location()),
            key: record.key.clone(),
        }));
    }

    /// Writes down that a process is forgotten.
    pub(super) fn forgotten(&self, id: &str) {
        self.journal.append(&Entry::Forgotten { id: id.to_owned() });
    }

    /// Writes down that a chat is forgotten. It does not cover entries that are written later, for starts that the chat had
    /// accepted: the caller that accepted them must write that they are forgotten.
    pub(super) fn chat_ended(&self, owner: &Owner, processes: &[Arc<Process>]) {
        match owner {
            Some(chat) => self
                .journal
                .append(&Entry::ChatEnded { chat: chat.clone() }),
            None => processes
                .iter()
                .for_each(|process| self.forgotten(process.id())),
        }
    }

    /// Writes down how the shell ended if other processes of it still run.
    pub(super) fn exited(&self, process: &Process) {
        let info = process.info();
        if let (State::Lingering(status), Some(exited)) = (info.state, info.exited) {
            self.journal.append(&Entry::Exited(Exited {
                id: info.id,
                status,
                exited,
            }));
        }
    }

    /// Closes the saved output of a process, and writes down how it ended.
    pub(super) async fn ended(&self, process: &Process) {
        process.saved.close();
        // Wait for the output first: otherwise a crash in between would leave less output than the journal says.
        process.saved.settled_soon(u64::MAX).await;
        let saving = match process.saved.status() {
            Saved::Complete => Saving::Complete,
            Saved::Partial(_) | Saved::None => Saving::Partial,
            Saved::Failed(why) => Saving::Failed(why),
        };
        let saved_bytes = process.saved.accepted();
        let info = process.info();
        let when = info.exited.unwrap_or_else(SystemTime::now);
        let over = process.progress().over.map_or(when, |(over, _)| over);
        let entry = match info.state {
            State::Exited(status) | State::Lingering(status) => Entry::Ended(Ended {
                id: info.id,
                status,
                exited: when,
                over,
                total: info.total,
                saved_bytes,
                saving: Some(saving),
            }),
            State::Lost(why) => Entry::Lost(Lost {
                id: info.id,
                why,
                when,
                total: info.total,
                saved_bytes,
                saving: Some(saving),
            }),
            // The life of the process is over, so it does not run.
            State::Running => return,
        };
        self.journal.append(&entry);
    }

    /// Removes old processes from the disk and the journal.
    pub(super) async fn remove(self: Arc<Self>, old: Vec<Old>) {
        let removal = move || {
            for Old { expired, forgotten } in old {
                self.expire(&expired);
                self.forget(&forgotten);
            }
        };
        if let Err(error) = tokio::task::spawn_blocking(removal).await {
            tracing::error!(%error, "failed to remove saved outputs");
        }
    }

    /// Removes the saved outputs of processes, whose states stay known. Blocks on the disk.
    fn expire(&self, processes: &[Arc<Process>]) {
        for process in processes {
            process.saved.remove();
            self.journal.append(&Entry::Gone {
                id: process.id().to_owned(),
            });
        }
    }

    /// Forgets processes. Blocks on the disk.
    pub(super) fn forget(&self, processes: &[Arc<Process>]) {
        for process in processes {
            process.saved.remove();
            self.forgotten(process.id());
        }
    }

    /// Removes the saved outputs of a chat that has ended. If the disk hangs, the removal goes on without a wait.
    pub(super) async fn remove_chat(&self, outputs: Arc<ChatOutputs>, processes: &[Arc<Process>]) {
        // Outputs of an earlier host may be in another directory.
        processes.iter().for_each(|process| process.saved.remove());
        let removal = tokio::task::spawn_blocking(move || outputs.remove());
        match timeout(LAST_WORDS, removal).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => {
                tracing::warn!(%error, "the saved outputs of a chat could not be removed")
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "failed to remove the saved outputs of a chat")
            }
            Err(_) => {
                tracing::warn!("the disk hangs: the saved outputs of a chat are removed later")
            }
        }
    }
}
