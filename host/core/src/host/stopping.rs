//! The end of a host: draining, shutting down, and the tokens that tell of it.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolhost_workspace::Workspace as _;
use toolhost_workspace::process::Info;

use super::Host;

impl Host {
    /// Cancels every call and waits for the replies. If the host opened the workspace itself, then ends every process of the
    /// workspace, and returns the processes that were live. Those of a workspace from
    /// [`Builder::workspace`](super::Builder::workspace) run on.
    ///
    /// New calls are refused from here on.
    pub async fn shutdown(&self) -> Vec<Info> {
        self.inner.draining.cancel();
        self.inner.stopping.cancel();
        self.inner.calls.close();
        self.inner.calls.wait().await;
        self.inner.ledger.finish().await;
        self.inner.over.cancel();
        if let Err(error) = self.inner.ledger.store().close().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "the lease of this host cannot be given up: it runs out"
            );
        }
        let live = match &self.inner.local {
            Some(local) => local.end_all().await,
            None => Vec::new(),
        };
        self.inner.notices.close().await;
        self.inner.events.close();
        let audit = self.inner.audit.clone();
        // This waits for the disk.
        _ = tokio::task::spawn_blocking(move || audit.finish()).await;
        live
    }

    /// Keeps the plugins loaded until the process ends, for a program that ends as soon as the host does: to unload them takes longer
    /// than to leave them to the kernel.
    pub fn leave_loaded(&self) {
        self.inner.plugins.leave_loaded();
    }

    /// Refuses new calls from here on, and waits for those that run, but no longer than this time, and no longer than until
    /// [`Host::hurry`]. [`Host::shutdown`] ends those that are left.
    pub async fn drain(&self, time: Duration) {
        self.inner.draining.cancel();
        self.inner.calls.close();
        if !time.is_zero() {
            self.inner.leaving.cancel();
        }
        let calls = tokio::time::timeout(time, self.inner.calls.wait());
        let ended = tokio::select! {
            ended = calls => ended.is_ok(),
            () = self.inner.hurried.cancelled() => false,
        };
        if !ended {
            let left = self.inner.calls.len();
            match time.is_zero() {
                true => tracing::info!(left, "calls that run are cancelled"),
                false => tracing::warn!(
                    left,
                    "calls still run when draining ends: they are cancelled"
                ),
            }
        }
    }

    /// Returns a token that is cancelled when the host takes no new calls any more: it drains or shuts down.
    pub fn draining(&self) -> CancellationToken {
        self.inner.draining.clone()
    }

    /// Returns a token that is cancelled when calls may go on for a while and new ones are refused: who can should use another host.
    pub fn leaving(&self) -> CancellationToken {
        self.inner.leaving.clone()
    }

    /// Returns a token that is cancelled once the host has shut down so far that all calls have ended, and nothing needs agents any more.
    pub fn over(&self) -> CancellationToken {
        self.inner.over.clone()
    }

    /// Returns a token that is cancelled when the host begins to shut down.
    pub fn stopping(&self) -> CancellationToken {
        self.inner.stopping.clone()
    }

    /// Ends sooner, since the operator asked once more: ends [`Host::drain`], or else kills the processes that are being ended, without
    /// the rest of their grace.
    pub fn hurry(&self) {
        let drains = self.inner.draining.is_cancelled() && !self.inner.stopping.is_cancelled();
        match drains {
            true => self.inner.hurried.cancel(),
            false => self.inner.workspace.kill_now(),
        }
    }
}
