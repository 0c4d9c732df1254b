//! Files of staged changes: the changes that a killed host must not lose, and that the database does not have yet.
//!
//! A record is a line between two line breaks: a checksum of the rest, the number of the change in the order of all changes, `@` and when
//! the change happened, in milliseconds since 1970, and the change as JSON, which contains no line break. So a reader finds the records
//! behind a damaged one. Earlier hosts wrote no time.

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

/// How many digits a checksum has.
const SUM: usize = 16;

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

/// A change, and when it happened.
#[derive(Debug)]
pub(super) struct Dated {
    /// The time on the wall clock; `None` if an earlier host left it out.
    pub(super) wall: Option<i64>,
    pub(super) change: Change<'static>,
}

/// The changes that an earlier host has staged.
#[derive(Debug, Default)]
pub(super) struct Staged {
    /// The changes that are the ones that were written, in their order.
    pub(super) changes: Vec<Dated>,
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

    /// Waits until the host that uses the directory has committed the changes that are staged now. It does so every 0.25 s; if it does
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
        self.changes.iter().filter_map(|dated| {
            let call = match &dated.change {
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
fn read_records(bytes: &[u8], records: &mut Vec<(u64, Dated)>) -> bool {
    let mut are_whole = true;
    let lines = bytes.split(|byte| *byte == b'\n');
    for line in lines.filter(|line| !line.is_empty()) {
        let record = read_record(line);
        are_whole &= record.is_some();
        records.extend(record);
    }
    are_whole
}

/// Returns the record of a line; `None` if it is damaged.
fn read_record(line: &[u8]) -> Option<(u64, Dated)> {
    let (sum, rest) = str::from_utf8(line).ok()?.split_at_checked(SUM)?;
    let (number, json) = rest.split_once(' ').filter(|_| sum == sum_of(rest))?;
    let (number, wall) = match number.split_once('@') {
        Some((number, wall)) => (number, Some(wall.parse().ok()?)),
        None => (number, None),
    };
    let change = serde_json::from_str(json).ok()?;
    Some((number.parse().ok()?, Dated { wall, change }))
}

fn sum_of(rest: &str) -> String {
    format!("{:0SUM$x}", checksum(&[rest.as_bytes()]))
}

/// An open file of staged changes.
#[derive(Debug)]
pub(super) struct StageFile {
    file: File,
    length: u64,
}

impl StageFile {
    /// Opens a file, and makes it if there is none. The file must have no changes that are still needed.
    pub(super) fn open(directory: &StateDir, name: &str) -> io::Result<Self> {
        let file = directory.append_file(name)?;
        file.set_len(0)?;
        Ok(Self { file, length: 0 })
    }

    /// Appends a change that happened at this time on the wall clock. It survives the end of the host when this returns.
    pub(super) fn append(&mut self, number: u64, wall: i64, change: &Change<'_>) -> io::Result<()> {
        let rest = format!("{number}@{wall} {}", serde_json::to_string(change)?);
        let record = format!("\n{}{rest}\n", sum_of(&rest));
        if let Err(error) = self.file.write_all(record.as_bytes()) {
            if self.file.set_len(self.length).is_err() {
                // A part of the record stays. Readers skip it.
                self.length = self.file.metadata()?.len();
            }
            return Err(error);
        }
        self.length += record.len() as u64;
        Ok(())
    }

    /// Forgets all changes, because the database has them.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        if self.length > 0 {
            self.file.set_len(0)?;
            self.length = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
