//! What a policy and the places grant to commands: paths with rights.
//!
//! In namespaces, the [`crate::View`] shows exactly these paths. Without them, [`crate::landlock_rules`] makes rules of them.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use crate::places::Places;
use crate::policy::{Mode, Policy};
use toolhost_state::closed::Closed;
use toolhost_state::real_paths::RealPaths;

/// The rights to a path and everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rights {
    /// List names.
    List,
    /// Read, execute and list.
    Read,
    /// Read, execute and list, and with a home, write on top.
    Lent,
    /// Connect to the socket.
    Socket,
    /// Read and write as a device.
    Device,
    /// Read, execute, write, make and remove.
    Write,
}

/// A path, and the rights to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The path. It was canonical when the grant was made.
    pub(crate) path: PathBuf,
    pub(crate) rights: Rights,
}

/// The grants of a policy and the places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grants {
    pub(crate) granted: Vec<Grant>,
    /// The rights of `granted` by their paths: thousands of paths are looked up.
    rights: HashMap<PathBuf, Vec<Rights>>,
    /// The links on the way to granted paths, each with its target as it is written.
    pub(crate) links: BTreeMap<PathBuf, PathBuf>,
    /// Paths of the policy or the places that are not granted, because `never` forbids them or because they are unsafe.
    pub(crate) refused: Vec<PathBuf>,
    /// The paths of `never`, of the places and the policy.
    pub(crate) never: Closed,
    /// The directories in which commands of the workspace write.
    written: Vec<PathBuf>,
}

impl Grants {
    /// Makes the grants. Paths that do not exist are left out.
    pub(crate) fn new(policy: &Policy, places: &Places) -> Self {
        let real = RealPaths::default();
        let never = Closed::looked_up(places.never.iter().chain(&policy.never), &real);
        let mut grants = Self {
            never,
            ..Self::default()
        };
        let writes = policy.mode == Mode::Workspace;
        let own = if writes { Rights::Write } else { Rights::Read };
        let maps = process_maps(policy);
        let is_other = |path: &PathBuf| {
            path.metadata()
                .is_ok_and(|found| !found.file_type().is_socket())
        };
        let (others, sockets): (Vec<_>, Vec<_>) =
            policy.sockets.iter().cloned().partition(is_other);
        grants.refused.extend(others);
        let lent: Vec<_> = places.lent.iter().map(|lent| lent.path.clone()).collect();
        let roots: &[(&[PathBuf], Rights, bool)] = &[
            (&places.workspace, own, true),
            (&places.temporary, Rights::Write, true),
            (&policy.write, own, false),
            (&sockets, Rights::Socket, true),
            (&policy.read, Rights::Read, false),
            (&places.read, Rights::Read, false),
            (&lent, Rights::Lent, false),
            (&places.devices, Rights::Device, false),
            (&places.list, Rights::List, false),
            (&maps, Rights::Device, false),
        ];
        // Also where these commands may only read: others of the workspace write there.
        let written = [&places.workspace, &places.temporary, &policy.write];
        let written = written.into_iter().flatten();
        grants.written = written.filter_map(|path| real.of(path)).collect();
        for (paths, rights, may_be_below) in roots {
            for path in *paths {
                grants.add(path, *rights, *may_be_below, &real);
            }
        }
        grants
    }

    /// Adds a path with these rights. The path may be below one of `never` if `may_be_below` is set.
    fn add(&mut self, path: &Path, rights: Rights, may_be_below: bool, real: &RealPaths) {
        let Some(real) = real.of(path) else {
            return;
        };
        let links = match real == path {
            true => Vec::new(),
            false => links_to(path),
        };
        // A command may have made a link in a writable directory. It must not lead to a new grant.
        let follows_unsafe_link = links.iter().any(|(link, _)| {
            let mut written = self.written.iter();
            written.any(|root| link.starts_with(root))
        });
        let is_closed = match may_be_below {
            true => self.never.has(&real),
            false => self.never.covers(&real),
        };
        if !path.is_absolute() || follows_unsafe_link || is_closed {
            self.refused.push(path.to_path_buf());
            return;
        }
        self.links.extend(links);
        self.push(real, rights);
    }

