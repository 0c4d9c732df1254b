//! The values that all kinds of containment share: the parameters of a start, and the events of a command.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::termios::{Winsize, tcgetwinsize, tcsetwinsize};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use toolhost_sandbox::Sandbox;
use toolhost_workspace::process::{Size, Stdin};

use super::kept::{Outlet, Preparation, Spool};
use super::layer_namespaces::LayerNamespaces;

/// How a shell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum Exit {
    Code(i32),
    /// By its number: real-time signals have no names in the libraries.
    Signal(i32),
}

/// The parameters of a start.
pub(in crate::process) struct Spawn<'a> {
    pub(in crate::process) shell: &'a Path,
    pub(in crate::process) command: &'a str,
    pub(in crate::process) workdir: &'a Path,
    pub(in crate::process) env: &'a BTreeMap<OsString, OsString>,
    pub(in crate::process) stdin: &'a Stdin,
    /// The number added to the niceness.
    pub(in crate::process) nice: i32,
    /// The new value of `oom_score_adj`, unless it is higher already.
    pub(in crate::process) oom_score_adj: i32,
    /// The sandbox. Only a spawner can put a command into it.
    pub(in crate::process) sandbox: &'a Arc<Sandbox>,
    /// Set if the command is kept when the host is gone. Only a spawner can keep it.
    pub(in crate::process) kept: Option<&'a Preparation>,
    /// The namespaces of the layers of its home.
    pub(in crate::process) layers: Option<&'a LayerNamespaces>,
}

/// The output of a command: standard output and error, merged.
#[derive(Debug)]
pub(in crate::process) enum Output {
    Pipe(pipe::Receiver),
    /// The host's side of a terminal.
    Terminal(OwnedFd),
    /// That of a kept command.
    Kept {
        outlet: Outlet,
        spool: Arc<Spool>,
        /// The control socket. The supervisor reads the pipe itself once all its descriptors are closed.
        supervisor: Arc<UnixStream>,
    },
}

impl Output {
    pub(super) fn kept(outlet: Outlet, spool: Arc<Spool>, supervisor: Arc<UnixStream>) -> Self {
        Self::Kept {
            outlet,
            spool,
            supervisor,
        }
    }
}

/// The host's end of a standard input that stays open.
#[derive(Debug)]
pub(in crate::process) enum InputEnd {
    Pipe(OwnedFd),
    /// The host's side of a terminal.
    Terminal(OwnedFd),
}

impl InputEnd {
    /// Returns the size of the terminal, if it is one.
    pub(in crate::process) fn size(&self) -> Option<Size> {
        match self {
            Self::Pipe(_) => None,
            Self::Terminal(terminal) => {
                let size = tcgetwinsize(terminal).ok()?;
                Some(Size {
                    rows: size.ws_row,
                    columns: size.ws_col,
                })
            }
        }
    }
}

/// Gives a terminal a size, of which its programs are told.
pub(in crate::process) fn set_size(terminal: impl AsFd, size: Size) -> io::Result<()> {
    let window = Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(tcsetwinsize(terminal, window)?)
}

/// The two streams of a command.
#[derive(Debug)]
pub(super) struct Streams {
    /// For standard output and error.
    pub(super) output: PipeWriter,
    pub(super) stdin: OwnedFd,
}

/// An event in the life of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum Event {
    /// Its shell ended.
    Exited(Exit),
    /// Nothing of it is left.
    Gone,
    /// It is unknown how the command ended, and its remaining processes are being killed. The text is the reason.
    Lost(&'static str),
}
