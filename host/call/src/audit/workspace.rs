//! A workspace that records every change in the audit trail, whichever API the change comes through.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use toolhost_state::id::ChatId;
use toolhost_workspace::files::{self, Metadata, Removal, Write};
use toolhost_workspace::operation::{
    Answer, CommitUpload, Operation, RemoveFile, SendInput, SendSignal, Start, WriteFiles,
};
use toolhost_workspace::process::{Connecting, Error, Input, Started, State};
use toolhost_workspace::{Context, Workspace};

use super::{Trail, Use};

/// A workspace that records in a trail each process that is started or for which there is no room, each signal, each input, each connection to a port, and each file that is written or removed. If the
/// caller of an operation is gone before its end, the operation is recorded as uncertain.
#[derive(Debug)]
pub struct Audited {
    inner: Arc<dyn Workspace>,
    trail: Trail,
}

impl Audited {
    /// Returns a workspace that records the changes made through it in this trail.
    pub fn new(inner: Arc<dyn Workspace>, trail: Trail) -> Self {
        Self { inner, trail }
    }

    async fn start(&self, Start { owner, command }: Start) -> Result<Started, Error> {
        let digest = blake3::hash(command.command.as_bytes()).to_hex();
        let used = |process| Use::ProcessStart {
            process,
            command: digest.to_string(),
        };
        let pending = Pending::new(&self.trail, vec![used(None)]);
        let started = self.inner.start(owner.as_ref(), command).await;
        match &started {
            Ok(Started { id, is_new: true }) => pending.settle([used(Some(id.clone()))]),
            Err(Error::UnknownOutcome(_) | Error::Interrupted) => drop(pending),
            Err(Error::Busy(why)) => pending.settle([Use::ProcessRefused {
                command: digest.to_string(),
                why: why.clone(),
            }]),
            Ok(Started { is_new: false, .. }) | Err(_) => pending.settle([]),
        }
        started
    }

    async fn signal(&self, operation: SendSignal) -> Result<State, Error> {
        let SendSignal {
            owner,
            id,
            signal,
            grace,
        } = operation;
        let used = Use::ProcessSignal {
            process: id.clone(),
            signal: signal.to_string(),
        };
        let pending = Pending::new(&self.trail, vec![used]);
        let state = self.inner.signal(owner.as_ref(), &id, signal, grace).await;
        match &state {
            Ok(_) | Err(Error::UnknownOutcome(_)) => drop(pending),
            Err(_) => pending.settle([]),
        }
        state
    }

    async fn input(&self, operation: SendInput) -> Result<State, Error> {
        let SendInput {
            owner,
            id,
            input,
            key,
        } = operation;
        let used = Use::ProcessInput {
            process: id.clone(),
            // What is typed can be a password.
            bytes: match &input {
                Input::Bytes(bytes) => bytes.len() as u64,
                Input::Close | Input::Resize(_) => 0,
            },
        };
        let pending = Pending::new(&self.trail, vec![used]);
        let state = self.inner.input(owner.as_ref(), &id, input, key).await;
        match &state {
            // A part of it may have been written.
            Ok(_) | Err(Error::UnknownOutcome(_) | Error::Failed(_)) => drop(pending),
            Err(_) => pending.settle([]),
        }
        state
    }

    async fn write(
        &self,
        context: &Context,
        write: WriteFiles,
    ) -> Result<Vec<Metadata>, (usize, files::Error)> {
        let removed = |certain| {
            move |removal: &Removal| Use::FileRemove {
                path: removal.path.clone(),
                recursive: false,
                certain,
            }
        };
        let asked = write.writes.iter().map(uncertain);
        let asked: Vec<Use> = asked
            .chain(write.removals.iter().map(removed(false)))
            .collect();
        let removals: Vec<Use> = write.removals.iter().map(removed(true)).collect();
        let pending = Pending::new(&self.trail, asked.clone());
        let written = self.inner.run(context, write).await;
        match &written {
            Ok(written) => {
                let used = asked.into_iter().zip(written);
                let used = used.map(|(used, metadata)| certain(used, metadata));
                pending.settle(used.chain(removals));
            }
            Err((_, files::Error::UnknownOutcome(_))) => drop(pending),
            Err(_) => pending.settle([]),
        }
        written
    }

