//! Views: the files and the network that the commands of a chat see in namespaces of their own.
//!
//! The host makes a [`View`] from a policy and places, and sends its bytes to the process that becomes the first process of the
//! namespaces. That process calls [`View::enter`]. Files that the view does not replace look as they do outside, and are read-only.
//! Landlock decides which of them commands can read.

mod bytes;
mod enter;
mod loopback;
mod mounts;

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::thread::UnshareFlags;

use crate::landlock_rules::{LandlockRule, LandlockRules, Rights};
use crate::network::Network;
use crate::places::Places;
use crate::plan::Plan;
use crate::policy::{Mode, Policy};
use toolhost_state::closed::Closed;

pub use enter::{EnterError, Entered};

/// The directories for temporary files. Each chat has its own.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// The directory of the sockets of services. Most of these services would act for a command.
const SOCKETS: &str = "/run";

/// The files and the network that commands see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The steps, in the order in which they are carried out. No step hides the path of an earlier one.
    steps: Vec<Step>,
    network: NetworkAccess,
}

/// The access of commands to the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum NetworkAccess {
    /// The network of the host.
    #[default]
    Open,
    /// Only a loopback interface of these namespaces.
    None,
    /// A loopback interface of these namespaces, on which a proxy listens.
    Proxy,
}

/// A step of making a view: it mounts something at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    path: PathBuf,
    shown: Shown,
}

/// What commands see at the path of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shown {
    /// An empty directory or file.
    Nothing,
    /// The files at the path `of`, which may be the path of the step itself.
    Files { of: PathBuf, writable: bool },
    /// The processes of these namespaces: a file system `proc`.
    Processes,
    /// Shared memory of these namespaces.
    Memory,
    /// The terminals of these namespaces.
    Terminals,
}

/// The new file systems of every view, for all policies.
const NEW: [(&str, Shown); 3] = [
    ("/proc", Shown::Processes),
    ("/dev/shm", Shown::Memory),
    ("/dev/pts", Shown::Terminals),
];

impl View {
    /// Makes the view for commands whose temporary directory is `temporary`, which is one of `places.temporary`.
    ///
    /// Commands see that directory at `/tmp`, unless the policy names `/tmp` itself: see [`View::temporary`].
    #[must_use]
    pub fn new(policy: &Policy, places: &Places, temporary: &Path) -> Self {
        Self::of(&Plan::new(policy, places), temporary)
    }

    /// Makes the view of a plan, as [`View::new`] does.
    #[must_use]
    pub fn of(plan: &Plan<'_>, temporary: &Path) -> Self {
        let (policy, places) = (plan.policy, plan.places);
        let LandlockRules { rules, never, .. } = &plan.rules;
        let replaced = replaced(rules, never, temporary);
        let is_new = |path: &Path| NEW.iter().any(|(new, _)| path.starts_with(new));
        let is_replaced = |path: &Path| replaced.iter().any(|step| path.starts_with(&step.path));
        let is_moved = replaced.iter().any(|step| step.shows(temporary));
        let is_needed = |grant: &&LandlockRule| {
            !is_new(&grant.path)
                && match grant.rights {
                    Rights::Write => !(is_moved && grant.path == temporary),
                    Rights::Read => is_replaced(&grant.path),
                    Rights::List | Rights::Device => false,
                }
        };
        let shown = rules.iter().filter(is_needed);
        let shown = shown.map(|grant| Step::same(&grant.path, grant.rights == Rights::Write));
        let mut steps: Vec<_> = new_steps().chain(shown).collect();
        steps.extend(replaced);
        steps.extend(pinned(&plan.rules));
        if policy.mode == Mode::Workspace {
            steps.extend(protected(policy, places));
        }
        steps.sort_by_key(|step| step.path.components().count());
        Self {
            steps,
            network: match &policy.network {
                Network::All => NetworkAccess::Open,
                Network::None => NetworkAccess::None,
                Network::Hosts(_) => NetworkAccess::Proxy,
            },
        }
    }

    /// Makes a view that uses every feature, to find out whether this machine supports them.
    #[must_use]
    pub fn trial() -> Self {
        Self {
            steps: new_steps().collect(),
            network: NetworkAccess::Proxy,
        }
    }

