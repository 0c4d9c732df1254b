//! A workspace that records every change in the audit trail, whichever API the change comes through.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use toolhost_workspace::files::{self, CpuAccount, Metadata, Write};
use toolhost_workspace::process::{Command, Error, Signal, Started, State};
use toolhost_workspace::{Owner, Workspace};

use super::{Trail, Use};

/// A workspace that records in a trail each process that is started or for which there is no room, each signal, and each file that is written. If the
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
}

impl Workspace for Audited {
    fn root(&self) -> &Path {
        self.inner.root()
    }

    fn inner(&self) -> Option<&dyn Workspace> {
        Some(&*self.inner)
    }

    fn start<'a>(
        &'a self,
        owner: Owner<'a>,
        command: Command,
    ) -> BoxFuture<'a, Result<Started, Error>> {
        Box::pin(async move {
            let digest = blake3::hash(command.command.as_bytes()).to_hex();
            let used = |process| Use::ProcessStart {
                process,
                command: digest.to_string(),
            };
            let pending = Pending::new(&self.trail, vec![used(None)]);
            let started = self.inner.start(owner, command).await;
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
        })
    }

    fn signal<'a>(
        &'a self,
        owner: Owner<'a>,
        id: &'a str,
        signal: Signal,
        grace: Option<Duration>,
    ) -> BoxFuture<'a, Result<State, Error>> {
        Box::pin(async move {
            let used = Use::ProcessSignal {
                process: id.to_owned(),
                signal: signal.to_string(),
            };
            let pending = Pending::new(&self.trail, vec![used]);
            let state = self.inner.signal(owner, id, signal, grace).await;
            match &state {
                Ok(_) | Err(Error::UnknownOutcome(_)) => drop(pending),
                Err(_) => pending.settle([]),
            }
            state
        })
    }

    fn write_files(
        &self,
        writes: Vec<Write>,
        account: Arc<CpuAccount>,
    ) -> BoxFuture<'_, Result<Vec<Metadata>, (usize, files::Error)>> {
        Box::pin(async move {
            let asked: Vec<Use> = writes.iter().map(uncertain).collect();
            let pending = Pending::new(&self.trail, asked.clone());
            let written = self.inner.write_files(writes, account).await;
            match &written {
                Ok(written) => {
                    let used = asked.into_iter().zip(written);
                    pending.settle(used.map(|(used, metadata)| certain(used, metadata)));
                }
                Err((_, files::Error::UnknownOutcome(_))) => drop(pending),
                Err(_) => pending.settle([]),
            }
            written
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
