//! The witness: a small file beside the database that names the calls whose beginning only the write-ahead log holds.
//!
//! SQLite ends its recovery at the first frame of the log that is damaged, and does not say that frames behind it are lost. The
//! witness does: every id in it must be in the database. It is emptied when the log is, so it stays short.
//!
//! The file has room ahead of its last record: zeros, for which the disk has space already. On a full disk, the host notes each call
//! there before the call runs.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use toolhost_state::state_dir::StateDir;

/// The name of the file.
pub(super) const FILE: &str = "store.seen";

/// The digest of chat and call.
pub(super) type Key = [u8; 16];

/// The bytes of a record: a key, and a checksum of it.
const RECORD: usize = 24;

/// The bytes of the least room ahead of the last record, for 4,096 calls. As much again is added at once.
const ROOM: u64 = 4096 * RECORD as u64;

/// The key of a record that every witness has, behind the calls that ran when it was emptied.
const FIRST: Key = *b"toolhost witness";

/// The key of the record that says that the log is being emptied.
const EMPTYING: Key = *b"log in emptying.";

/// An open witness.
#[derive(Debug)]
pub(super) struct Witness {
    /// `None` for a store in memory, which loses nothing that it has.
    file: Option<File>,
    /// The end of the last record.
    length: u64,
    /// The end of the bytes for which the disk has space.
    allocated: u64,
    /// Calls that were noted and that the database may lack.
    noted: HashSet<Key>,
    /// Whether the file gets nothing but notes, because the database of this host is in memory.
    has_only_notes: bool,
    /// Why a file for notes cannot be opened.
    refused: Option<io::ErrorKind>,
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
        Self::of(None, 0, 0)
    }

    fn of(file: Option<File>, length: u64, allocated: u64) -> Self {
        Self {
            file,
            length,
            allocated,
            noted: HashSet::new(),
            has_only_notes: false,
            refused: None,
            is_told: false,
        }
    }

    /// Reads the witness. Records that are damaged say nothing.
    pub(super) fn read(directory: &StateDir) -> io::Result<(Vec<u8>, Testimony)> {
        let old = directory.read(FILE, u64::MAX)?.unwrap_or_default();
        let mut said = Testimony::default();
        let (mut begins, mut damaged) = (false, 0);
        for record in old.chunks(RECORD).filter(|record| is_used(record)) {
            let Some((key, sum)) = record.split_first_chunk::<16>() else {
                damaged += 1;
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
        // A call that was noted is added again when the database takes it.
        let mut named = HashSet::new();
        said.keys.retain(|key| named.insert(*key));
        // A host that was killed while it emptied the witness may have left half of it.
        said.is_whole = begins && damaged == 0 && !said.emptying;
        Ok((old, said))
    }

    /// Opens the witness and reads it.
    pub(super) fn open(directory: &StateDir) -> io::Result<(Self, Testimony)> {
        let (old, said) = Self::read(directory)?;
        let file = directory.update_file(FILE)?;
        let used = old.chunks(RECORD).rposition(is_used);
        let length = used.map_or(0, |last| (last + 1) * RECORD) as u64;
        let witness = Self::of(Some(file), length, old.len() as u64);
        Ok((witness, said))
    }

    /// Opens the witness for notes alone, and reads it.
    pub(super) fn open_for_notes(directory: &StateDir) -> io::Result<(Self, Testimony)> {
        let (mut witness, said) = match Self::open(directory) {
            Ok(opened) => opened,
            Err(error) => {
                let mut witness = Self::none();
                witness.refused = Some(error.kind());
                (witness, Self::read(directory)?.1)
            }
        };
        witness.has_only_notes = true;
        Ok((witness, said))
    }

    /// Returns whether a call may begin only once it is noted, because the database of this host is in memory.
    pub(super) fn has_only_notes(&self) -> bool {
        self.has_only_notes
    }

    /// Returns whether there is a witness with at least one byte.
    pub(super) fn is_there(directory: &StateDir) -> io::Result<bool> {
        let file = directory.open_file(FILE)?;
        Ok(file.is_some_and(|file| file.metadata().is_ok_and(|data| data.len() > 0)))
    }

    /// Adds calls that began. A witness that cannot be written only protects less.
    pub(super) fn add(&mut self, keys: &[Key]) {
        self.write_if_possible(&records(keys));
    }

    /// Takes back that a call began.
    pub(super) fn take_back(&mut self, key: &Key) {
        self.write_if_possible(&record(key, checksum(key).map(|byte| !byte)));
    }

    fn write_if_possible(&mut self, records: &[u8]) {
        if !self.has_only_notes
            && let Err(error) = self.write(records)
            && !std::mem::replace(&mut self.is_told, true)
        {
            tracing::warn!(%error, "the witness of the store cannot be written: a loss in the log of the database would go unnoticed");
        }
    }

    /// Notes a call that the database does not take now. On a full disk, this needs the room of the file.
    pub(super) fn note(&mut self, key: Key) -> io::Result<()> {
        if let Some(refused) = self.refused {
            return Err(refused.into());
        }
        self.write(&record(&key, checksum(&key)))?;
        if !self.has_only_notes {
            self.noted.insert(key);
        }
        Ok(())
    }

    /// Forgets the notes of calls that the database has.
    pub(super) fn forget_notes(&mut self, is_known: impl Fn(&Key) -> bool) {
        self.noted.retain(|key| !is_known(key));
    }

    fn write(&mut self, records: &[u8]) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        // If only a part is written, the next record replaces it.
        file.write_all_at(records, self.length)?;
        self.length += records.len() as u64;
        if self.allocated < self.length + ROOM {
            self.make_room();
        }
        Ok(())
    }

    /// Allocates room for further records. If the disk is full, each record that is written tries again.
    fn make_room(&mut self) {
        let Some(file) = &self.file else {
            return;
        };
        let (from, end) = (self.allocated.max(self.length), self.length + 2 * ROOM);
        let (start, length) = (from.cast_signed(), (end - from).cast_signed());
        let made = match fallocate(file, FallocateFlags::empty(), start, length) {
            Err(Errno::EOPNOTSUPP) => {
                let zeros = usize::try_from(end - from).unwrap_or_default();
                file.write_all_at(&vec![0; zeros], from)
            }
            made => made.map_err(io::Error::from),
        };
        if made.is_ok() {
            self.allocated = end;
        }
    }

    /// Notes that the log is about to be emptied.
    pub(super) fn begin_emptying(&mut self) {
        self.add(&[EMPTYING]);
    }

    /// Forgets all calls but those that run and those that were noted, because the log is empty.
    pub(super) fn clear(&mut self, running: impl Iterator<Item = Key>) {
        self.is_told = false;
        let Some(file) = self.file.as_ref().filter(|_| !self.has_only_notes) else {
            return;
        };
        let left: Vec<_> = running.chain(self.noted.iter().copied()).collect();
        let mut bytes = records(&[&left, [FIRST].as_slice()].concat());
        let (length, end) = (bytes.len(), bytes.len() as u64 + 2 * ROOM);
        let replaced = usize::try_from(self.length.min(end)).unwrap_or(length);
        bytes.resize(replaced.max(length), 0);
        // The file keeps its room: if the disk is full, others would take the space of a file that is cut.
        let replaced = file.write_all_at(&bytes, 0);
        let cut = replaced.and_then(|()| match self.allocated.max(self.length) > end {
            true => file.set_len(end),
            false => Ok(()),
        });
        match cut {
            Ok(()) => {
                self.length = length as u64;
                self.allocated = self.allocated.min(end);
            }
            Err(error) => tracing::warn!(%error, "the witness of the store cannot be emptied"),
        }
        self.make_room();
    }
}

/// Returns whether a record is not room for one.
fn is_used(record: &[u8]) -> bool {
    record.iter().any(|byte| *byte != 0)
}

fn records(keys: &[Key]) -> Vec<u8> {
    let records = keys.iter().flat_map(|key| record(key, checksum(key)));
    records.collect()
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

#[cfg(test)]
mod tests;
