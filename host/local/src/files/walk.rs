//! Walking from a path to a file, one name at a time. Links are followed if they lead to places within the roots.
//!
//! cap-std would resolve whole paths as safely, but refuses absolute links even where they lead back inside, and does not
//! say where a path has led.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use rustix::io::Errno;
use toolhost_state::closed::Identity;

use super::metadata;
use super::resolved_path::ResolvedPath;
use super::roots::{Root, identity, names};
use super::{Error, Files, Kind, open};

/// The most links on the way, as in the kernel.
const MAX_LINKS: usize = 40;

/// The most retries of a name that changes its kind while it is being opened.
const MAX_SURPRISES: usize = 40;

/// How many directories a walk may open: `..` and links can make it long.
const MAX_STEPS: usize = 10_000;

/// The most bytes of a path.
const MAX_PATH: usize = 4096;

/// A walk under way.
struct Walk<'a> {
    files: &'a Files,
    root: &'a Root,
    /// The names of the directories below the root that the walk went through. They are not kept open: a path can have
    /// thousands.
    below: Vec<OsString>,
    /// The directory that the walk has come to.
    here: Dir,
    /// The names that are left, in reverse.
    left: Vec<OsString>,
    /// Whether the walk must end at a directory.
    directory: bool,
    /// Whether the walk ends at a link that is the last name, instead of following it.
    keeps_link: bool,
    links: usize,
    surprises: usize,
    steps: usize,
}

impl Files {
    /// Walks to the file that a path names. Relative paths begin at the workspace.
    pub(super) fn walk(&self, path: &str) -> Result<ResolvedPath, Error> {
        self.walk_to(path, false)
    }

    /// Walks to the file or link that a path names: a link that is its last name is not followed.
    pub(super) fn walk_to_name(&self, path: &str) -> Result<ResolvedPath, Error> {
        self.walk_to(path, true)
    }

    fn walk_to(&self, path: &str, keeps_link: bool) -> Result<ResolvedPath, Error> {
        let outside = || Error::OutsideWorkspace {
            path: path.to_owned(),
            workspace: self.roots.outermost().to_path_buf(),
        };
        if path.is_empty() {
            return Err(Error::Invalid("the path is empty".into()));
        }
        if path.contains('\0') {
            return Err(Error::Invalid("a path cannot contain NUL".into()));
        }
        if path.len() > MAX_PATH {
            return Err(Error::Invalid("file name too long".into()));
        }
        let (mut left, directory) = names(Path::new(path));
        let root = if path.starts_with('/') {
            self.roots.enter(&mut left).ok_or_else(outside)?
        } else {
            self.roots.enter_relative(&mut left).ok_or_else(outside)?
        };
        let walk = Walk {
            files: self,
            root,
            below: Vec::new(),
            here: root.open()?,
            left,
            directory,
            keeps_link,
            links: 0,
            surprises: 0,
            steps: 0,
        };
        walk.run()?.ok_or_else(outside)
    }
}

