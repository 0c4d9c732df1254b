//! The journal of processes: what must survive a crash of the host, so that after a restart every id still answers, with
//! how it ended or with `lost`.

mod entry;
mod knowledge;
#[cfg(test)]
mod tests;
mod text;

use std::io;

pub(crate) use entry::{End, Ended, Entry, Exited, Lost, Recovered, Saving, Started};
use knowledge::Knowledge;
use toolhost_state::state_dir::StateDir;
use toolhost_state::state_dir::journal::{self, Known};

/// Writes down what happens to processes. Dropping it ends all writing.
pub(crate) type Journal = journal::Journal<Knowledge>;

impl Known for Knowledge {
    type Entry = Entry;
    const FILE: &'static str = "processes.jsonl";
    const SUBJECT: &'static str = "processes";
    /// A command of 2 KiB and a path of 4 KiB fit, even if every character must be escaped.
    const LONGEST: usize = 64 * 1024;

    fn add(&mut self, entry: Entry) {
        self.add_entry(entry);
    }

    fn entries(&self) -> impl Iterator<Item = Entry> {
        self.all_entries()
    }
}

/// Opens the journal of a state directory, and returns what it knew, in the order in which the processes started; see
/// [`journal::Journal::open`].
pub(crate) fn open(directory: &StateDir) -> io::Result<(Journal, Vec<Recovered>)> {
    let (journal, known) = Journal::open(directory, Knowledge::default(), false)?;
    Ok((journal, known.into_recovered()))
}
