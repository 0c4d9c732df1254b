//! The journal of the ledger, which keeps a call from running twice after the host has stopped.

mod known;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::{Limits, Outcome, Request, ToolSet};
use known::{Cancelled, Ended, Entry, Knowledge, Started, Withdrawn, hex, now};
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::state_dir::StateDir;
use toolhost_state::state_dir::journal::{self, Known};

pub(super) use known::{Recovered, Remains};

/// The failures that the ledger survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the host, however it ends. Lines are handed to the kernel, and not synced. If a line cannot be written, as
    /// on a full disk, calls run all the same, and the journal writes the line as soon as it can. A host that is killed
    /// before that has not recorded the line.
    #[default]
    Host,
    /// The end of the machine as well. Lines are synced before a call begins, and before its caller is told of its end. A
    /// call that cannot be written down does not run.
    Power,
}

/// A text that names no durability.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no durability {0:?}: it is host or power")]
pub struct UnknownDurability(String);

impl std::str::FromStr for Durability {
    type Err = UnknownDurability;

    fn from_str(text: &str) -> Result<Self, UnknownDurability> {
        match text {
            "host" => Ok(Self::Host),
            "power" => Ok(Self::Power),
            other => Err(UnknownDurability(other.to_owned())),
        }
    }
}

/// Writes down what happens to calls.
#[derive(Debug)]
pub(super) struct Journal {
    lines: Arc<journal::Journal<Knowledge>>,
    durability: Durability,
    /// Lines that could not be written, oldest first. They are written as soon as the journal can be.
    unwritten: Mutex<VecDeque<Unwritten>>,
}

/// A line that could not be written.
#[derive(Debug)]
enum Unwritten {
    Line(Entry),
    End(End),
}

/// An end, of which a line is made when it is written.
#[derive(Debug)]
struct End {
    chat: ChatId,
    digest: [u8; 32],
    tombstone: bool,
    outcome: Arc<Outcome>,
}

/// The most lines that wait to be written. The oldest beyond are unknown to the next start.
const MAX_UNWRITTEN: usize = 8192;

/// The largest outcome that waits to be written, in bytes. Of a larger one, the next start knows only that the call has ended.
const MAX_WAITING: usize = 64 << 10;

impl Journal {
    /// Returns the journal of a ledger that forgets with its host.
    pub(super) fn none() -> Self {
        Self {
            lines: Arc::new(journal::Journal::none()),
            durability: Durability::Host,
            unwritten: Mutex::default(),
        }
    }

    /// Opens the journal of a state directory and returns the calls that it knew, oldest first.
    pub(super) fn open(
        directory: &StateDir,
        limits: &Limits,
        durability: Durability,
    ) -> io::Result<(Self, Vec<Recovered>)> {
        let nothing = Knowledge::nothing(limits);
        let synced = durability == Durability::Power;
        let (lines, known) = journal::Journal::open(directory, nothing, synced)?;
        let journal = Self {
            lines: Arc::new(lines),
            durability,
            unwritten: Mutex::default(),
        };
        Ok((journal, known.into_recovered()))
    }

    /// Returns the bytes of the journal, how many times something was written to it, and how many of these failed.
    pub(super) fn counts(&self) -> (u64, u64, u64) {
        self.lines.counts()
    }

    /// Returns whether anything is written down.
    pub(super) fn is_kept(&self) -> bool {
        self.lines.is_kept()
    }

    /// Returns whether callers are told of an end only once it is on the disk.
    pub(super) fn is_synced(&self) -> bool {
        self.durability == Durability::Power
    }

    /// Writes down that a call is about to run. If this fails, it must not.
    pub(super) async fn started(&self, request: &Request, digest: &[u8; 32]) -> io::Result<()> {
        let started = Started {
            chat: request.chat.to_string(),
            call: request.id.to_string(),
            tool: request.tool.clone(),
            digest: hex(digest),
            at: now(),
        };
        let written = self.write(Entry::Started(started)).await;
        if written.is_err() {
            // The line may be in the file all the same, if only the sync failed.
            let (chat, call) = (request.chat.to_string(), request.id.to_string());
            self.lines
                .append(&Entry::Withdrawn(Withdrawn { chat, call }));
        }
        written
    }

