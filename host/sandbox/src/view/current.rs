//! Whether a view that was entered earlier shows what it would show if it were entered now.

use std::fs::{self, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxAttributes, StatxFlags, openat, statx};

use super::{Shown, View, copies};
use crate::below;

/// By how much the times of files may lag behind the clock.
const LAG: Duration = Duration::from_millis(20);

/// A file as a look sees it: its device and number, and whether a mount begins there.
type Seen = ((u32, u32, u64), bool);

impl View {
    /// Returns whether each path of this view shows the file that is there now. `root` is the root of the view, which a process began to
    /// enter at the time `since`. New mounts below the paths are not seen: see [`super::MountTable`].
    #[must_use]
    pub fn is_current(&self, root: &OwnedFd, since: SystemTime) -> bool {
        let hidden: Vec<_> = self.hidden();
        self.steps.iter().all(|step| {
            let inside = || look(root, below::relative(&step.path));
            match &step.shown {
                _ if hidden.contains(&step.path) => true,
                Shown::Files { of, .. } | Shown::Socket { of } => match (inside(), look(CWD, of)) {
                    (Some((inside, _)), Some((outside, _))) => inside == outside,
                    (inside, outside) => inside.is_none() && outside.is_none(),
                },
                Shown::Itself => inside().is_some_and(|(_, begins)| begins),
                Shown::Copies { of } => !changed_since(of, since, copies::MOST_DEEP),
                Shown::Layer { .. }
                | Shown::Directory
                | Shown::Link { .. }
                | Shown::Nothing
                | Shown::Processes
                | Shown::Memory
                | Shown::Terminals => true,
            }
        })
    }
}

/// Looks at a path, but not through a link at its end.
fn look(at: impl AsFd, path: &Path) -> Option<Seen> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let found = statx(at, path, flags, StatxFlags::INO).ok()?;
    let begins = found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
    let identity = (found.stx_dev_major, found.stx_dev_minor, found.stx_ino);
    Some((identity, begins))
}

/// Returns whether a file, or one below it, has changed since a moment.
fn changed_since(path: &Path, since: SystemTime, deep: usize) -> bool {
    let has_changed = |found: Metadata| {
        let changed = Duration::new(
            found.ctime().unsigned_abs(),
            found.ctime_nsec().try_into().unwrap_or(0),
        );
        SystemTime::UNIX_EPOCH + changed + LAG >= since
    };
    let Ok(found) = fs::metadata(path) else {
        return false;
    };
    let is_dir = found.is_dir();
    let below = || {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut paths = entries.map(|entry| entry.path());
        paths.any(|path| changed_since(&path, since, deep - 1))
    };
    has_changed(found) || (is_dir && deep > 0 && below())
}

/// The mounts of this process, and whether they have changed.
#[derive(Debug)]
pub struct MountTable(OwnedFd);

impl MountTable {
    /// Opens the table: changes count from now on.
    ///
    /// # Errors
    ///
    /// If `/proc` is not there, or this process may open no more files.
    pub fn open() -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(CWD, c"/proc/self/mountinfo", flags, Mode::empty())?;
        let table = Self(file);
        // The first look tells of all earlier changes.
        _ = table.has_changed();
        Ok(table)
    }

    /// Returns whether a mount was made or removed since the last look.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::PRI)];
        poll(&mut fds, Some(&Timespec::default())).is_ok_and(|changed| changed > 0)
    }
}
