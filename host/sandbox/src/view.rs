//! What the commands of a chat see of this machine in namespaces of their own.
//!
//! The host makes a [`View`] from a policy and places, and sends its bytes to the process that becomes the first one of the
//! namespaces. That process calls [`View::enter`]. Files that are neither in the list of a policy nor in the way of one look as
//! they do outside, and cannot be changed: Landlock says which of them can be read.

mod bytes;
mod enter;
mod loopback;
mod mounts;

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::thread::UnshareFlags;

use crate::grants::{Grant, Grants, Never, Rights};
use crate::network::Network;
use crate::places::Places;
use crate::policy::{Mode, Policy};

pub use enter::{EnterError, Entered};

/// The directories for temporary files, which a chat has for itself.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// The directory of the sockets of services, most of which would act for a command.
const SOCKETS: &str = "/run";

/// The files and the network that commands see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// In the order in which they are carried out: no step hides what an earlier one shows.
    steps: Vec<Step>,
    network: Way,
}

/// How commands reach the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    /// As the host does.
    #[default]
    Open,
    /// Not at all, but for a loopback of these namespaces.
    None,
    /// Through a proxy that listens at the loopback of these namespaces.
    Proxy,
}

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    path: PathBuf,
    shown: Shown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shown {
    /// An empty directory or file.
    Nothing,
    /// The files of another path, or of the same.
    Files { of: PathBuf, writable: bool },
    /// The processes of these namespaces: a file system `proc`.
    Processes,
    /// Shared memory that belongs to these namespaces.
    Memory,
    /// The terminals that are made in these namespaces.
    Terminals,
}

/// The file systems that are new in every view. They are the same for all policies.
const NEW: [(&str, Shown); 3] = [
    ("/proc", Shown::Processes),
    ("/dev/shm", Shown::Memory),
    ("/dev/pts", Shown::Terminals),
];

impl View {
    /// Returns the view of commands whose temporary files are in the directory `temporary`, which is one of `places.temporary`.
    ///
    /// Commands find that directory at `/tmp`, unless the policy names `/tmp` itself: see [`View::temporary`].
    #[must_use]
    pub fn new(policy: &Policy, places: &Places, temporary: &Path) -> Self {
        let Grants { grants, never, .. } = Grants::new(policy, places);
        let replaced = replaced(&grants, &never, temporary);
        let is_new = |path: &Path| NEW.iter().any(|(new, _)| path.starts_with(new));
        let is_replaced = |path: &Path| replaced.iter().any(|step| path.starts_with(&step.path));
        let is_moved = replaced.iter().any(|step| step.shows(temporary));
        let is_needed = |grant: &&Grant| {
            !is_new(&grant.path)
                && match grant.rights {
                    Rights::Write => !(is_moved && grant.path == temporary),
                    Rights::Read => is_replaced(&grant.path),
                    Rights::List | Rights::Device => false,
                }
        };
        let shown = grants.iter().filter(is_needed);
        let shown = shown.map(|grant| Step::same(&grant.path, grant.rights == Rights::Write));
        let mut steps: Vec<_> = new_steps().chain(shown).collect();
        steps.extend(replaced);
        if policy.mode == Mode::Workspace {
            steps.extend(protected(policy, places));
        }
        steps.sort_by_key(|step| step.path.components().count());
        Self {
            steps,
            network: match &policy.network {
                Network::All => Way::Open,
                Network::None => Way::None,
                Network::Hosts(_) => Way::Proxy,
            },
        }
    }

    /// Returns a view that needs everything that a view can need, to find out whether this machine has it.
    #[must_use]
    pub fn trial() -> Self {
        Self {
            steps: new_steps().collect(),
            network: Way::Proxy,
        }
    }

    /// Returns where commands find their temporary directory, which is `directory` outside of the namespaces.
    #[must_use]
    pub fn temporary<'p>(&self, directory: &'p Path) -> &'p Path {
        let mut steps = self.steps.iter();
        let tmp = Path::new(TEMPORARY[0]);
        match steps.any(|step| step.path == tmp && step.shows(directory)) {
            true => tmp,
            false => directory,
        }
    }

    /// Returns what another process found when it entered this view, with the descriptors of [`Entered::descriptors`]. `None`: some
    /// are missing.
    #[must_use]
    pub fn entered(&self, descriptors: Vec<OwnedFd>) -> Option<Entered> {
        let is_new = |step: &&Step| NEW.iter().any(|(_, new)| *new == step.shown);
        let mut descriptors = descriptors.into_iter();
        let with_descriptor = |step: &Step| Some((step.path.clone(), descriptors.next()?));
        let paths = self.steps.iter().filter(is_new);
        let new = paths.map(with_descriptor).collect::<Option<_>>()?;
        let listener = match self.network {
            Way::Proxy => Some(descriptors.next()?.into()),
            Way::Open | Way::None => None,
        };
        Some(Entered { new, listener })
    }

    /// Returns the namespaces in which the process that calls [`View::enter`] has to be the first one. Their owner has to be the
    /// namespace of users.
    #[must_use]
    pub fn namespaces(&self) -> UnshareFlags {
        let network = match self.network {
            Way::Open => UnshareFlags::empty(),
            Way::None | Way::Proxy => UnshareFlags::NEWNET,
        };
        UnshareFlags::NEWUSER
            | UnshareFlags::NEWNS
            | UnshareFlags::NEWPID
            | UnshareFlags::NEWIPC
            | network
    }
}

