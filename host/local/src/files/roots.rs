//! Roots: the directories that may be reached, and the one in which an absolute path begins.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt};
use parking_lot::Mutex;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use toolhost_state::closed::{self, Closed, Identity};
use toolhost_state::real_paths::by_names;

use super::{Config, Error, OpenError};

/// One directory, and its paths.
#[derive(Debug)]
pub(super) struct Root {
    /// The open directory. It is opened again when another directory has its path: a workspace that was removed and made anew
    /// is still the workspace.
    directory: Mutex<Dir>,
    /// Absolute and without links.
    pub(super) path: PathBuf,
    /// As the operator wrote it, made absolute: a model may have read this path somewhere.
    alias: PathBuf,
}

/// All roots, the workspace first.
#[derive(Debug)]
pub(super) struct Roots {
    workspace: Root,
    /// Whether all of the workspace may be reached, or only its parts below the further roots.
    whole: bool,
    further: Vec<Root>,
    closed: Closed,
}

impl Roots {
    pub(super) fn open(config: &Config, closed: &Closed) -> Result<Self, OpenError> {
        let further: Result<_, _> = config.roots.iter().map(|path| Root::new(path)).collect();
        let roots = Self {
            workspace: Root::new(&config.workspace)?,
            whole: true,
            further: further?,
            closed: closed.clone(),
        };
        roots.check()
    }

    /// Returns roots that consist of these directories, given relative to the workspace or absolute.
    pub(super) fn restricted(&self, paths: &[PathBuf]) -> Result<Self, OpenError> {
        let further = paths
            .iter()
            .map(|path| Root::new(&self.workspace.path.join(path)));
        let roots = Self {
            workspace: Root::new(&self.workspace.alias)?,
            whole: false,
            further: further.collect::<Result<_, _>>()?,
            closed: self.closed.clone(),
        };
        roots.check()
    }

    /// Returns the roots of another workspace. A closed directory in which the workspace lies is open to it: that is where the host keeps
    /// the workspaces.
    pub(super) fn beside(&self, workspace: &Path) -> Result<Self, OpenError> {
        let workspace = Root::new(workspace)?;
        let further = self.further.iter().map(|root| Root::new(&root.alias));
        let roots = Self {
            further: further.collect::<Result<_, _>>()?,
            whole: true,
            closed: self.closed.around(&workspace.path),
            workspace,
        };
        roots.check()
    }

    pub(super) fn closed(&self) -> &Closed {
        &self.closed
    }

    /// Returns the directory of the workspace.
    pub(super) fn of_workspace(&self) -> &Path {
        &self.workspace.path
    }

    /// Returns the directories that may be reached besides the workspace.
    pub(super) fn further(&self) -> impl Iterator<Item = &Path> {
        self.further.iter().map(|root| &*root.path)
    }

    /// Makes sure that no root is closed.
    fn check(self) -> Result<Self, OpenError> {
        for root in std::iter::once(&self.workspace).chain(&self.further) {
            if self.closed.covers(&root.path) {
                return Err(OpenError::Closed(root.path.clone()));
            }
        }
        Ok(self)
    }

    /// Returns the root that a relative path leads into, and the names that are left from there; `None` if none does.
    pub(super) fn enter_relative(&self, names: &mut Vec<OsString>) -> Option<&Root> {
        if self.whole {
            return Some(&self.workspace);
        }
        let (above, _) = self::names(&self.workspace.path);
        names.extend(above);
        self.enter(names)
    }

    /// Returns the directory that an error names if a path leads out of all roots.
    pub(super) fn outermost(&self) -> &Path {
        let first = self.further.first().filter(|_| !self.whole);
        &first.unwrap_or(&self.workspace).path
    }

    /// Returns the root that an absolute path leads into, and the names that are left from there; `None` if none does.
    ///
    /// `..` is resolved by name, which is right above a root: there are no links in its path.
    pub(super) fn enter(&self, names: &mut Vec<OsString>) -> Option<&Root> {
        let mut above = PathBuf::from("/");
        loop {
            let workspace = Some(&self.workspace).filter(|_| self.whole);
            let all = workspace.into_iter().chain(&self.further);
            let entered = |root: &&Root| root.path == above || root.alias == above;
            if let Some(root) = all.into_iter().find(entered) {
                return Some(root);
            }
            // The names are in reverse: the next one is the last.
            match names.pop()? {
                up if up == ".." => _ = above.pop(),
                name => above.push(name),
            }
        }
    }

