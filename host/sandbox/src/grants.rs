//! The rules for Landlock that a policy and places come to.
//!
//! Landlock grants whole hierarchies and cannot take away. So a readable directory that contains a path of `never` is not
//! granted itself: the entries beside that path are, one by one, as they are now. A writable directory is granted whole, because
//! no names could be made in it otherwise; the paths of `never` below it are reported.

use std::fs;
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::policy::{Mode, Policy};

/// What may be done with a path and everything below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rights {
    /// List names.
    List,
    /// Read, execute and list.
    Read,
    /// Read and write as a device.
    Device,
    /// Read, execute, write, make and remove.
    Write,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// Canonical when the rule was made.
    pub(crate) path: PathBuf,
    pub(crate) rights: Rights,
}

/// The rules for a policy, and what they do not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grants {
    pub(crate) grants: Vec<Grant>,
    /// Paths of `never` that exist below a writable directory, and that directory.
    pub(crate) exposed: Vec<(PathBuf, PathBuf)>,
    /// Paths that were asked for, and that `never` forbids.
    pub(crate) refused: Vec<PathBuf>,
    /// The paths of `never` of the places and the policy.
    pub(crate) never: Never,
}

impl Grants {
    /// Returns the rules. Paths that do not exist are left out.
    pub(crate) fn new(policy: &Policy, places: &Places) -> Self {
        let never = Never::new(places.never.iter().chain(&policy.never));
        let mut grants = Self::default();
        let writes = policy.mode == Mode::Workspace;
        let own = if writes { Rights::Write } else { Rights::Read };
        let maps = process_maps(policy);
        let roots: &[(&[PathBuf], Rights, bool)] = &[
            (&places.workspace, own, true),
            (&places.temporary, Rights::Write, true),
            (&policy.write, own, false),
            (&places.caches, own, false),
            (&policy.read, Rights::Read, false),
            (&places.read, Rights::Read, false),
            (&places.devices, Rights::Device, false),
            (&places.list, Rights::List, false),
            (&maps, Rights::Device, false),
        ];
        for (paths, rights, may_be_below) in roots {
            for path in *paths {
                grants.add(path, *rights, *may_be_below, &never);
            }
        }
        grants.never = never;
        grants
    }

    fn add(&mut self, path: &Path, rights: Rights, may_be_below: bool, never: &Never) {
        let Ok(real) = path.canonicalize() else {
            return;
        };
        // A command can put a link where it may write.
        let is_led_away = real != path && self.is_writable(path);
        if !path.is_absolute() || is_led_away || never.forbids(&real, may_be_below) {
            self.refused.push(path.to_path_buf());
            return;
        }
        let hidden: Vec<_> = never.below(&real).cloned().collect();
        if hidden.is_empty() {
            self.push(real, rights);
        } else if rights == Rights::Read {
            self.split(&real, never);
        } else {
            let there = hidden
                .into_iter()
                .filter(|path| path.symlink_metadata().is_ok());
            let exposed = there.map(|path| (path, real.clone()));
            if rights != Rights::List {
                self.exposed.extend(exposed);
            }
            self.push(real, rights);
        }
    }

    /// Grants what is in a directory without what is in `never`.
    fn split(&mut self, directory: &Path, never: &Never) {
        // The right to list holds below as well, so it would show the names in a hidden directory.
        if never.below(directory).all(|path| !path.is_dir()) {
            self.push(directory.to_path_buf(), Rights::List);
        }
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        for entry in entries {
            // A link is followed where it leads, and needs no rule of its own.
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            let path = entry.path();
            if never.forbids(&path, false) {
                continue;
            }
            if never.below(&path).next().is_none() {
                self.push(path, Rights::Read);
            } else {
                self.split(&path, never);
            }
        }
    }

    fn push(&mut self, path: PathBuf, rights: Rights) {
        let is_known = |grant: &Grant| match (grant.rights, rights) {
            (known, new) if known == new => path.starts_with(&grant.path),
            (Rights::Write, Rights::Read | Rights::List) | (Rights::Read, Rights::List) => {
                path.starts_with(&grant.path)
            }
            _ => false,
        };
        if !self.grants.iter().any(is_known) {
            self.grants.push(Grant { path, rights });
        }
    }

    fn is_writable(&self, path: &Path) -> bool {
        let mut grants = self.grants.iter();
        grants.any(|grant| grant.rights == Rights::Write && path.starts_with(&grant.path))
    }
}

/// Returns where programs map the users of a namespace that they make.
///
/// No rule can name the files of processes to come, so it is all of `/proc`. There, the system's settings belong to root, who
/// could set a program that the kernel runs outside of the sandbox: root gets no such rule.
fn process_maps(policy: &Policy) -> Vec<PathBuf> {
    let allowed = policy.nested && !rustix::process::getuid().is_root();
    allowed.then(|| "/proc".into()).into_iter().collect()
}

/// The paths that no rule may grant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Never {
    paths: Vec<PathBuf>,
}

impl Never {
    fn new<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Self {
        let mut all: Vec<_> = paths.flat_map(|path| [path.clone(), real(path)]).collect();
        all.sort();
        all.dedup();
        Self { paths: all }
    }

    pub(crate) fn forbids(&self, path: &Path, may_be_below: bool) -> bool {
        self.paths.iter().any(|never| match may_be_below {
            true => path == never,
            false => path.starts_with(never),
        })
    }

    /// Returns those that exist, without links.
    pub(crate) fn that_exist(&self) -> impl Iterator<Item = &PathBuf> {
        let is_itself = |path: &&PathBuf| path.canonicalize().is_ok_and(|real| real == **path);
        self.paths.iter().filter(is_itself)
    }

    fn below(&self, path: &Path) -> impl Iterator<Item = &PathBuf> {
        self.paths
            .iter()
            .filter(move |never| *never != path && never.starts_with(path))
    }
}

/// Returns a path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            // Joining nothing would leave a slash at the end.
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
    }
    path.to_path_buf()
}

#[cfg(test)]
mod tests;
