//! TCP sockets that the spawner of a chat makes in its namespaces, for connections of the host to commands there.

use std::os::fd::OwnedFd;

use super::namespaces::{refuse, send};
use crate::process::contain::sockets::tcp_socket;
use crate::process::contain::wire::Frame;

/// Answers [`Frame::Connect`] on the socket that is attached to it.
pub(super) fn answer(attached: &[OwnedFd], v6: bool) {
    // Without it, this process may have no more descriptors, and the host sees its end closed.
    let Some(host) = attached.first() else {
        return;
    };
    let sent = tcp_socket(v6).and_then(|made| send(host, &Frame::Ready.encode(), &[made]));
    if let Err(error) = sent {
        refuse(host, &error, "");
    }
}
