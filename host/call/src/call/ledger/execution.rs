//! One execution of a call, from the line in the journal that precedes it to the one that follows.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use super::records::{Calls, Completion, Key, Record};
use super::shared::{Admitted, Shared};
use crate::call::{Outcome, Refused, Request};
use crate::tool::{ErrorKind, ToolError};

/// A call that runs. If it is dropped before its end, as a task is with its runtime, its record must not claim for ever that
/// the call runs. A call that had begun then has an unknown outcome; any other is forgotten.
pub(super) struct Execution {
    shared: Arc<Shared>,
    request: Arc<Request>,
    digest: [u8; 32],
    teller: watch::Sender<Completion>,
    begun: bool,
    over: bool,
}

impl Execution {
    pub(super) fn new(
        shared: Arc<Shared>,
        request: Arc<Request>,
        digest: [u8; 32],
        teller: watch::Sender<Completion>,
    ) -> Self {
        Self {
            shared,
            request,
            digest,
            teller,
            begun: false,
            over: false,
        }
    }

    /// Runs the call and sends its completion to all waiting callers.
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
        self.begun = true;
        if let Some(listener) = &shared.listener {
            listener.begun(&self.request);
        }
        let outcome = tokio::spawn(admitted.execution).await;
        let failed = |error| self.failed(ErrorKind::Broken, format!("the host failed: {error}"));
        let outcome = Arc::new(outcome.unwrap_or_else(failed));
        // The journal comes before the callers: after a crash, a caller that got the outcome must not hear that it is
        // unknown.
        let chat = &self.request.chat;
        let (journal, tombstone) = (&shared.journal, self.is_tombstone(&shared.calls()));
        journal.ended(chat, &self.digest, tombstone, &outcome).await;
        self.over = true;
        self.finish(&outcome);
        if let Some(listener) = &shared.listener {
            listener.ended(chat, &outcome);
        }
        self.teller.send_replace(Some(Ok(outcome)));
    }

    fn failed(&self, kind: ErrorKind, message: String) -> Outcome {
        let Request { id, tool, .. } = &*self.request;
        Outcome::new(id.clone(), tool, Err(ToolError::new(kind, message)))
    }

    /// Returns whether the call has been cancelled so far.
    fn is_tombstone(&self, calls: &Calls) -> bool {
        let record = calls.entries.get(&self.key());
        matches!(
            record,
            Some(Record::Running {
                tombstone: true,
                ..
            })
        )
    }

    fn finish(&self, outcome: &Arc<Outcome>) {
        let mut calls = self.shared.calls();
        let tombstone = self.is_tombstone(&calls);
        let ended = Record::Ended {
            digest: self.digest,
            tombstone,
            outcome: Arc::clone(outcome),
            at: Instant::now(),
        };
        calls.put(self.key(), ended);
        let crowded = calls.bytes > self.shared.limits.bytes;
        drop(calls);
        if crowded {
            drop(self.shared.swept());
        }
    }

    /// Leaves no trace of a call that did not begin, unless it is not to begin later either.
    fn forget(&mut self) {
        self.over = true;
        let mut calls = self.shared.calls();
        let tombstone = self.is_tombstone(&calls);
        match tombstone {
            true => {
                let tools = [self.request.tool.clone()].into();
                let tombstone = Record::Tombstone {
                    at: Instant::now(),
                    tools: Some(Arc::new(tools)),
                };
                calls.put(self.key(), tombstone);
            }
            false => _ = calls.entries.remove(&self.key()),
        }
    }

    fn key(&self) -> Key {
        (self.request.chat.clone(), self.request.id.clone())
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        if !self.begun {
            return self.forget();
        }
        self.over = true;
        let text = "outcome unknown: the task of this call ended before the call did".to_owned();
        let outcome = Arc::new(self.failed(ErrorKind::UnknownOutcome, text));
        self.finish(&outcome);
        self.teller.send_replace(Some(Ok(outcome)));
    }
}
