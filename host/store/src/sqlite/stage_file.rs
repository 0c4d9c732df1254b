//! Files of staged changes: the changes that a killed host must not lose, and that the database does not have yet.
//!
//! A record is a header of 20 bytes and a change as JSON. The header is the length of the JSON, the number of the change in the order
//! of all changes, and a checksum of both and of the JSON.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolhost_state::state_dir::StateDir;

use super::row::checksum;
use super::witness::{Key, key};
use crate::{EndedCall, NewCall, Process};

/// The names of the files. While the changes of one of them are committed, the other one takes new changes.
pub(super) const FILES: [&str; 2] = ["store.staged-0", "store.staged-1"];

/// The bytes of the header of a record.
const HEADER: usize = 20;

/// A change that is staged.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Change<'a> {
    /// A call begins.
    Begin(Cow<'a, NewCall>),
    /// A call has ended.
    End(Cow<'a, EndedCall>),
    /// A process is about to start.
    AddProcess(Cow<'a, Process>),
    /// A process has changed.
    UpdateProcess(Cow<'a, Process>),
}

/// The changes that an earlier host has staged.
#[derive(Debug, Default)]
pub(super) struct Staged {
    /// The changes that are the ones that were written, in their order.
    pub(super) changes: Vec<Change<'static>>,
    /// Whether a record is damaged, or ends too early.
    pub(super) is_damaged: bool,
    /// The numbers of the changes.
    numbers: Vec<u64>,
    /// The names of the files, with that of the later changes last.
    names: Vec<&'static str>,
}

impl Staged {
    /// Reads both files. Damaged records are left out.
    pub(super) fn read(directory: &StateDir) -> io::Result<Self> {
        let mut staged = Self::default();
        let mut records = Vec::new();
        let mut files = Vec::new();
        for name in FILES {
            let bytes = directory.read(name, u64::MAX)?.unwrap_or_default();
            staged.is_damaged |= !read_records(&bytes, &mut records);
            files.push((records.last().map(|(number, _)| *number), name));
        }
        files.sort_unstable();
        staged.names = files.into_iter().map(|(_, name)| name).collect();
        records.sort_unstable_by_key(|(number, _)| *number);
        staged.numbers = records.iter().map(|(number, _)| *number).collect();
        staged.changes = records.into_iter().map(|(_, change)| change).collect();
        Ok(staged)
    }

    /// Waits until the host that uses the directory has committed the changes that are staged now. It does so every 0.1 s; if it does
    /// not within 2 s, it cannot, and the wait ends.
    pub(super) fn wait_until_committed(directory: &StateDir) -> io::Result<()> {
        const PAUSE: Duration = Duration::from_millis(10);
        let newest = Self::read(directory)?.numbers.last().copied();
        for _ in 0..200 {
            let left = Self::read(directory)?.numbers;
            if left.first().is_none_or(|oldest| Some(*oldest) > newest) {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Removes the files, of which the database has all changes. If the host is killed meanwhile, the later changes are left: the earlier
    /// ones alone would undo them.
    pub(super) fn remove(&self, directory: &StateDir) -> io::Result<()> {
        self.names
            .iter()
            .try_for_each(|name| directory.remove(name))
    }

    /// Returns the keys of the calls.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.changes.iter().filter_map(|change| {
            let call = match change {
                Change::Begin(call) => call.as_ref(),
                Change::End(ended) => &ended.call,
                Change::AddProcess(_) | Change::UpdateProcess(_) => return None,
            };
            Some(key(call.chat.as_str(), call.call.as_str()))
        })
    }
}

/// Returns whether there are staged changes.
pub(super) fn are_there(directory: &StateDir) -> io::Result<bool> {
    for name in FILES {
        if let Some(file) = directory.open_file(name)?
            && file.metadata()?.len() > 0
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds the records of a file, with their numbers. Returns whether all of them are whole.
fn read_records(mut bytes: &[u8], records: &mut Vec<(u64, Change<'static>)>) -> bool {
    let mut are_whole = true;
    while let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() {
        let (length, number, sum) = split(header);
        let Some((json, next)) = rest.split_at_checked(length as usize) else {
            return false;
        };
        match serde_json::from_slice(json) {
            Ok(change) if sum_of(length, number, json) == sum => records.push((number, change)),
            _ => are_whole = false,
        }
        bytes = next;
    }
    are_whole && bytes.is_empty()
}

fn split(header: &[u8; HEADER]) -> (u32, u64, i64) {
    let [l0, l1, l2, l3, numbers @ ..] = *header;
    let (number, sum) = numbers.split_at(8);
    let eight = |bytes: &[u8]| <[u8; 8]>::try_from(bytes).unwrap_or_default();
    (
        u32::from_le_bytes([l0, l1, l2, l3]),
        u64::from_le_bytes(eight(number)),
        i64::from_le_bytes(eight(sum)),
    )
}

fn join(length: u32, number: u64, sum: i64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let (start, rest) = header.split_at_mut(4);
    let (middle, end) = rest.split_at_mut(8);
    start.copy_from_slice(&length.to_le_bytes());
    middle.copy_from_slice(&number.to_le_bytes());
    end.copy_from_slice(&sum.to_le_bytes());
    header
}

fn sum_of(length: u32, number: u64, json: &[u8]) -> i64 {
    checksum(&[&length.to_le_bytes(), &number.to_le_bytes(), json])
}

/// An open file of staged changes.
#[derive(Debug)]
pub(super) struct StageFile {
    file: File,
    length: u64,
    /// Whether the file ends in a part of a record that could not be cut off: a record behind it would not be found.
    is_torn: bool,
}

impl StageFile {
    /// Opens a file, and makes it if there is none. The file must have no changes that are still needed.
    pub(super) fn open(directory: &StateDir, name: &str) -> io::Result<Self> {
        let file = directory.append_file(name)?;
        file.set_len(0)?;
        Ok(Self {
            file,
            length: 0,
            is_torn: false,
        })
    }

    /// Appends a change. It survives the end of the host when this returns.
    pub(super) fn append(&mut self, number: u64, change: &Change<'_>) -> io::Result<()> {
        if self.is_torn {
            return Err(io::Error::other("the file ends in a part of a record"));
        }
        let mut record = vec![0; HEADER];
        serde_json::to_writer(&mut record, change)?;
        if let Some((header, json)) = record.split_first_chunk_mut::<HEADER>() {
            let length = u32::try_from(json.len()).map_err(io::Error::other)?;
            *header = join(length, number, sum_of(length, number, json));
        }
        if let Err(error) = self.file.write_all(&record) {
            self.is_torn = self.file.set_len(self.length).is_err();
            return Err(error);
        }
        self.length += record.len() as u64;
        Ok(())
    }

    /// Forgets all changes, because the database has them.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        if self.length > 0 || self.is_torn {
            self.file.set_len(0)?;
            (self.length, self.is_torn) = (0, false);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
