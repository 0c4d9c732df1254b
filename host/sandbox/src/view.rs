//! Views: the files and the network that the commands of a chat see in namespaces of their own.
//!
//! The host makes a [`View`] from a policy and places, and sends its bytes to the process that becomes the first process of the
//! namespaces. That process calls [`View::enter`]. The root of a view is new: it has what its steps show, and nothing else.

mod bytes;
mod copies;
mod current;
mod enter;
mod layers;
mod loopback;
mod mounts;
mod protected;
mod steps;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::thread::UnshareFlags;

use crate::grants::{Grant, Grants, Rights};
use crate::network::Network;
use crate::places::Places;
use crate::plan::Plan;
use crate::policy::Policy;

pub use current::MountTable;
pub use enter::{EnterError, Entered};
pub use layers::LayerMounts;
pub(crate) use protected::unprotected;

/// The directories for temporary files. Each chat has its own.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

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

/// A step of making a view: it shows something at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    path: PathBuf,
    shown: Shown,
}

/// What commands see at the path of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shown {
    /// A directory of the root, which is empty but for what later steps show in it.
    Directory,
    /// A link of the root, with this target.
    Link { to: PathBuf },
    /// An empty directory or file over one that an earlier step shows.
    Nothing,
    /// The files at the path `of`, which may be the path of the step itself.
    Files { of: PathBuf, writable: bool },
    /// Files with what commands write on top of them, which [`LayerMounts`] show at the path `of`.
    Layer { of: PathBuf },
    /// The directory that the steps before show here, as a mount of its own: it can be neither renamed nor removed.
    Itself,
    /// Copies of the files at a path, which belong to the user of the commands.
    Copies { of: PathBuf },
    /// The socket at the path `of`.
    Socket { of: PathBuf },
    /// The processes of these namespaces: a file system `proc`.
    Processes,
    /// Shared memory of these namespaces.
    Memory,
    /// The terminals of these namespaces.
    Terminals,
}

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
        Self {
            steps: steps::of(plan, temporary),
            network: match &plan.policy.network {
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
            steps: steps::of_all_views(),
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

    /// Returns the result of [`View::enter`] in another process, from the descriptors that [`Entered::descriptors`] returned there. Takes no
    /// further ones. `None` if descriptors are missing.
    #[must_use]
    pub fn entered(&self, descriptors: &mut impl Iterator<Item = OwnedFd>) -> Option<Entered> {
        let root = descriptors.next()?;
        let listener = match self.network {
            NetworkAccess::Proxy => Some(descriptors.next()?.into()),
            NetworkAccess::Open | NetworkAccess::None => None,
        };
        Some(Entered { root, listener })
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

    /// Returns the paths that the view shows, with what commands may do there. What is not below one of them is not there.
    pub(crate) fn shown(&self) -> impl Iterator<Item = Grant> + '_ {
        self.steps.iter().filter_map(|step| {
            let rights = match &step.shown {
                Shown::Files { writable: true, .. } | Shown::Layer { .. } | Shown::Memory => {
                    Rights::Write
                }
                Shown::Socket { .. } => Rights::Socket,
                Shown::Terminals => Rights::Device,
                Shown::Files { .. } | Shown::Copies { .. } | Shown::Processes => Rights::Read,
                Shown::Directory | Shown::Link { .. } | Shown::Nothing | Shown::Itself => {
                    return None;
                }
            };
            let path = step.path.clone();
            Some(Grant { path, rights })
        })
    }

    /// Returns the closed paths that are empty in the view.
    pub(crate) fn hidden(&self) -> Vec<PathBuf> {
        let hidden = self
            .steps
            .iter()
            .filter(|step| step.shown == Shown::Nothing);
        hidden.map(|step| step.path.clone()).collect()
    }

    /// Returns the Landlock rules of commands in the view: they may read all that it shows, and write where it can be written.
    pub(crate) fn rules(&self, grants: &Grants) -> Vec<Grant> {
        let all = Grant {
            path: "/".into(),
            rights: Rights::Read,
        };
        let others = self.shown().filter(|grant| grant.rights != Rights::Read);
        // A policy may let commands write the files of their processes.
        let of_processes = grants.granted.iter();
        let of_processes = of_processes.filter(|grant| grant.path == Path::new("/proc"));
        let others = others.chain(of_processes.cloned());
        std::iter::once(all).chain(others).collect()
    }
}

impl Shown {
    /// Returns whether a view cannot do without it: what belongs to the namespaces, and where commands may write, with what leads there.
    /// Otherwise they would write where a link leads that an earlier command has put there.
    fn is_needed(&self) -> bool {
        matches!(
            self,
            Self::Processes
                | Self::Memory
                | Self::Terminals
                | Self::Itself
                | Self::Files { writable: true, .. }
        )
    }
}

impl Step {
    fn new(path: impl Into<PathBuf>, shown: Shown) -> Self {
        Self {
            path: path.into(),
            shown,
        }
    }

    /// Makes a step that shows the files of the path itself.
    fn same(path: &Path, writable: bool) -> Self {
        let of = path.to_path_buf();
        Self::new(path, Shown::Files { of, writable })
    }

    /// Returns whether the step shows the files of this path.
    fn shows(&self, path: &Path) -> bool {
        matches!(&self.shown, Shown::Files { of, .. } if of == path)
    }
}

#[cfg(test)]
mod tests;
