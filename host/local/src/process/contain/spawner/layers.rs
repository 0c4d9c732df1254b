//! The host's end of the mounts over layers.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use nix::libc;
use toolhost_sandbox::LayerMounts;

use super::running::receive_ready;
use super::{Frame, PATIENCE, Spawner, sys};
use crate::process::contain::layer_namespaces::LayerNamespaces;

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
        sent.extend(
            into.iter()
                .flat_map(|into| into.descriptors().map(AsFd::as_fd)),
        );
        let joins = into.is_some();
        self.send(Frame::Mount { joins }, &sent)?;
        drop(theirs);
        let made = receive_ready(&socket, "the process that mounts layers ended at once")?;
        let made = LayerNamespaces::take(&mut made.into_iter());
        made.ok_or_else(|| io::Error::from_raw_os_error(libc::EMFILE))
    }
}
