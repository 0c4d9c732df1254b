//! The namespaces of layers, which the host, the spawners of chats and the supervisors of kept commands hand each other.

use std::io;
use std::os::fd::OwnedFd;

/// The namespaces in which layers are mounted: they exist for as long as this, and the chats that have copies.
#[derive(Debug)]
pub(in crate::process) struct LayerNamespaces(Vec<OwnedFd>);

/// How many these are.
const COUNT: usize = 2;

impl LayerNamespaces {
    /// Takes the next ones of these descriptors; `None` if some are missing, because this process could not take them.
    pub(super) fn take(fds: &mut impl Iterator<Item = OwnedFd>) -> Option<Self> {
        let taken: Vec<_> = fds.take(COUNT).collect();
        (taken.len() == COUNT).then_some(Self(taken))
    }

    pub(super) fn descriptors(&self) -> impl Iterator<Item = &OwnedFd> {
        self.0.iter()
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        let cloned = self.0.iter().map(OwnedFd::try_clone);
        cloned.collect::<Result<_, _>>().map(Self)
    }
}
