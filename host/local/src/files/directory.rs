//! Listing a directory in pages, in order, whatever its size.

use std::collections::BinaryHeap;

use cap_std::fs::DirEntry;

use super::metadata;
use super::resolved_path::ResolvedPath;
use super::{Entry, Error, Files, Kind, MAX_ENTRIES, Work};

impl Files {
    /// Returns at most `max` names of a directory, never more than [`MAX_ENTRIES`], in the order of their bytes, from the
    /// first one after `after` on, and whether more follow.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn read_directory(
        &self,
        path: &str,
        after: Option<&str>,
        max: usize,
        work: &Work,
    ) -> Result<(Vec<Entry>, bool), Error> {
        let directory = match self.walk(path)? {
            ResolvedPath::Directory { directory, .. } => directory,
            ResolvedPath::Entry { .. } => return Err(Error::NotADirectory),
            ResolvedPath::Missing { .. } => return Err(Error::NotFound),
        };
        let max = max.min(MAX_ENTRIES);
        let mut first = BinaryHeap::new();
        let mut more = false;
        for (index, entry) in directory.entries()?.enumerate() {
            if index % 1024 == 0 {
                work.check()?;
            }
            let entry = Named::of(&entry?);
            if after.is_some_and(|after| entry.name.as_str() <= after) {
                continue;
            }
            first.push(entry);
            // Only the first are kept, so that a directory with millions of names takes no memory.
            if first.len() > max {
                first.pop();
                more = true;
            }
        }
        let entries = first.into_sorted_vec().into_iter().map(|entry| Entry {
            name: entry.name,
            kind: entry.kind,
        });
        Ok((entries.collect(), more))
    }
}

/// An entry that is ordered by its name.
#[derive(Debug)]
struct Named {
    name: String,
    kind: Kind,
}

impl Named {
    fn of(entry: &DirEntry) -> Self {
        let kind = entry.file_type().map_or(Kind::Other, metadata::kind);
        let name = entry.file_name().to_string_lossy().into_owned();
        Self { name, kind }
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Named {}

impl PartialOrd for Named {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Named {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.name.cmp(&other.name)
    }
}
