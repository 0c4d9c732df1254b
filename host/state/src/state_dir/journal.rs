//! Journals: the facts that must survive a crash of the host.
//!
//! A journal is an append-only file of JSON lines in the state directory. A line is one `write(2)` into the page cache,
//! which is not synced unless the caller asks for it. So a line survives a crash of the host, but not of the machine. After
//! a crash of the machine, the end of the file may be missing or damaged; the lines before it can still be read. Only a file
//! that replaces another is synced, so that one of the two is there.
//!
//! The file is rewritten with the fewest lines that mean the same, so that it does not grow for ever: when it is opened, and
//! when it has grown past four times its size, or by 256 MiB. A rewrite reads the file again on a thread of its own. The
//! host does not keep its contents in memory, because it has no use for old entries until the next start.

mod lines;

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StateDir;
use super::replace::Replacement;
use lines::Contents;
#[doc(hidden)]
pub use lines::{header, line};

/// The state that the entries of a journal add up to.
pub trait Known: Clone + Send + Sync + 'static {
    /// One fact.
    type Entry: Serialize + DeserializeOwned;
    /// The file in the state directory.
    const FILE: &'static str;
    /// The subject of the facts in one word, for headers and messages.
    const SUBJECT: &'static str;
    /// The longest line in bytes.
    const LONGEST: usize;

    /// Adds the next entry.
    fn add(&mut self, entry: Self::Entry);

    /// Returns the fewest entries that mean the same.
    fn entries(&self) -> impl Iterator<Item = Self::Entry>;
}

/// Files below this size in bytes are not rewritten while they are in use.
pub const SMALL: u64 = 1 << 20;

/// An open journal, to which entries are appended. Dropping it ends all writing.
#[derive(Debug)]
pub struct Journal<K> {
    /// `None` if no file is kept. Public for the tests of the crates that keep journals.
    #[doc(hidden)]
    pub shared: Option<Arc<Shared<K>>>,
    intact: bool,
}

/// The state that the writing threads share.
#[doc(hidden)]
#[derive(Debug)]
pub struct Shared<K> {
    directory: StateDir,
    /// The state before the first entry.
    nothing: K,
    /// Whether callers wait for the disk. If so, a rewrite must not lose any entry that they waited for.
    synced: bool,
    out: Mutex<Out>,
}

/// The file as it is being written.
#[doc(hidden)]
#[derive(Debug)]
pub struct Out {
    /// `None` if the file must be opened again.
    pub file: Option<Arc<File>>,
    /// The size of the file in bytes.
    pub size: u64,
    /// The size in bytes past which the file is rewritten.
    pub limit: u64,
    /// Whether the last line of the file may be incomplete.
    pub torn: bool,
    /// How many entries were written in all, and how many were not.
    written: u64,
    failed: u64,
    /// How many entries in a row could not be written.
    pub failures: u64,
    /// Whether a thread rewrites the file.
    pub rewriting: bool,
    closed: bool,
    /// Whether the directory entry of the file may not be on the disk yet.
    unnamed: bool,
}

impl<K: Known> Journal<K> {
    /// Returns the journal of a host without a state directory: it forgets what it is told.
    pub const fn none() -> Self {
        Self {
            shared: None,
            intact: false,
        }
    }

    /// Opens a journal of a state directory, making it if there is none, and returns the knowledge in it. The caller must hold
    /// the [`Lock`](crate::state_dir::Lock).
    ///
    /// Damaged lines are skipped and logged. With `synced`, a rewrite keeps every entry for which [`Journal::sync`] waited.
    ///
    /// # Errors
    ///
    /// If the file does not belong to this user alone, cannot be read, or cannot be written. If the file has a version that
    /// this host does not know, which leaves the file as it is.
    pub fn open(directory: &StateDir, nothing: K, synced: bool) -> io::Result<(Self, K)> {
        Self::open_in(directory, nothing, synced).map_err(|error| {
            let path = directory.path().join(K::FILE);
            let text = format!("{}: {error}", path.display());
            io::Error::new(error.kind(), text)
        })
    }

    fn open_in(directory: &StateDir, nothing: K, synced: bool) -> io::Result<(Self, K)> {
        remove_partial(directory, K::FILE)?;
        let file = directory.append_file(K::FILE)?;
        let Contents { knowledge, intact } = lines::read(&file, file.metadata()?.len(), &nothing)?;
        let text = lines::compact(&knowledge);
        let shortened = match directory.replace(K::FILE, &text) {
            Ok(()) => true,
            Err(error) if is_full(&error) => {
                tracing::warn!(%error, journal = K::SUBJECT, "the journal is used as it is");
                false
            }
            Err(error) => return Err(error),
        };
        let size = if shortened {
            text.len() as u64
        } else {
            file.metadata()?.len()
        };
        let out = Out {
            file: Some(Arc::new(directory.append_file(K::FILE)?)),
            size,
            limit: limit_after(size),
            torn: !shortened,
            written: 0,
            failed: 0,
            failures: 0,
            rewriting: false,
            closed: false,
            unnamed: !shortened,
        };
        let shared = Shared {
            directory: directory.try_clone()?,
            nothing,
            synced,
            out: Mutex::new(out),
        };
        let journal = Self {
            shared: Some(Arc::new(shared)),
            intact,
        };
        Ok((journal, knowledge))
    }

