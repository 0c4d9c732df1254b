//! Ignore files: which files a directory and those above it leave out of searches.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::files::open;

/// The most bytes of an ignore file that are read.
const MOST: u64 = 1 << 20;

/// The ignore files of a directory, and those of the directories above it.
#[derive(Clone, Debug)]
pub(super) struct Ignores(Arc<Own>);

#[derive(Debug)]
struct Own {
    above: Option<Ignores>,
    /// Those of ripgrep, which git does not know.
    own: Gitignore,
    git: Gitignore,
    /// The file of a repository that is not in it.
    exclude: Gitignore,
    /// Whether a repository begins here: those of the directories above do not name what is in it.
    is_repository: bool,
}

/// The names that make a directory one with ignore files of its own.
const NAMES: [&str; 4] = [".ignore", ".rgignore", ".gitignore", ".git"];

impl Ignores {
    /// Reads those of a directory with these names. Most directories have none, and those above them say all.
    pub(super) fn of_listed<'n>(
        directory: &Dir,
        path: &Path,
        mut names: impl Iterator<Item = &'n OsStr>,
        above: Option<Self>,
    ) -> Option<Self> {
        match names.any(|name| NAMES.iter().any(|own| name == *own)) {
            true => Some(Self::read(directory, path, above)),
            false => above,
        }
    }

    /// Reads those of a directory.
    pub(super) fn read(directory: &Dir, path: &Path, above: Option<Self>) -> Self {
        let is_repository = directory.symlink_metadata(".git").is_ok();
        let exclude = is_repository
            .then(|| directory.open_dir(".git/info").ok())
            .flatten();
        let exclude = exclude.map(|info| read(&info, path, &["exclude"]));
        Self(Arc::new(Own {
            above,
            own: read(directory, path, &[".ignore", ".rgignore"]),
            git: read(directory, path, &[".gitignore"]),
            exclude: exclude.unwrap_or_else(Gitignore::empty),
            is_repository,
        }))
    }

    /// Returns what they say of a path. Those of ripgrep come before those of git, and the nearest directory before those above it.
    pub(super) fn of(&self, path: &Path, is_dir: bool) -> Match<()> {
        let said = self.first(false, |own| own.own.matched(path, is_dir).map(drop));
        let said = said.or(self.first(true, |own| own.git.matched(path, is_dir).map(drop)));
        said.or(self.first(true, |own| own.exclude.matched(path, is_dir).map(drop)))
    }

    fn first(&self, ends_at_repository: bool, of: impl Fn(&Own) -> Match<()>) -> Match<()> {
        let mut at = Some(self);
        while let Some(Self(own)) = at {
            let said = of(own);
            if !said.is_none() || (ends_at_repository && own.is_repository) {
                return said;
            }
            at = own.above.as_ref();
        }
        Match::None
    }
}

/// Reads ignore files of a directory. Lines that are wrong are left out, and a later file comes before an earlier one.
fn read(directory: &Dir, path: &Path, names: &[&str]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(path);
    let mut is_empty = true;
    for name in names {
        let Ok(file) = open::regular(directory, name.as_ref()) else {
            continue;
        };
        let mut text = Vec::new();
        if file.take(MOST).read_to_end(&mut text).is_err() {
            continue;
        }
        for line in String::from_utf8_lossy(&text).lines() {
            is_empty = false;
            _ = builder.add_line(None, line);
        }
    }
    match is_empty {
        true => Gitignore::empty(),
        false => builder.build().unwrap_or_else(|_| Gitignore::empty()),
    }
}
