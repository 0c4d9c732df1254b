//! Finding files by their paths and facts.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use cap_std::fs::{Metadata, MetadataExt};
use parking_lot::Mutex;
use toolhost_workspace::files::{Filter, Found, FoundFile, Page, Scope};

use super::end_of;
use super::kept::Kept;
use super::tree::{Tree, Visited, Visitor};
use crate::files::{Error, Files, Kind, Work};

/// The place of a file among the others: the time since it was changed, if that counts, and its path.
type Place = (Duration, PathBuf);

struct Finder<'t, 'f> {
    tree: &'t Tree<'f>,
    filter: &'t Filter,
    now: SystemTime,
    state: &'t Mutex<(Kept<Place, FoundFile>, u64)>,
}

impl Files {
    /// Returns a page of the files that pass a filter.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub(crate) fn find(
        &self,
        scope: &Scope,
        filter: &Filter,
        page: Page,
        work: &Work,
    ) -> Result<Found, Error> {
        let end = end_of(page)?;
        let tree = self.tree(scope)?;
        let state = Mutex::new((Kept::new(end), 0));
        // Newer files are before older ones, also those of the future.
        let now = SystemTime::now() + Duration::from_secs(1 << 40);
        tree.visit(work, || Finder {
            tree: &tree,
            filter,
            now,
            state: &state,
        })?;
        let (kept, total) = state.into_inner();
        let skip = usize::try_from(page.skip).unwrap_or(usize::MAX);
        let files = kept.into_items().map(|(_, file, _)| file).skip(skip);
        Ok(Found {
            files: files.collect(),
            total,
            unreadable: tree.unreadable(),
            more: total > end,
        })
    }
}

impl Visitor for Finder<'_, '_> {
    fn visit(&mut self, entry: Visited<'_>, _: &Work) -> Result<(), Error> {
        if self.filter.kind.is_some_and(|kind| kind != entry.kind) {
            return Ok(());
        }
        let found = match entry.look(self.tree.files()) {
            Ok(found) => found,
            Err(error) => return self.tree.note(error),
        };
        let file = file(&found, &entry, self.tree.files().shown(&entry.path));
        if !self.passes(&file) {
            return Ok(());
        }
        let age = match self.filter.newest_first {
            true => self.now.duration_since(file.modified).unwrap_or_default(),
            false => Duration::ZERO,
        };
        let mut state = self.state.lock();
        state.1 += 1;
        state.0.add((age, file.path.clone()), file, 1);
        Ok(())
    }
}

impl Finder<'_, '_> {
    fn passes(&self, file: &FoundFile) -> bool {
        let Filter {
            min_size,
            max_size,
            since,
            until,
            ..
        } = self.filter;
        let has_size = min_size.is_some() || max_size.is_some();
        !(has_size && file.kind != Kind::File)
            && min_size.is_none_or(|least| file.size >= least)
            && max_size.is_none_or(|most| file.size <= most)
            && since.is_none_or(|since| file.modified >= since)
            && until.is_none_or(|until| file.modified < until)
    }
}

fn file(found: &Metadata, entry: &Visited<'_>, path: PathBuf) -> FoundFile {
    let modified = found.modified().map(cap_std::time::SystemTime::into_std);
    FoundFile {
        path,
        kind: entry.kind,
        size: match entry.kind {
            Kind::File => found.len(),
            _ => 0,
        },
        modified: modified.unwrap_or(SystemTime::UNIX_EPOCH),
        executable: found.mode() & 0o100 != 0,
    }
}