    /// Refuses a closed directory.
    pub(super) fn check_directory(&self, path: &Path, found: &Metadata) -> Result<(), Error> {
        refuse(is_own_process(path) || self.has_file(found))
    }

    /// Refuses a closed name in a directory, whether there is such a file or not.
    pub(super) fn check_name(&self, path: &Path, directory: Identity) -> Result<(), Error> {
        refuse(self.closed.has_name(directory, path))
    }

    /// Refuses a path below a closed one, of which the last names are missing.
    pub(super) fn check_missing(&self, path: &Path) -> Result<(), Error> {
        refuse(self.closed.covers(path))
    }

    /// Refuses a closed file, and a hard link to a file of the host.
    pub(super) fn check_file(&self, found: &Metadata) -> Result<(), Error> {
        // A file with a single name has no other one in a directory of the host.
        let may_be_link = found.is_file() && found.nlink() > 1;
        let is_link = may_be_link && self.closed.has_link_to(identity(found))?;
        refuse(is_link || self.has_file(found))
    }

    fn has_file(&self, found: &Metadata) -> bool {
        let made = found.created().ok();
        let made = made.map(cap_std::time::SystemTime::into_std);
        self.closed.has_file(identity(found), made)
    }
}

/// Returns whether a path is the directory of this process, whose environment may contain a token, or of one of its threads. The
/// identities of these directories are others at each look.
fn is_own_process(path: &Path) -> bool {
    let threads = Path::new("/proc/self/task");
    path.parent() == Some(Path::new("/proc"))
        && path
            .file_name()
            .is_some_and(|name| threads.join(name).exists())
}

fn refuse(is_closed: bool) -> Result<(), Error> {
    match is_closed {
        true => Err(Error::Denied(closed::REFUSAL.into())),
        false => Ok(()),
    }
}

/// Returns the device and the inode number of a file.
pub(super) fn identity(found: &Metadata) -> Identity {
    (found.dev(), found.ino())
}

impl Root {
    fn new(path: &Path) -> Result<Self, OpenError> {
        let open = || {
            let alias = by_names(&std::path::absolute(path)?);
            let real = path.canonicalize()?;
            let directory = Dir::open_ambient_dir(&real, ambient_authority())?;
            Ok(Self {
                directory: Mutex::new(directory),
                path: real,
                alias,
            })
        };
        open().map_err(|source| OpenError::Root {
            path: path.to_path_buf(),
            source,
        })
    }
}

impl Root {
    /// Returns the directory that has the path now. Nothing is followed: a link in its place is no root.
    pub(super) fn open(&self) -> Result<Dir, Error> {
        let mut directory = self.directory.lock();
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS;
        let now = match openat2(CWD, &self.path, flags, Mode::empty(), resolve) {
            Ok(now) => Dir::from_std_file(now.into()),
            // The system cannot tell: the directory that there was at the start is the root.
            Err(Errno::NOSYS | Errno::PERM) => return Ok(directory.try_clone()?),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                let text = format!("the directory {} is not there", self.path.display());
                return Err(Error::Unavailable(text));
            }
            Err(errno) => return Err(errno.into()),
        };
        if identity(&now.dir_metadata()?) != identity(&directory.dir_metadata()?) {
            *directory = now.try_clone()?;
        }
        Ok(now)
    }
}

/// Returns the names of a path in reverse, without empty ones and `.`, and whether the path can only name a directory.
pub(super) fn names(path: &Path) -> (Vec<OsString>, bool) {
    let bytes = path.as_os_str().as_bytes();
    let parts = bytes.split(|&byte| byte == b'/');
    let names = parts
        .filter(|part| !part.is_empty() && *part != b".")
        .map(|part| std::ffi::OsStr::from_bytes(part).to_os_string());
    let mut names: Vec<_> = names.collect();
    names.reverse();
    let ends = |end: &[u8]| bytes.ends_with(end);
    (names, ends(b"/") || ends(b"/.") || ends(b"/.."))
}
