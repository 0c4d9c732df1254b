//! Searches of files, as ripgrep does them, beneath the roots.
//!
//! The walk is our own, because those of ripgrep's crates go by paths: a process that swaps a directory for a link would lead them out of the
//! roots. What is left out, and how a file is searched, is decided by these crates.

mod find;
mod ignores;
mod kept;
mod lines;
mod queue;
mod selection;
mod text;
mod tree;

use std::path::{Path, PathBuf};

use toolhost_workspace::files::{MAX_RESULTS, Page, Scope};

use super::resolved_path::ResolvedPath;
use super::{Error, Files};
use ignores::Ignores;
use selection::Selection;
use tree::Tree;

impl Files {
    /// Returns the tree of a search. It may be a single file.
    fn tree(&self, scope: &Scope) -> Result<Tree<'_>, Error> {
        let found = self.walk(&scope.path)?;
        let base = match &found {
            ResolvedPath::Directory { path, .. } | ResolvedPath::Entry { path, .. } => path.clone(),
            ResolvedPath::Missing { .. } => return Err(Error::NotFound),
        };
        let selection = Selection::new(scope, &base)?;
        let above = match scope.ignored {
            true => None,
            false => self.ignores_above(&base),
        };
        Ok(Tree::new(self, found, selection, above))
    }

    /// Reads the ignore files of the directories above one, as far as they can be reached.
    fn ignores_above(&self, path: &Path) -> Option<Ignores> {
        let mut above = Vec::new();
        for directory in path.ancestors().skip(1) {
            match directory.to_str().map(|path| self.walk(path)) {
                Some(Ok(ResolvedPath::Directory { directory, path })) => {
                    above.push((directory, path));
                }
                _ => break,
            }
        }
        let all = above.into_iter().rev();
        all.fold(None, |above, (directory, path)| {
            Some(Ignores::read(&directory, &path, above))
        })
    }

    /// Returns the path of a result: relative to the workspace if it is there. Bytes that are no text are replaced.
    fn shown(&self, path: &Path) -> PathBuf {
        let below = path.strip_prefix(self.roots.of_workspace());
        PathBuf::from(&*below.unwrap_or(path).to_string_lossy())
    }
}

/// Returns how many results are gone over for a page.
fn end_of(page: Page) -> Result<u64, Error> {
    let end = page.skip.saturating_add(page.max);
    match end <= MAX_RESULTS {
        true => Ok(end),
        false => Err(Error::Invalid(format!(
            "a search goes over {MAX_RESULTS} results at most: search for less"
        ))),
    }
}
