//! The descriptors that the spawner and a supervisor get for one command.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;

use crate::process::contain::kept::Descriptors;
use crate::process::contain::sys;
use crate::process::contain::wire::Frame;

/// The descriptors that come with [`Frame::Start`].
pub(super) struct Start {
    pub(super) control: OwnedFd,
    pub(super) request: OwnedFd,
    pub(super) output: OwnedFd,
    pub(super) stdin: OwnedFd,
    pub(super) cgroup: Option<OwnedFd>,
    pub(super) ruleset: Option<OwnedFd>,
    pub(super) kept: Option<Descriptors>,
}

impl Start {
    /// Takes the descriptors that came with a message, the control socket first; `None` if the message is no start, or if some are missing.
    /// Then this process may have no more of them, and the host is told so.
    pub(super) fn from_descriptors(message: Frame, fds: Vec<OwnedFd>) -> Option<Self> {
        let Frame::Start {
            cgroup,
            ruleset,
            kept,
            fed,
            layered,
        } = message
        else {
            return None;
        };
        let mut fds = fds.into_iter();
        let control = fds.next()?;
        let rest = (|| {
            let (request, output, stdin) = (fds.next()?, fds.next()?, fds.next()?);
            let cgroup = if cgroup { Some(fds.next()?) } else { None };
            let ruleset = if ruleset { Some(fds.next()?) } else { None };
            let kept = if kept {
                Some(Descriptors::take(&mut fds, fed, layered)?)
            } else {
                None
            };
            Some((request, output, stdin, cgroup, ruleset, kept))
        })();
        let Some((request, output, stdin, cgroup, ruleset, kept)) = rest else {
            let errno = Errno::EMFILE as i32;
            _ = sys::send(control.as_fd(), &Frame::Failed { errno }.encode(), &[]);
            return None;
        };
        Some(Self {
            control,
            request,
            output,
            stdin,
            cgroup,
            ruleset,
            kept,
        })
    }

    /// Returns these descriptors.
    pub(super) fn descriptors(&self) -> Vec<RawFd> {
        let fds = [&self.control, &self.request, &self.output, &self.stdin];
        let fds = fds.into_iter().chain(&self.cgroup).chain(&self.ruleset);
        let kept = self.kept.iter().flat_map(Descriptors::all);
        let fds = fds.chain(kept);
        fds.map(AsRawFd::as_raw_fd).collect()
    }
}