    /// Writes down how a call ended. If the line cannot be written now, the error was logged, and the line is written as soon
    /// as it can be. The caller is told all the same.
    pub(super) async fn ended(
        &self,
        chat: &ChatId,
        digest: &[u8; 32],
        tombstone: bool,
        outcome: &Arc<Outcome>,
    ) {
        let end = End {
            chat: chat.clone(),
            digest: *digest,
            tombstone,
            outcome: Arc::clone(outcome),
        };
        let line = end.entry(usize::MAX);
        if self.append(&line).is_ok() {
            _ = self.synced().await;
            return;
        }
        let small = outcome.size() <= MAX_WAITING;
        self.keep(match small {
            true => Unwritten::End(end),
            false => Unwritten::Line(end.entry(MAX_WAITING)),
        });
    }

    /// Writes down that a call was cancelled, whether or not it has arrived. A call of one of these tools that arrives later
    /// does not run.
    pub(super) async fn cancelled(
        &self,
        chat: &ChatId,
        call: &CallId,
        tools: &ToolSet,
    ) -> io::Result<()> {
        self.write(Entry::Cancelled(Cancelled {
            chat: chat.to_string(),
            call: call.to_string(),
            at: now(),
            tools: tools.as_deref().cloned(),
        }))
        .await
    }

    /// Writes the lines that could not be written before, as far as possible now.
    pub(super) fn catch_up(&self) {
        _ = self.caught_up(&mut self.unwritten());
    }

    fn caught_up(&self, unwritten: &mut VecDeque<Unwritten>) -> io::Result<()> {
        while let Some(next) = unwritten.front() {
            match next {
                Unwritten::Line(line) => self.lines.try_append(line)?,
                Unwritten::End(end) => self.lines.try_append(&end.entry(usize::MAX))?,
            }
            unwritten.pop_front();
        }
        Ok(())
    }

    /// Writes a line behind those that could not be written before.
    fn append(&self, line: &Entry) -> io::Result<()> {
        {
            let mut unwritten = self.unwritten();
            if !unwritten.is_empty() {
                self.caught_up(&mut unwritten)?;
            }
        }
        self.lines.try_append(line)
    }

    fn keep(&self, line: Unwritten) {
        let mut unwritten = self.unwritten();
        if unwritten.len() >= MAX_UNWRITTEN {
            unwritten.pop_front();
        }
        unwritten.push_back(line);
    }

    fn unwritten(&self) -> MutexGuard<'_, VecDeque<Unwritten>> {
        self.unwritten.lock()
    }

    /// Writes a line. With [`Durability::Host`], a line that cannot be written now is kept and written later.
    async fn write(&self, line: Entry) -> io::Result<()> {
        let written = self.append(&line);
        if self.is_synced() {
            written?;
            return self.synced().await;
        }
        if written.is_err() {
            self.keep(Unwritten::Line(line));
        }
        Ok(())
    }

    /// Waits until all written lines are on the disk, if the durability is [`Durability::Power`].
    async fn synced(&self) -> io::Result<()> {
        if !self.is_synced() {
            return Ok(());
        }
        let lines = Arc::clone(&self.lines);
        let synced = tokio::task::spawn_blocking(move || lines.sync()).await;
        synced.map_err(io::Error::other)?.inspect_err(|error| {
            tracing::warn!(%error, "the journal of calls cannot be synced");
        })
    }
}

impl End {
    /// Returns the line of the end, with the outcome if that is no longer than `most` bytes.
    fn entry(&self, most: usize) -> Entry {
        let json = match serde_json::value::to_raw_value(&*self.outcome) {
            Ok(json) => Some(json),
            Err(error) => {
                tracing::warn!(%error, "an outcome cannot be written down");
                None
            }
        };
        // A call whose outcome is too long for a line still must not run again.
        let most = most.min(Knowledge::LONGEST / 2);
        Entry::Ended(Ended {
            chat: self.chat.to_string(),
            call: self.outcome.id.to_string(),
            digest: hex(&self.digest),
            at: now(),
            tombstone: self.tombstone,
            outcome: json.filter(|json| json.get().len() <= most),
        })
    }
}

#[cfg(test)]
impl Journal {
    /// Has further lines written to this file, or to its own again.
    pub(super) fn replace_file(&self, file: Option<std::fs::File>) {
        let shared = self.lines.shared.as_ref();
        let mut out = shared.map(|shared| shared.out());
        if let Some(out) = &mut out {
            out.file = file.map(Arc::new);
        }
    }
}
