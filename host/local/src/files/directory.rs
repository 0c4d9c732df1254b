//! Listing a directory in pages, in order, whatever its size.

use std::collections::BinaryHeap;

use super::metadata;
use super::resolved_path::ResolvedPath;
use super::{Entry, Error, Files, Kind, MAX_ENTRIES, Work};

impl Files {
    /// Returns at most `max` names of a directory in the order of their bytes, and whether more follow. The first name is the
    /// one that comes after `after`. `max` is lowered to [`MAX_ENTRIES`].
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub(crate) fn read_directory(
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
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if after.is_some_and(|after| name.as_str() <= after) {
                continue;
            }
            let kind = entry.file_type().map_or(Kind::Other, metadata::kind);
            first.push((name, kind));
            // Keep only the first `max` names, so that a directory with millions of names takes little memory.
            if first.len() > max {
                first.pop();
                more = true;
            }
        }
        let entries = first.into_sorted_vec().into_iter();
        let entries = entries.map(|(name, kind)| Entry { name, kind });
        Ok((entries.collect(), more))
    }
}