    /// Returns whether the journal is kept in a file.
    pub fn is_kept(&self) -> bool {
        self.shared.is_some()
    }

    /// Returns whether the whole file could be read when it was opened. If not, or if there was no file, facts may be missing.
    pub fn was_intact(&self) -> bool {
        self.intact
    }

    /// Writes an entry. It never fails for its caller: the first of several failures in a row is logged, and so is the next
    /// success.
    ///
    /// It takes one write to the page cache, some microseconds, so a task may call it. Rarely, it waits while a rewrite puts its
    /// new file in place, which takes one write of the lines that were appended meanwhile.
    pub fn append(&self, entry: &K::Entry) {
        _ = self.try_append(entry);
    }

    /// As [`Journal::append`], for callers that must know whether the entry was written.
    ///
    /// # Errors
    ///
    /// If the entry could not be written. The failure is already logged.
    pub fn try_append(&self, entry: &K::Entry) -> io::Result<()> {
        let Some(shared) = &self.shared else {
            return Ok(());
        };
        let line = lines::line::<K>(entry);
        let mut out = shared.out();
        let written = line.and_then(|line| out.write::<K>(&shared.directory, line));
        out.note(written.as_ref().err(), K::SUBJECT);
        if out.size > out.limit && !out.rewriting {
            out.rewriting = true;
            drop(out);
            shared.rewrite_apart();
        }
        written
    }

    /// Returns the bytes of the file, how many entries were appended, and how many more could not be.
    pub fn counts(&self) -> (u64, u64, u64) {
        self.shared.as_ref().map_or((0, 0, 0), |shared| {
            let out = shared.out();
            (out.size, out.written, out.failed)
        })
    }

    /// Waits until everything that was appended before is on the disk. Blocks.
    ///
    /// # Errors
    ///
    /// If the sync fails.
    pub fn sync(&self) -> io::Result<()> {
        let Some(shared) = &self.shared else {
            return Ok(());
        };
        let synced = shared.wait_for_disk();
        if synced.is_err() {
            // The kernel reports a failed sync once only: later syncs of the file succeed. Only a new file is sure to be
            // complete, so the limit of 0 forces a rewrite.
            shared.out().limit = 0;
        }
        synced
    }
}

impl<K> Drop for Journal<K> {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            // Otherwise a rewrite under way would replace the file after the next owner has opened it.
            shared.out().closed = true;
        }
    }
}

impl<K> Shared<K> {
    pub fn out(&self) -> MutexGuard<'_, Out> {
        self.out.lock()
    }
}

impl<K: Known> Shared<K> {
    /// Rewrites the file on a thread of its own, because reading some ten thousand lines takes a while.
    fn rewrite_apart(self: &Arc<Self>) {
        let shared = Arc::clone(self);
        let rewrite = move || {
            let rewritten = shared.rewrite();
            shared.settle(rewritten);
        };
        let thread = std::thread::Builder::new().name("journal".into());
        if let Err(error) = thread.spawn(rewrite) {
            self.settle(Err(error));
        }
    }

    fn wait_for_disk(&self) -> io::Result<()> {
        loop {
            let (file, unnamed) = {
                let mut out = self.out();
                (out.file::<K>(&self.directory)?, out.unnamed)
            };
            file.sync_data()?;
            if unnamed {
                self.directory.sync()?;
            }
            // A rewrite may have put another file in place meanwhile, with the same lines at its end.
            let mut out = self.out();
            if out.file.as_ref().is_some_and(|now| Arc::ptr_eq(now, &file)) {
                out.unnamed &= !unnamed;
                return Ok(());
            }
        }
    }

    fn settle(&self, rewritten: io::Result<()>) {
        let mut out = self.out();
        out.rewriting = false;
        if let Err(error) = rewritten {
            // Do not try again at the very next line.
            out.limit = out.size.saturating_mul(2);
            tracing::warn!(%error, size = out.size, journal = K::SUBJECT, "the journal could not be made smaller");
        }
    }

