//! Going over the files of a search with several threads.
//!
//! Each directory is opened by its path from the base, through no link, and closed again before those below it are opened. So neither a deep
//! tree nor a wide one takes many descriptors, and no change meanwhile leads out of the base.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, Metadata};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use super::ignores::Ignores;
use super::queue::Queue;
use super::selection::{Entry, LeftOut, Selection};
use crate::files::metadata::kind;
use crate::files::resolved_path::ResolvedPath;
use crate::files::roots::identity;
use crate::files::{Error, Files, Kind, Work, open};

/// How many threads search at most.
const THREADS: usize = 8;

/// How many files of a directory are one job.
const BATCH: usize = 64;

/// A directory whose files are gone over, or one file.
#[derive(Debug)]
pub(super) struct Tree<'f> {
    files: &'f Files,
    base: ResolvedPath,
    selection: Selection,
    above: Option<Ignores>,
    unreadable: AtomicU64,
}

/// An entry of a directory that the selection takes.
#[derive(Debug)]
pub(super) struct Visited<'v> {
    pub(super) directory: &'v Dir,
    pub(super) name: &'v OsStr,
    /// Its absolute path.
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

/// What is done with each entry. Each thread has its own. An error ends the search.
pub(super) trait Visitor {
    fn visit(&mut self, entry: Visited<'_>, work: &Work) -> Result<(), Error>;
}

/// The place of a directory in the tree.
#[derive(Debug)]
struct Level {
    /// The depth of its files. Those of the base have the depth 1.
    depth: usize,
    /// The ignore files of the directories above it.
    above: Option<Ignores>,
    /// The directory that is hidden or ignored: this one, or one above it.
    left_out: Option<LeftOut>,
}

/// A part of a search. Paths are relative to the base.
#[derive(Debug)]
enum Job {
    Directory {
        path: PathBuf,
        level: Level,
    },
    /// These entries of a directory.
    Entries {
        directory: PathBuf,
        names: Vec<(OsString, Kind)>,
    },
}

impl<'f> Tree<'f> {
    pub(super) fn new(
        files: &'f Files,
        base: ResolvedPath,
        selection: Selection,
        above: Option<Ignores>,
    ) -> Self {
        Self {
            files,
            base,
            selection,
            above,
            unreadable: AtomicU64::new(0),
        }
    }

    pub(super) fn files(&self) -> &'f Files {
        self.files
    }

    /// Returns whether the scope names a file, and no directory.
    pub(super) fn is_file(&self) -> bool {
        matches!(self.base, ResolvedPath::Entry { .. })
    }

    /// Returns how many files and directories could not be read.
    pub(super) fn unreadable(&self) -> u64 {
        self.unreadable.load(Ordering::Relaxed)
    }

