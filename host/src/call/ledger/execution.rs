//! One execution of a call, from the line in the journal that precedes it to the one that follows.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::records::{Key, Record, Told};
use super::{Admitted, Refused, Shared};
use crate::call::{Outcome, Request};
use crate::tool::{ErrorKind, ToolError};

/// A call that runs. Its record is forgotten if this is dropped before its end, as happens to a task with its runtime: the
/// record must not claim for ever that the call runs.
pub(super) struct Execution {
    shared: Arc<Shared>,
    request: Arc<Request>,
    digest: [u8; 32],
    teller: watch::Sender<Told>,
    over: bool,
}

impl Execution {
    pub(super) fn new(
        shared: Arc<Shared>,
        request: Arc<Request>,
        digest: [u8; 32],
        teller: watch::Sender<Told>,
    ) -> Self {
        Self {
            shared,
            request,
            digest,
            teller,
            over: false,
        }
    }

    /// Runs it and tells everyone who waits.
    pub(super) async fn run<R>(mut self, admitted: Admitted<R>)
    where
        R: Future<Output = Outcome> + Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        if !admitted.read_only {
            let written = shared.journal.started(&self.request, &self.digest).await;
            if let Err(error) = written {
                self.forget();
                let refused = Refused::Unrecorded(error.to_string());
                self.teller.send_replace(Some(Err(refused)));
                return;
            }
        }
        if let Some(listener) = &shared.listener {
            listener.begun(&self.request);
        }
        let outcome = tokio::spawn(admitted.execution).await;
        let outcome = Arc::new(outcome.unwrap_or_else(|error| self.failed(&error)));
        // Before anybody is told: a caller who knows the outcome is never told after a crash that nobody does.
        let chat = &self.request.chat;
        shared.journal.ended(chat, &self.digest, &outcome).await;
        self.over = true;
        self.finish(&outcome);
        if let Some(listener) = &shared.listener {
            listener.ended(chat, &outcome);
        }
        self.teller.send_replace(Some(Ok(outcome)));
    }

    fn failed(&self, error: &tokio::task::JoinError) -> Outcome {
        Outcome {
            id: self.request.id.clone(),
            tool: self.request.tool.clone(),
            result: Err(ToolError::new(
                ErrorKind::Broken,
                format!("the host failed: {error}"),
            )),
            cancelled: false,
            processes: Vec::new(),
            duration: Duration::ZERO,
            queued: Duration::ZERO,
        }
    }

    fn finish(&self, outcome: &Arc<Outcome>) {
        let key = self.key();
        let mut calls = self.shared.calls();
        let record = calls.entries.get(&key);
        let fenced = matches!(record, Some(Record::Running { fenced: true, .. }));
        calls.bytes += outcome.size();
        calls.entries.insert(
            key,
            Record::Ended {
                digest: self.digest,
                fenced,
                outcome: Arc::clone(outcome),
                at: Instant::now(),
            },
        );
        if calls.bytes > self.shared.limits.bytes {
            calls.sweep(&self.shared.limits);
        }
    }

    fn forget(&mut self) {
        self.over = true;
        let key = self.key();
        self.shared.calls().entries.remove(&key);
    }

    fn key(&self) -> Key {
        (self.request.chat.clone(), self.request.id.clone())
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        if !self.over {
            self.forget();
        }
    }
}