    /// Replaces the file by the fewest lines that mean the same. Lines that are appended meanwhile are copied unchanged.
    pub fn rewrite(&self) -> io::Result<()> {
        let (file, end) = {
            let mut out = self.out();
            let file = out.file::<K>(&self.directory)?;
            let end = file.metadata()?.len();
            (file, end)
        };
        let text = lines::compact(&lines::read(&file, end, &self.nothing)?.knowledge);
        // Write the new file without the lock, so that appending threads do not wait for the disk.
        let mut replacement = self.directory.prepare(K::FILE, &text)?;
        let replaced = self.replace(&file, end, &mut replacement);
        let Ok((mut out, size)) = replaced else {
            _ = self.directory.discard(replacement);
            return replaced.map(|_| ());
        };
        if out.closed {
            return self.directory.discard(replacement);
        }
        self.directory.put(replacement, K::FILE)?;
        out.limit = limit_after(text.len() as u64);
        out.size = size;
        // The old file has lost its name. If the new one cannot be opened now, the next entry tries again.
        out.file = None;
        out.unnamed = true;
        let opened = out.file::<K>(&self.directory).map(|_| ());
        if self.synced {
            // Sync before anything else is appended: otherwise the disk may not find the file.
            self.directory.sync()?;
            out.unnamed = false;
            return opened;
        }
        drop(out);
        opened.and(self.directory.sync())
    }

    /// Copies the lines that were appended to the file since. Returns the lock, so that no thread appends any more, and the
    /// size of the replacement.
    fn replace(
        &self,
        file: &File,
        mut end: u64,
        replacement: &mut Replacement,
    ) -> io::Result<(MutexGuard<'_, Out>, u64)> {
        /// How many times new lines are copied without the lock. The last copy makes appending threads wait.
        const ROUNDS: usize = 3;
        if self.synced {
            for _ in 0..ROUNDS {
                end += take_over(file, end, replacement)?;
                replacement.sync()?;
            }
        }
        let out = self.out();
        take_over(file, end, replacement)?;
        if self.synced {
            replacement.sync()?;
        }
        let size = replacement.size()?;
        Ok((out, size))
    }
}

/// Copies everything from this offset on, and returns its length in bytes.
fn take_over(file: &File, from: u64, replacement: &mut Replacement) -> io::Result<u64> {
    let added = file.metadata()?.len().saturating_sub(from);
    let mut rest = vec![0; usize::try_from(added).map_err(io::Error::other)?];
    file.read_exact_at(&mut rest, from)?;
    replacement.append(&rest)?;
    Ok(added)
}

impl Out {
    fn file<K: Known>(&mut self, directory: &StateDir) -> io::Result<Arc<File>> {
        match &self.file {
            Some(file) => Ok(Arc::clone(file)),
            None => {
                let file = Arc::new(directory.append_file(K::FILE)?);
                self.file = Some(Arc::clone(&file));
                Ok(file)
            }
        }
    }

    /// Writes a line in one system call, so that a crash of the host does not tear it.
    fn write<K: Known>(&mut self, directory: &StateDir, mut line: Vec<u8>) -> io::Result<()> {
        if self.torn {
            line.insert(0, b'\n');
        }
        let file = self.file::<K>(directory)?;
        let count = loop {
            match (&*file).write(&line) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.size += count as u64;
        self.torn = count < line.len();
        if self.torn {
            let size = line.len();
            return Err(io::Error::new(
                io::ErrorKind::WriteZero,
                format!("only {count} of {size} bytes were written"),
            ));
        }
        Ok(())
    }

    /// Logs the first failure in a row, and the first success after it.
    fn note(&mut self, error: Option<&io::Error>, journal: &str) {
        match error {
            Some(_) => self.failed += 1,
            None => self.written += 1,
        }
        match error {
            Some(error) => {
                self.failures += 1;
                if self.failures == 1 {
                    tracing::warn!(
                        %error,
                        journal,
                        "the journal cannot be written: the next start will not know all that happened in this one"
                    );
                }
            }
            None if self.failures > 0 => {
                let missing = std::mem::take(&mut self.failures);
                tracing::warn!(missing, journal, "the journal is written again");
            }
            None => {}
        }
    }
}

/// Returns whether an error says that the disk is full. A full disk does not keep the host from running commands.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

fn limit_after(size: u64) -> u64 {
    /// The most that may be added to a large file: a file of hundreds of megabytes must not grow to four times its size.
    const MOST: u64 = 256 << 20;
    size.saturating_add(size.saturating_mul(3).min(MOST))
        .max(SMALL)
}

/// Removes the partial files of rewrites that a crash interrupted.
fn remove_partial(directory: &StateDir, name: &str) -> io::Result<()> {
    let prefix = format!(".{name}.");
    for (found, _) in directory.names()? {
        if found.starts_with(&prefix) {
            directory.remove(&found)?;
        }
    }
    Ok(())
}