    /// Notes a file that could not be read. Without descriptors, the search ends: it would find nothing.
    pub(super) fn note(&self, error: Error) -> Result<(), Error> {
        match error {
            Error::Busy(_) => Err(error),
            // It is closed, or has been removed meanwhile.
            Error::NotFound | Error::NotAFile | Error::NotADirectory => Ok(()),
            Error::Denied(text) if text == toolhost_state::closed::REFUSAL => Ok(()),
            _ => {
                self.unreadable.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// Goes over all entries.
    pub(super) fn visit<V: Visitor>(
        &self,
        work: &Work,
        visitor: impl Fn() -> V + Sync,
    ) -> Result<(), Error> {
        let (base, path) = match &self.base {
            ResolvedPath::Directory { directory, path } => (directory, path),
            ResolvedPath::Entry {
                parent,
                name,
                found,
                path,
            } => {
                let entry = Visited {
                    directory: parent,
                    name,
                    path: path.clone(),
                    kind: kind(found.file_type()),
                };
                return visitor().visit(entry, work);
            }
            ResolvedPath::Missing { .. } => return Err(Error::NotFound),
        };
        let queue = Queue::new(Job::Directory {
            path: PathBuf::new(),
            level: Level {
                depth: 1,
                above: self.above.clone(),
                left_out: None,
            },
        });
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(THREADS);
        std::thread::scope(|scope| {
            for _ in 1..threads {
                let help = || {
                    crate::exemption::give_up();
                    work.help(threads, |work| {
                        let mut visitor = visitor();
                        queue.work(|job| self.run(base, path, job, &mut visitor, work));
                    });
                };
                // Without another thread, this one does all.
                _ = std::thread::Builder::new()
                    .name("search".into())
                    .spawn_scoped(scope, help);
            }
            let mut visitor = visitor();
            queue.work(|job| self.run(base, path, job, &mut visitor, work));
        });
        queue.into_result()
    }

    fn run(
        &self,
        base: &Dir,
        base_path: &Path,
        job: Job,
        visitor: &mut impl Visitor,
        work: &Work,
    ) -> Result<Vec<Job>, Error> {
        work.check()?;
        match job {
            Job::Directory { path, level } => {
                let depth = level.depth;
                let listed = self.list(base, base_path, path, level, work);
                listed.or_else(|error| match error {
                    // The base itself must be readable.
                    error if depth == 1 => Err(error),
                    error => self.note(error).map(|()| Vec::new()),
                })
            }
            Job::Entries { directory, names } => {
                let path = base_path.join(&directory);
                let opened = match directory_at(base, &directory) {
                    Ok(opened) => opened,
                    Err(error) => return self.note(error).map(|()| Vec::new()),
                };
                for (name, kind) in names {
                    work.check()?;
                    let entry = Visited {
                        directory: &opened,
                        name: &name,
                        path: path.join(&name),
                        kind,
                    };
                    visitor.visit(entry, work)?;
                }
                Ok(Vec::new())
            }
        }
    }

    /// Lists a directory, and returns the jobs for what the selection takes.
    fn list(
        &self,
        base: &Dir,
        base_path: &Path,
        below: PathBuf,
        level: Level,
        work: &Work,
    ) -> Result<Vec<Job>, Error> {
        let path = base_path.join(&below);
        let directory = directory_at(base, &below)?;
        let found = directory.dir_metadata()?;
        self.files.roots.check_directory(&path, &found)?;
        let identity = identity(&found);
        let listed = entries_of(&directory, work)?;
        let ignores = match self.selection.ignores {
            true => {
                let names = listed.iter().map(|(name, _)| &**name);
                Ignores::of_listed(&directory, &path, names, level.above)
            }
            false => None,
        };
        let (mut jobs, mut names) = (Vec::new(), Vec::new());
        for (name, kind) in listed {
            let is_dir = kind == Kind::Directory;
            let at = path.join(&name);
            let is_closed = self.files.roots.check_name(&at, identity).is_err();
            if is_closed {
                continue;
            }
            let entry = Entry {
                path: &at,
                name: &name,
                is_dir,
                ignores: ignores.as_ref(),
            };
            let taken = self.selection.takes(entry, level.left_out.as_ref());
            if taken.is_entered && level.depth < self.selection.max_depth {
                jobs.push(Job::Directory {
                    path: below.join(&name),
                    level: Level {
                        depth: level.depth + 1,
                        above: ignores.clone(),
                        left_out: taken.left_out,
                    },
                });
            }
            if taken.is_result {
                names.push((name, kind));
            }
            if names.len() == BATCH {
                jobs.push(Job::Entries {
                    directory: below.clone(),
                    names: std::mem::take(&mut names),
                });
            }
        }
        if !names.is_empty() {
            jobs.push(Job::Entries {
                directory: below,
                names,
            });
        }
        Ok(jobs)
    }
}

impl Visited<'_> {
    /// Opens the entry if it is a regular file that is not closed.
    pub(super) fn open(&self, files: &Files) -> Result<File, Error> {
        let file = open::regular(self.directory, self.name)?;
        files.roots.check_file(&Metadata::from_file(&file)?)?;
        Ok(file)
    }

    /// Looks at the entry, unless it is closed.
    pub(super) fn look(&self, files: &Files) -> Result<Metadata, Error> {
        let found = self.directory.symlink_metadata(self.name)?;
        match self.kind {
            Kind::Directory => files.roots.check_directory(&self.path, &found)?,
            _ => files.roots.check_file(&found)?,
        }
        Ok(found)
    }
}

/// Returns the names in a directory, with the kinds of what they name.
fn entries_of(directory: &Dir, work: &Work) -> Result<Vec<(OsString, Kind)>, Error> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listing = openat(directory, ".", flags, Mode::empty())?;
    let mut entries = Vec::new();
    for (index, entry) in rustix::fs::Dir::new(listing)?.enumerate() {
        if index % 1024 == 0 {
            work.check()?;
        }
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_os_string();
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Symlink,
            FileType::Unknown => match directory.symlink_metadata(&name) {
                Ok(found) => kind(found.file_type()),
                Err(_) => continue,
            },
            _ => Kind::Other,
        };
        entries.push((name, kind));
    }
    Ok(entries)
}

/// Opens a directory by its path below another one. No part of the path may be a link.
fn directory_at(base: &Dir, below: &Path) -> Result<Dir, Error> {
    if below.as_os_str().is_empty() {
        return Ok(base.try_clone()?);
    }
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::PATH;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    match openat2(base, below, flags, Mode::empty(), resolve) {
        Ok(opened) => Ok(Dir::from_std_file(opened.into())),
        // A filter of system calls does not know openat2(2).
        Err(Errno::NOSYS | Errno::PERM) => {
            let mut here = base.try_clone()?;
            for name in below {
                here = open::directory(&here, name)?;
            }
            Ok(here)
        }
        Err(Errno::LOOP) => Err(Error::NotADirectory),
        Err(error) => Err(error.into()),
    }
}