/// Returns the steps for the file systems that are new, as far as this machine has their directories.
fn new_steps() -> impl Iterator<Item = Step> {
    let there = NEW.into_iter().filter(|(path, _)| Path::new(path).is_dir());
    there.map(|(path, shown)| step(path, shown))
}

fn step(path: impl Into<PathBuf>, shown: Shown) -> Step {
    Step {
        path: path.into(),
        shown,
    }
}

impl Step {
    /// A path that shows its own files.
    fn same(path: &Path, writable: bool) -> Self {
        let of = path.to_path_buf();
        step(path, Shown::Files { of, writable })
    }

    /// Returns whether these are the files of a path.
    fn shows(&self, path: &Path) -> bool {
        matches!(&self.shown, Shown::Files { of, .. } if of == path)
    }
}

/// Returns the steps that replace what is outside by nothing, or by the temporary files of the chat. What the policy grants as a
/// whole is not replaced.
fn replaced(grants: &[Grant], never: &Never, temporary: &Path) -> Vec<Step> {
    let is_replaceable = |path: &&str| {
        let path = Path::new(path);
        let covers = |grant: &Grant| grant.rights != Rights::List && path.starts_with(&grant.path);
        let is_itself = path.canonicalize().is_ok_and(|real| real == path);
        is_itself && !grants.iter().any(covers)
    };
    let own = |path| {
        let of = temporary.to_path_buf();
        step(path, Shown::Files { of, writable: true })
    };
    let nothing = |path: PathBuf| step(path, Shown::Nothing);
    let own = TEMPORARY.into_iter().filter(is_replaceable).map(own);
    let sockets = [SOCKETS].into_iter().filter(is_replaceable);
    let hidden = sockets
        .map(PathBuf::from)
        .chain(never.that_exist().cloned());
    own.chain(hidden.map(nothing)).collect()
}

/// Returns the steps that keep protected paths of the workspace as they are.
///
/// The directories between the workspace and a protected path get a mount as well, because a directory with a mount cannot be
/// renamed: otherwise a command could put another one in its place.
fn protected(policy: &Policy, places: &Places) -> Vec<Step> {
    let mut above = BTreeSet::new();
    let mut kept = Vec::new();
    for (root, path) in protectable(policy, places) {
        let directories = path.ancestors().skip(1);
        above.extend(
            directories
                .take_while(|above| *above != root)
                .map(Path::to_path_buf),
        );
        kept.push(Step::same(&path, false));
    }
    let above = above.iter().map(|path| Step::same(path, true));
    above.chain(kept).collect()
}

/// Returns the protected paths that exist and are no links, each with its root.
fn protectable(policy: &Policy, places: &Places) -> Vec<(PathBuf, PathBuf)> {
    let roots = places.workspace.iter();
    let roots = roots.filter_map(|root| root.canonicalize().ok());
    roots
        .flat_map(|root| {
            let paths = policy.protect.iter().filter(|path| is_plain(path));
            let paths = paths.map(|path| root.join(path)).collect::<Vec<_>>();
            let there = move |path: PathBuf| {
                let is_itself = path.canonicalize().is_ok_and(|real| real == path);
                is_itself.then(|| (root.clone(), path))
            };
            paths.into_iter().filter_map(there)
        })
        .collect()
}

/// Returns the protected paths that a command can make or lead elsewhere, because they do not exist or are links.
pub(crate) fn unprotected(policy: &Policy, places: &Places) -> Vec<PathBuf> {
    let there = protectable(policy, places);
    let is_there = |path: &&PathBuf| {
        let all = places
            .workspace
            .iter()
            .filter_map(|root| root.canonicalize().ok());
        all.into_iter()
            .all(|root| there.contains(&(root.clone(), root.join(path))))
    };
    policy
        .protect
        .iter()
        .filter(|path| !is_there(path))
        .cloned()
        .collect()
}

fn is_plain(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests;