    async fn commit(
        &self,
        context: &Context,
        commit: CommitUpload,
    ) -> Result<Metadata, files::Error> {
        let used = Use::FileWrite {
            path: commit.path.clone(),
            size: commit.size,
            content: commit.content.clone(),
            certain: false,
        };
        let pending = Pending::new(&self.trail, vec![used.clone()]);
        let written = self.inner.run(context, commit).await;
        match &written {
            Ok(metadata) => pending.settle([certain(used, metadata)]),
            Err(files::Error::UnknownOutcome(_)) => drop(pending),
            Err(_) => pending.settle([]),
        }
        written
    }

    async fn remove(&self, context: &Context, remove: RemoveFile) -> Result<(), files::Error> {
        let used = |certain| Use::FileRemove {
            path: remove.path.clone(),
            recursive: remove.recursive,
            certain,
        };
        let (uncertain, certain) = (used(false), used(true));
        // A part of a directory may have been removed.
        let is_partial = remove.recursive;
        let pending = Pending::new(&self.trail, vec![uncertain]);
        let removed = self.inner.run(context, remove).await;
        match &removed {
            Ok(()) => pending.settle([certain]),
            Err(files::Error::UnknownOutcome(_)) => drop(pending),
            // These come before anything is removed.
            Err(
                files::Error::NotFound
                | files::Error::NotADirectory
                | files::Error::Changed(_)
                | files::Error::OutsideWorkspace { .. }
                | files::Error::Unavailable(_),
            ) => pending.settle([]),
            Err(_) if is_partial => drop(pending),
            Err(_) => pending.settle([]),
        }
        removed
    }
}

impl Workspace for Audited {
    fn root(&self) -> &Path {
        self.inner.root()
    }

    fn inner(&self) -> Option<&dyn Workspace> {
        Some(&*self.inner)
    }

    fn call<'a>(&'a self, context: &'a Context, operation: Operation) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            match operation {
                Operation::Start(start) => Answer::Start(self.start(start).await),
                Operation::SendSignal(signal) => Answer::SendSignal(self.signal(signal).await),
                Operation::SendInput(input) => Answer::SendInput(self.input(input).await),
                Operation::WriteFiles(write) => {
                    Answer::WriteFiles(self.write(context, write).await)
                }
                Operation::CommitUpload(commit) => {
                    Answer::CommitUpload(self.commit(context, commit).await)
                }
                Operation::RemoveFile(remove) => {
                    Answer::RemoveFile(self.remove(context, remove).await)
                }
                other => self.inner.call(context, other).await,
            }
        })
    }

    fn connect<'a>(&'a self, chat: &'a ChatId, port: u16) -> Connecting<'a> {
        Box::pin(async move {
            let pending = Pending::new(&self.trail, vec![Use::PortConnect { port }]);
            let connected = self.inner.connect(chat, port).await;
            match &connected {
                Ok(_) => drop(pending),
                Err(_) => pending.settle([]),
            }
            connected
        })
    }

    fn restricted<'a>(
        &'a self,
        roots: &'a [PathBuf],
    ) -> BoxFuture<'a, Result<Arc<dyn Workspace>, files::Error>> {
        Box::pin(async move {
            let inner = self.inner.restricted(roots).await?;
            Ok(Arc::new(Self::new(inner, self.trail.clone())) as Arc<dyn Workspace>)
        })
    }
}

/// The uses to record when this is dropped. They are marked as uncertain until the result of the operation is known.
struct Pending<'a> {
    trail: &'a Trail,
    uses: Vec<Use>,
}

impl<'a> Pending<'a> {
    fn new(trail: &'a Trail, uses: Vec<Use>) -> Self {
        Self { trail, uses }
    }

    /// Replaces the uses with these, which are certain, and records them.
    fn settle(mut self, uses: impl IntoIterator<Item = Use>) {
        self.uses = uses.into_iter().collect();
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.uses.iter().for_each(|used| self.trail.record(used));
    }
}

/// Returns the use to record for a write that may or may not have been done.
fn uncertain(write: &Write) -> Use {
    Use::FileWrite {
        path: write.path.clone(),
        size: write.data.len() as u64,
        content: blake3::hash(&write.data).to_hex().to_string(),
        certain: false,
    }
}

/// Returns the use to record for a write that was done.
fn certain(used: Use, metadata: &Metadata) -> Use {
    match used {
        Use::FileWrite { size, content, .. } => Use::FileWrite {
            path: metadata.path.to_string_lossy().into_owned(),
            size,
            content,
            certain: true,
        },
        other => other,
    }
}
