//! The witness: a small file beside the database that names the calls whose beginning only the write-ahead log holds.
//!
//! SQLite ends its recovery at the first frame of the log that is damaged, and does not say that frames behind it are lost. The
//! witness does: every id in it must be in the database. It is emptied when the log is, so it stays short.

use std::fs::File;
use std::io::{self, Write};

use toolhost_state::state_dir::StateDir;

/// The name of the file.
pub(super) const FILE: &str = "store.seen";

/// The digest of chat and call.
pub(super) type Key = [u8; 16];

/// The bytes of a record: a key, and a checksum of it.
const RECORD: usize = 24;

/// The key of a record that every witness has, behind the calls that ran when it was emptied.
const FIRST: Key = *b"toolhost witness";

/// The key of the record that says that the log is being emptied.
const EMPTYING: Key = *b"log in emptying.";

/// An open witness.
#[derive(Debug)]
pub(super) struct Witness {
    /// `None` for a store in memory, which loses nothing that it has.
    file: Option<File>,
    length: u64,
    is_told: bool,
}

/// The contents of a witness when it was opened.
#[derive(Debug, Default)]
pub(super) struct Testimony {
    /// Calls that began.
    pub(super) keys: Vec<Key>,
    /// Whether the log was being emptied.
    pub(super) emptying: bool,
    /// Whether no record is damaged, so that every call that ran is among `keys`.
    pub(super) is_whole: bool,
}

/// Returns the digest of chat and call.
pub(super) fn key(chat: &str, call: &str) -> Key {
    let mut hasher = blake3::Hasher::new();
    // No chat id contains this byte.
    hasher
        .update(chat.as_bytes())
        .update(b"/")
        .update(call.as_bytes());
    let mut key = Key::default();
    hasher.finalize_xof().fill(&mut key);
    key
}

impl Witness {
    /// Returns the witness of a store in memory.
    pub(super) fn none() -> Self {
        Self {
            file: None,
            length: 0,
            is_told: false,
        }
    }

    /// Reads the witness. Records that are damaged say nothing.
    pub(super) fn read(directory: &StateDir) -> io::Result<(Vec<u8>, Testimony)> {
        let old = directory.read(FILE, u64::MAX)?.unwrap_or_default();
        let mut said = Testimony::default();
        let (mut begins, mut damaged) = (false, old.len() % RECORD);
        for record in old.chunks_exact(RECORD) {
            let Some((key, sum)) = record.split_first_chunk::<16>() else {
                continue;
            };
            match *key {
                _ if sum == checksum(key).map(|byte| !byte) => said.keys.retain(|one| one != key),
                _ if sum != checksum(key) => damaged += 1,
                FIRST => begins = true,
                EMPTYING => said.emptying = true,
                key => said.keys.push(key),
            }
        }
        said.is_whole = begins && damaged == 0;
        Ok((old, said))
    }

    /// Opens the witness and reads it.
    pub(super) fn open(directory: &StateDir) -> io::Result<(Self, Testimony)> {
        let (old, said) = Self::read(directory)?;
        let file = directory.append_file(FILE)?;
        // Half of a record would shift those behind it.
        let length = (old.len() - old.len() % RECORD) as u64;
        file.set_len(length)?;
        let witness = Self {
            file: Some(file),
            length,
            is_told: false,
        };
        Ok((witness, said))
    }

    /// Returns whether there is a witness with at least one byte.
    pub(super) fn is_there(directory: &StateDir) -> io::Result<bool> {
        let file = directory.open_file(FILE)?;
        Ok(file.is_some_and(|file| file.metadata().is_ok_and(|data| data.len() > 0)))
    }

    /// Adds calls that began. A witness that cannot be written only protects less.
    pub(super) fn add(&mut self, keys: &[Key]) {
        self.write(
            &keys
                .iter()
                .flat_map(|key| record(key, checksum(key)))
                .collect::<Vec<_>>(),
        );
    }

    /// Takes back that a call began.
    pub(super) fn take_back(&mut self, key: &Key) {
        self.write(&record(key, checksum(key).map(|byte| !byte)));
    }

    fn write(&mut self, records: &[u8]) {
        let Some(file) = &mut self.file else {
            return;
        };
        if let Err(error) = file.write_all(records) {
            _ = file.set_len(self.length);
            if !std::mem::replace(&mut self.is_told, true) {
                tracing::warn!(%error, "the witness of the store cannot be written: a loss in the log of the database would go unnoticed");
            }
            return;
        }
        self.length += records.len() as u64;
    }

    /// Notes that the log is about to be emptied.
    pub(super) fn begin_emptying(&mut self) {
        self.add(&[EMPTYING]);
    }

    /// Forgets all calls but those that run, because the log is empty.
    pub(super) fn clear(&mut self, running: impl Iterator<Item = Key>) {
        self.is_told = false;
        let Some(file) = &self.file else {
            return;
        };
        match file.set_len(0) {
            Ok(()) => self.length = 0,
            Err(error) => tracing::warn!(%error, "the witness of the store cannot be emptied"),
        }
        self.add(&running.chain([FIRST]).collect::<Vec<_>>());
    }
}

fn checksum(key: &Key) -> [u8; 8] {
    let mut sum = [0; 8];
    blake3::Hasher::new()
        .update(key)
        .finalize_xof()
        .fill(&mut sum);
    sum
}

fn record(key: &Key, sum: [u8; 8]) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    let (start, rest) = record.split_at_mut(key.len());
    start.copy_from_slice(key);
    rest.copy_from_slice(&sum);
    record
}
