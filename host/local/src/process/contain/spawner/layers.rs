//! The host's end of the mounts over layers.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::libc;
use toolhost_sandbox::LayerMounts;

use super::running::receive_ready;
use super::{Frame, PATIENCE, Spawner, sys};

/// The namespaces in which layers are mounted: they exist for as long as this, and the chats that have copies.
#[derive(Debug)]
pub(in crate::process) struct LayerNamespaces(pub(super) Vec<OwnedFd>);

impl Spawner {
    /// Mounts layers: in these namespaces, else in new ones. Blocks until that is done.
    ///
    /// # Errors
    ///
    /// If the kernel refuses the namespaces or a mount, with what it refuses as the text.
    pub(in crate::process) fn mount(
        &self,
        mounts: &LayerMounts,
        into: Option<&LayerNamespaces>,
    ) -> io::Result<LayerNamespaces> {
        let request = sys::in_memory(&mounts.encode())?;
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut sent = vec![theirs.as_fd(), request.as_fd()];
        sent.extend(into.iter().flat_map(|into| into.0.iter().map(AsFd::as_fd)));
        let joins = into.is_some();
        self.send(Frame::Mount { joins }, &sent)?;
        drop(theirs);
        let made = receive_ready(&socket, "the process that mounts layers ended at once")?;
        match made.len() {
            2 => Ok(LayerNamespaces(made)),
            // This process could not take them.
            _ => Err(io::Error::from_raw_os_error(libc::EMFILE)),
        }
    }
}