    fn push(&mut self, path: PathBuf, rights: Rights) {
        if !self.has(&path, |known| known.covers(rights)) {
            let known = self.rights.entry(path.clone()).or_default();
            known.push(rights);
            self.granted.push(Grant { path, rights });
        }
    }

    /// Returns the existing paths of `never` within a writable directory, each with that directory.
    pub(crate) fn exposed(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let writable = self.granted.iter();
        let writable =
            writable.filter(|grant| matches!(grant.rights, Rights::Write | Rights::Device));
        writable.flat_map(|grant| {
            let below = self.never.below(&grant.path);
            let there = below.filter(|path| path.symlink_metadata().is_ok());
            there.map(|path| (path, grant.path.as_path()))
        })
    }

    /// Returns whether a grant of the path, or of a directory above it, has such rights.
    fn has(&self, path: &Path, is_wanted: impl Fn(Rights) -> bool) -> bool {
        let mut above = path.ancestors();
        above.any(|above| {
            let known = self.rights.get(above);
            known.is_some_and(|known| known.iter().any(|known| is_wanted(*known)))
        })
    }
}

impl Rights {
    /// Returns whether these rights include others.
    pub(crate) fn covers(self, others: Self) -> bool {
        match (self, others) {
            (own, others) if own == others => true,
            // Commands write into the workspace and its toolchains themselves, as file tools do.
            (Self::Write, Self::Socket | Self::Lent) => true,
            (Self::Write | Self::Lent, Self::Read | Self::List) | (Self::Read, Self::List) => true,
            _ => false,
        }
    }
}

/// Returns the links on the way to a path, each with its target as it is written. Empty if there are too many.
pub(crate) fn links_to(path: &Path) -> Vec<(PathBuf, PathBuf)> {
    /// As many as the kernel follows.
    const MOST: usize = 40;
    let mut found = Vec::new();
    let mut at = PathBuf::from("/");
    let mut rest = backwards(path);
    while let Some(part) = rest.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        let entry = at.join(&part);
        match fs::read_link(&entry) {
            Ok(_) if found.len() == MOST => return Vec::new(),
            Ok(target) => {
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                rest.extend(backwards(&target));
                found.push((entry, target));
            }
            Err(_) => at = entry,
        }
    }
    found
}

/// Returns the names of a path, the last one first.
fn backwards(path: &Path) -> Vec<OsString> {
    let names = path.components().rev();
    let names = names.filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.map(|part| part.as_os_str().to_owned()).collect()
}

/// Returns the directory of the files in which programs map the users of a namespace: `/proc`, if the policy lets commands make
/// namespaces.
///
/// A rule cannot name the files of future processes, so it must cover all of `/proc`. Root gets no such rule: root may write the system's
/// settings there, and could name a program that the kernel then runs outside of the sandbox.
fn process_maps(policy: &Policy) -> Vec<PathBuf> {
    let allowed = policy.nested && !rustix::process::getuid().is_root();
    allowed.then(|| "/proc".into()).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_found_wherever_they_are() {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("a", root.join("relative")).unwrap();
        symlink(root.join("relative/b"), root.join("absolute")).unwrap();
        symlink("../absolute", root.join("a/up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let found = |name: &str| links_to(&root.join(name));
        let link = |name: &str, to: PathBuf| (root.join(name), to);
        let relative = link("relative", "a".into());
        let absolute = link("absolute", root.join("relative/b"));
        assert_eq!(found("a/b"), []);
        assert_eq!(found("relative/b"), std::slice::from_ref(&relative));
        assert_eq!(found("absolute/x"), [absolute.clone(), relative.clone()]);
        let up = link("a/up", "../absolute".into());
        assert_eq!(found("a/up"), [up, absolute, relative]);
        assert_eq!(found("loop"), []);
    }

    #[test]
    fn a_relative_path_grants_nothing() {
        let policy = Policy {
            read: vec!["src".into(), ".".into()],
            write: vec!["..".into()],
            ..Policy::default()
        };
        let all = Grants::new(&policy, &Places::default());
        assert_eq!(all.granted, []);
        assert_eq!(all.refused.len(), 3);
    }
}