    /// Returns the path at which commands see their temporary directory, which is `directory` outside of the namespaces.
    #[must_use]
    pub fn temporary<'p>(&self, directory: &'p Path) -> &'p Path {
        let mut steps = self.steps.iter();
        let tmp = Path::new(TEMPORARY[0]);
        match steps.any(|step| step.path == tmp && step.shows(directory)) {
            true => tmp,
            false => directory,
        }
    }

    /// Returns the result of [`View::enter`] in another process, from the descriptors that [`Entered::descriptors`] returned there.
    /// `None` if descriptors are missing.
    #[must_use]
    pub fn entered(&self, descriptors: Vec<OwnedFd>) -> Option<Entered> {
        let is_new = |step: &&Step| NEW.iter().any(|(_, new)| *new == step.shown);
        let mut descriptors = descriptors.into_iter();
        let with_descriptor = |step: &Step| Some((step.path.clone(), descriptors.next()?));
        let paths = self.steps.iter().filter(is_new);
        let new = paths.map(with_descriptor).collect::<Option<_>>()?;
        let listener = match self.network {
            NetworkAccess::Proxy => Some(descriptors.next()?.into()),
            NetworkAccess::Open | NetworkAccess::None => None,
        };
        Some(Entered { new, listener })
    }

    /// Returns the namespaces of the view. The process that calls [`View::enter`] must be the first process in them, and the user
    /// namespace must own the others.
    #[must_use]
    pub fn namespaces(&self) -> UnshareFlags {
        let network = match self.network {
            NetworkAccess::Open => UnshareFlags::empty(),
            NetworkAccess::None | NetworkAccess::Proxy => UnshareFlags::NEWNET,
        };
        UnshareFlags::NEWUSER
            | UnshareFlags::NEWNS
            | UnshareFlags::NEWPID
            | UnshareFlags::NEWIPC
            | network
    }
}

/// Returns the steps for the new file systems whose directories exist on this machine.
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
    /// Makes a step that shows the files of the path itself.
    fn same(path: &Path, writable: bool) -> Self {
        let of = path.to_path_buf();
        step(path, Shown::Files { of, writable })
    }

    /// Returns whether the step shows the files of this path.
    fn shows(&self, path: &Path) -> bool {
        matches!(&self.shown, Shown::Files { of, .. } if of == path)
    }
}

/// Returns the steps that hide a path or replace it by the temporary files of the chat. A path that the policy grants as a whole is
/// not replaced.
fn replaced(rules: &[LandlockRule], never: &Closed, temporary: &Path) -> Vec<Step> {
    let is_replaceable = |path: &&str| {
        let path = Path::new(path);
        let covers =
            |grant: &LandlockRule| grant.rights != Rights::List && path.starts_with(&grant.path);
        let is_itself = path.canonicalize().is_ok_and(|real| real == path);
        is_itself && !rules.iter().any(covers)
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
        .chain(never.that_exist().map(Path::to_path_buf));
    own.chain(hidden.map(nothing)).collect()
}

/// Returns the steps that keep commands from renaming a directory above a closed path.
fn pinned(rules: &LandlockRules) -> impl Iterator<Item = Step> {
    let exposed = rules.exposed.iter();
    let above: BTreeSet<_> = exposed
        .filter(|(path, _)| path.canonicalize().is_ok_and(|real| real == *path))
        .flat_map(|(path, root)| between(root, path))
        // A closed directory is empty, and is to stay so.
        .filter(|above| !rules.never.covers(above))
        .collect();
    above.into_iter().map(|path| Step::same(&path, true))
}

/// Returns the directories between a root and a path. If each of them is a mount point, no command can rename it and put another in its
/// place.
fn between(root: &Path, path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let above = above.take_while(|above| *above != root);
    above.map(Path::to_path_buf).collect()
}

/// Returns the steps that make protected paths of the workspace read-only. The directories above them are pinned.
fn protected(policy: &Policy, places: &Places) -> Vec<Step> {
    let mut above = BTreeSet::new();
    let mut kept = Vec::new();
    for (root, path) in protectable(policy, places) {
        above.extend(between(&root, &path));
        kept.push(Step::same(&path, false));
    }
    let above = above.iter().map(|path| Step::same(path, true));
    above.chain(kept).collect()
}

/// Returns the protected paths that exist and contain no links, each with its root.
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

/// Returns the protected paths that cannot be protected, because they do not exist or contain links.
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
