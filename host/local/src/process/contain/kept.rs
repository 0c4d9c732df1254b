//! Kept commands: they outlive their host, and the next host of the same state directory takes them over.
//!
//! The supervisor of a kept command holds on when its host is gone. It listens on a socket in the state directory. A host that connects
//! to it gets the control channel, the read end of the output, and the spool.
//!
//! No byte of the output is lost or doubled, however a host ends. The reader of the pipe moves bytes into the spool with `splice`, which
//! takes exactly those bytes from the pipe that it adds to the file. So the length of the spool is always the number of bytes that were
//! read, and nothing else counts them. While there is a host, the host is the reader; otherwise, the supervisor is.
//!
//! The supervisor writes the end of the command into a file, because a host can be killed before it has read the message.

mod greeting;
mod outlet;
mod place;
mod spool;

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use super::layer_namespaces::LayerNamespaces;
use super::terms::Terms;

pub(super) use greeting::{Answer, Attached, Greeting};
pub(in crate::process) use outlet::{Line, Outlet};
pub(super) use place::is_id;
pub(in crate::process) use place::{Directories, Place};
pub(in crate::process) use spool::{Moved, Spool};

/// The descriptors that the supervisor of a kept command needs besides those of any command.
#[derive(Debug)]
pub(super) struct Descriptors {
    pub(super) listener: OwnedFd,
    pub(super) spool: OwnedFd,
    pub(super) end: OwnedFd,
    /// The read end of the output.
    pub(super) pipe: OwnedFd,
    /// The write end of standard input, if that is a pipe which stays open.
    pub(super) input: Option<OwnedFd>,
    /// The namespaces of the layers of its home, which the next host needs to share them.
    pub(super) layers: Option<LayerNamespaces>,
}

impl Descriptors {
    /// Takes them in the order of [`Descriptors::all`]. `fed`: the input is one of them. `layered`: the namespaces of layers are.
    pub(super) fn take(
        fds: &mut impl Iterator<Item = OwnedFd>,
        fed: bool,
        layered: bool,
    ) -> Option<Self> {
        Some(Self {
            listener: fds.next()?,
            spool: fds.next()?,
            end: fds.next()?,
            pipe: fds.next()?,
            input: if fed { Some(fds.next()?) } else { None },
            layers: if layered {
                Some(LayerNamespaces::take(fds)?)
            } else {
                None
            },
        })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &OwnedFd> {
        let always = [&self.listener, &self.spool, &self.end, &self.pipe];
        let layers = self.layers.iter().flat_map(LayerNamespaces::descriptors);
        always.into_iter().chain(&self.input).chain(layers)
    }
}

/// The parts of a kept command that are made before it starts.
#[derive(Debug)]
pub(in crate::process) struct Preparation {
    pub(super) terms: Terms,
    pub(super) listener: OwnedFd,
    pub(super) spool: Spool,
    pub(super) end: OwnedFd,
}

impl Preparation {
    /// Returns what the supervisor gets: these parts, the read end of the output, the write end of standard input, and the namespaces of
    /// the layers.
    pub(super) fn descriptors(
        &self,
        pipe: BorrowedFd<'_>,
        input: Option<&OwnedFd>,
        layers: Option<&LayerNamespaces>,
    ) -> io::Result<Descriptors> {
        Ok(Descriptors {
            listener: self.listener.try_clone()?,
            spool: self.spool.descriptor()?,
            end: self.end.try_clone()?,
            pipe: pipe.try_clone_to_owned()?,
            input: input.map(OwnedFd::try_clone).transpose()?,
            layers: layers.map(LayerNamespaces::try_clone).transpose()?,
        })
    }
}
