//! The seam between tools and the machine on which commands run: the trait [`Workspace`], its values, and the trait [`Provider`] of
//! workspaces with a name.
//!
//! A plugin, the agent API and the server see processes and files through this trait alone, so that they do not know whether a
//! workspace is this machine or another one. The values can be sent to another machine.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod base64;
mod bounded;
mod calls;
pub mod files;
pub mod operation;
pub mod process;
mod provider;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use toolhost_state::id::ChatId;

use files::CpuAccount;
use operation::{Answer, Operation};
use process::{Connecting, Containment, Error, Info, Shell, Subscriber, Totals};

pub use bounded::{Bounded, Sight};
pub use process::Connection;
pub use provider::{
    AgentSpec, DirectorySpec, GitSpec, Idleness, LogPage, Opened, Phase, Provider, ProviderError,
    Quota, Spec, TemplateSpec, Watched,
};

/// The owner of a process: a chat, or `None` if a client of the agent API started the process and named no chat.
pub type Owner<'a> = Option<&'a ChatId>;

/// How a workspace runs commands, and its totals.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Status {
    /// How the processes of a command are held together, and why not better.
    pub containment: Containment,
    /// The totals of all processes.
    pub totals: Totals,
    /// The workspaces with names beside this one; `None` if it has none.
    #[serde(default)]
    pub named: Option<NamedCounts>,
    /// The starts that were refused because the machine had no room; `None` if none was.
    #[serde(default)]
    pub shortage: Option<Shortage>,
}

/// The starts that were refused because a machine had no room for them.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Shortage {
    /// How many were refused.
    pub count: u64,
    /// How long ago the last one was refused, in seconds.
    pub seconds_ago: u64,
    /// The reason of the last one.
    pub why: String,
}

/// How many workspaces with names there are.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub struct NamedCounts {
    /// All of them.
    pub known: u64,
    /// Those that are open.
    pub open: u64,
    /// Those that could not be opened the last time.
    pub failed: u64,
}

/// The means that a caller grants an operation.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The account that pays for the CPU time of an operation on files.
    pub account: Arc<CpuAccount>,
}

/// A directory in which commands run and files are. Its [operations](operation) have typed calls, such as `workspace.start(owner, command)`.
///
/// Where a workspace is another machine, any operation may answer [`Error::Unavailable`] or [`Error::UnknownOutcome`].
pub trait Workspace: std::fmt::Debug + Send + Sync {
    /// Returns the absolute path of the workspace directory, as a command sees it.
    fn root(&self) -> &Path;

    /// Returns the shell that runs commands.
    fn shell(&self) -> Shell {
        self.inner()
            .map_or_else(Shell::default, |inner| inner.shell())
    }

    /// Returns the workspace that this one wraps, to which all is forwarded that this one does not do itself.
    fn inner(&self) -> Option<&dyn Workspace> {
        None
    }

    /// Does an operation. The answer is that to this operation.
    fn call<'a>(&'a self, context: &'a Context, operation: Operation) -> BoxFuture<'a, Answer> {
        match self.inner() {
            Some(inner) => inner.call(context, operation),
            None => Box::pin(async move {
                let nothing = "this workspace runs no commands and offers no files";
                operation.failed(Error::Unavailable(nothing.into()))
            }),
        }
    }

    /// Connects to a TCP port on which a command of this chat listens. Other ports are never reached: neither those of other chats, nor those
    /// of the machine. At most [`MAX_CONNECTIONS`](process::MAX_CONNECTIONS) connections are open at a time.
    ///
    /// # Errors
    ///
    /// [`Error::NotListening`] if no command of the chat listens there, [`Error::Busy`] if too many connections are open, and those of a
    /// workspace that cannot be reached.
    fn connect<'a>(&'a self, chat: &'a ChatId, port: u16) -> Connecting<'a> {
        match self.inner() {
            Some(inner) => inner.connect(chat, port),
            None => Box::pin(async {
                let nothing = "this workspace runs no commands";
                Err(Error::Unavailable(nothing.into()))
            }),
        }
    }

    /// Returns this workspace with the files of these directories alone, relative to the workspace or absolute. The error says
    /// which of them cannot be used.
    fn restricted<'a>(
        &'a self,
        roots: &'a [PathBuf],
    ) -> BoxFuture<'a, Result<Arc<dyn Workspace>, files::Error>> {
        match self.inner() {
            Some(inner) => inner.restricted(roots),
            None => Box::pin(async {
                let nothing = "this workspace offers no files";
                Err(files::Error::Unavailable(nothing.into()))
            }),
        }
    }

    /// Lets later subscribers of the workspace of an agent hear also of the processes that ended up to this long ago, as others may have
    /// started them. A workspace that has no other users has no such processes, and does nothing.
    fn hear_since(&self, ago: Duration) {
        if let Some(inner) = self.inner() {
            inner.hear_since(ago);
        }
    }

    /// Sends all process events from now on to this subscriber, until it is dropped.
    fn subscribe(&self, subscriber: Weak<dyn Subscriber>) {
        if let Some(inner) = self.inner() {
            inner.subscribe(subscriber);
        }
    }

    /// Ends every process of the workspace and returns those that were live. No command can be started afterwards. A host
    /// that stops ends the processes of a workspace only if no other host uses it.
    fn end_all(&self) -> BoxFuture<'_, Vec<Info>> {
        match self.inner() {
            Some(inner) => inner.end_all(),
            None => Box::pin(async { Vec::new() }),
        }
    }

    /// Kills processes that are being ended at once, without the rest of their grace.
    fn kill_now(&self) {
        if let Some(inner) = self.inner() {
            inner.kill_now();
        }
    }
}