impl Walk<'_> {
    /// Returns where the walk ends; `None` if that is outside.
    fn run(mut self) -> Result<Option<ResolvedPath>, Error> {
        let place = self.walk()?;
        match place {
            Some(ResolvedPath::Entry { .. }) if self.directory => Err(Error::NotADirectory),
            Some(ResolvedPath::Missing { .. }) if self.directory => Err(Error::NotFound),
            place => Ok(place),
        }
    }

    fn walk(&mut self) -> Result<Option<ResolvedPath>, Error> {
        while let Some(name) = self.left.pop() {
            if self.steps > MAX_STEPS {
                let text = "the path leads through too many directories";
                return Err(Error::Invalid(text.into()));
            }
            let (path, here) = self.check()?;
            if name == ".." {
                if !self.up()? {
                    return Ok(None);
                }
                continue;
            }
            let path = path.join(&name);
            self.files.roots.check_name(&path, here)?;
            let found = match self.here.symlink_metadata(&name) {
                Ok(found) => found,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return self.missing(name).map(Some);
                }
                Err(error) => return Err(error.into()),
            };
            match metadata::kind(found.file_type()) {
                Kind::Symlink if self.keeps_link && self.left.is_empty() => {
                    return Ok(Some(ResolvedPath::Entry {
                        parent: self.here.try_clone()?,
                        name,
                        found,
                        path,
                    }));
                }
                Kind::Symlink => match self.here.read_link_contents(&name) {
                    Ok(target) => {
                        if !self.follow(&target)? {
                            return Ok(None);
                        }
                    }
                    Err(error) => self.surprise(name, error)?,
                },
                Kind::Directory => match self.open(&name) {
                    Ok(()) => self.below.push(name),
                    Err(error) => self.surprise(name, error)?,
                },
                Kind::File | Kind::Other if self.left.is_empty() => {
                    self.files.roots.check_file(&found)?;
                    return Ok(Some(ResolvedPath::Entry {
                        parent: self.here.try_clone()?,
                        name,
                        found,
                        path,
                    }));
                }
                Kind::File | Kind::Other => return Err(Error::NotADirectory),
            }
        }
        let (path, _) = self.check()?;
        Ok(Some(ResolvedPath::Directory {
            path,
            directory: self.here.try_clone()?,
        }))
    }

    /// Returns the path and the identity of the directory that the walk has come to, unless it is closed.
    fn check(&self) -> Result<(PathBuf, Identity), Error> {
        let (path, here) = (self.path(), self.here.dir_metadata()?);
        self.files.roots.check_directory(&path, &here)?;
        Ok((path, identity(&here)))
    }

    fn path(&self) -> PathBuf {
        let root = std::iter::once(self.root.path.as_os_str());
        root.chain(self.below.iter().map(OsString::as_os_str))
            .collect()
    }

    /// Goes to the parent directory. Returns whether it can be reached.
    fn up(&mut self) -> Result<bool, Error> {
        if self.below.pop().is_some() {
            self.here = self.root.open()?;
            for name in self.below.clone() {
                self.open(&name)?;
            }
            return Ok(true);
        }
        // Above the root, continue as if the path had been written as an absolute one.
        let (above, _) = names(self.root.path.parent().unwrap_or(&self.root.path));
        self.left.extend(above);
        self.enter()
    }

    /// Goes on at a link's target. Returns whether that can be reached.
    fn follow(&mut self, target: &Path) -> Result<bool, Error> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Error::Invalid("too many symbolic links".into()));
        }
        let (names, directory) = names(target);
        // If names follow the link, its target must be a directory anyway.
        self.directory |= directory && self.left.is_empty();
        self.left.extend(names);
        Ok(!target.is_absolute() || self.enter()?)
    }

    /// Begins anew, with the names that are left as an absolute path.
    fn enter(&mut self) -> Result<bool, Error> {
        let Some(root) = self.files.roots.enter(&mut self.left) else {
            return Ok(false);
        };
        self.root = root;
        self.below.clear();
        self.here = root.open()?;
        Ok(true)
    }

    /// Goes into a directory.
    fn open(&mut self, name: &OsStr) -> std::io::Result<()> {
        self.steps += 1;
        self.here = open::directory(&self.here, name)?;
        Ok(())
    }

    /// Looks at a name again if it changed its kind: another process changes the tree.
    fn surprise(&mut self, name: OsString, error: std::io::Error) -> Result<(), Error> {
        let changed = [Errno::NOTDIR, Errno::LOOP, Errno::NOENT, Errno::INVAL];
        if !Errno::from_io_error(&error).is_some_and(|errno| changed.contains(&errno)) {
            return Err(error.into());
        }
        self.surprises += 1;
        if self.surprises > MAX_SURPRISES {
            let text = "the path changes too often to be resolved";
            return Err(Error::Failed(text.into()));
        }
        self.left.push(name);
        Ok(())
    }

    fn missing(&mut self, name: OsString) -> Result<ResolvedPath, Error> {
        // As in the kernel, `..` after a name that does not exist is an error.
        if self.left.iter().any(|name| name == "..") {
            return Err(Error::NotFound);
        }
        let mut path = self.path();
        let mut missing = vec![name];
        missing.extend(self.left.drain(..).rev());
        path.extend(&missing);
        self.files.roots.check_missing(&path)?;
        Ok(ResolvedPath::Missing {
            parent: self.here.try_clone()?,
            missing,
            path,
        })
    }
}
