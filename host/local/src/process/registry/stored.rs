//! Processes as the store keeps them.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use toolhost_store::{OutputFile, Process as StoredProcess, ProcessState};

use crate::process::record::Record;
use crate::process::running::Process;
use crate::process::saved::{Known, SavedOutput};
use crate::process::{Saved, State};
use toolhost_state::unix_time;

/// How a process ended. Times are milliseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct End {
    /// How its shell ended: as it lingers or has exited, or why it is lost.
    pub(super) state: State,
    /// When its shell exited, or when the host found that it was lost.
    pub(super) exited_ms: u64,
    /// When nothing of it was left; `None` while something is.
    pub(super) over_ms: Option<u64>,
    /// How many bytes it wrote, as far as is known.
    pub(super) total: u64,
    /// How its output was saved; `None` if no host saw the end of the output.
    pub(super) saved: Option<SavedEnd>,
}

/// How the output of an ended process was saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedEnd {
    /// How many bytes were saved.
    pub(super) bytes: u64,
    /// Why the other bytes were not saved, if the disk failed.
    pub(super) failure: Option<String>,
}

impl End {
    /// Returns the facts about the output; `None` if no host saw its end.
    pub(super) fn known(&self) -> Option<Known> {
        let saved = self.saved.as_ref()?;
        Some(Known {
            total: self.total,
            saved: saved.bytes,
            failure: saved.failure.clone(),
        })
    }
}

/// Returns a process that is about to start.
pub(super) fn starting(record: &Record, output: &SavedOutput) -> StoredProcess {
    StoredProcess {
        id: record.id.clone(),
        chat: record.chat.clone(),
        key: record.key.clone(),
        state: ProcessState::Running,
        command: record.command.clone(),
        // Of a name that is not UTF-8, only the part that reads as text is kept.
        workdir: record.workdir.to_string_lossy().into_owned(),
        background: record.background,
        started_ms: unix_time::to_ms(record.started),
        output: Some(output.location()),
        end: None,
    }
}

/// Returns a process as it is now.
pub(super) fn current(process: &Process) -> StoredProcess {
    let info = process.info();
    let over = process.progress().over.map(|(over, _)| over);
    let saved = over.map(|_| SavedEnd {
        bytes: process.saved.accepted(),
        failure: match process.saved.status() {
            Saved::Failed(why) => Some(why),
            Saved::Complete | Saved::Partial(_) | Saved::None => None,
        },
    });
    let exited = info.exited.or(over).unwrap_or_else(SystemTime::now);
    let end = End {
        state: info.state,
        exited_ms: unix_time::to_ms(exited),
        over_ms: over.map(unix_time::to_ms),
        total: info.total,
        saved,
    };
    let started = starting(&process.record, &process.saved);
    StoredProcess {
        output: started.output.clone().filter(|_| !info.expired),
        ..ended(started, &end)
    }
}

/// Adds its end to a process.
pub(super) fn ended(process: StoredProcess, end: &End) -> StoredProcess {
    StoredProcess {
        state: match end.state {
            State::Running => ProcessState::Running,
            State::Lingering(_) => ProcessState::Lingering,
            State::Exited(_) => ProcessState::Ended,
            State::Lost(_) => ProcessState::Lost,
        },
        end: Some(serde_json::json!(end)),
        ..process
    }
}

/// Returns the parts of a stored process: its record, its output, and its end if its shell has exited.
pub(super) fn parts(stored: StoredProcess) -> (Record, Option<OutputFile>, Option<End>) {
    let record = Record {
        id: stored.id,
        chat: stored.chat,
        command: stored.command,
        workdir: PathBuf::from(stored.workdir),
        background: stored.background,
        started: unix_time::from_ms(stored.started_ms),
        key: stored.key,
    };
    // Its checksum is right, so only another version of this program can have written an end that does not read.
    let end = stored.end.and_then(|end| serde_json::from_value(end).ok());
    (record, stored.output, end)
}
