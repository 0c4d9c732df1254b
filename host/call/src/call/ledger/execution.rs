//! One execution of a call, from its beginning in the store to its end there.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::watch;
use toolhost_store::{Begun, Call, Cancellation, EndedCall, Ending, NewCall};

use super::answer::{Completion, Key, Standing};
use super::keeper::{AGAIN, Change};
use super::past::{Past, lost, state};
use super::recovery::serialized;
use super::running::Running;
use super::shared::{Admitted, Shared};
use crate::call::digests::Digests;
use crate::call::{Outcome, Refused, Request};
use crate::tool::{Content, ErrorKind, ToolError};
use toolhost_state::error_chain::panic_text;
use toolhost_state::turns::Turn;

/// What a model reads of a call that the end of the host has cancelled.
const SHUT_DOWN: &str = "The server was shut down while this call ran; nobody asked for its end. Look at what it has done, and run it again if \
    you need its result.";

/// A call that runs. If it is dropped before its end, as a task is with its runtime, its record must not claim for ever that
/// the call runs. A call that had begun then has an unknown outcome; any other is forgotten.
pub(super) struct Execution {
    shared: Arc<Shared>,
    request: Arc<Request>,
    digest: [u8; 32],
    began_ms: u64,
    teller: watch::Sender<Completion>,
    /// Whether the record of the call says that it was interrupted and may run again.
    is_resumed: bool,
    begun: bool,
    over: bool,
}

/// The answer of the store to the beginning of a call.
enum Start {
    /// It runs.
    Runs,
    /// It does not: this is the answer to all callers.
    Told(Result<Arc<Outcome>, Refused>),
    /// It runs at another host, which began it at the same time.
    Elsewhere,
}

impl Execution {
    pub(super) fn new(
        shared: Arc<Shared>,
        request: Arc<Request>,
        (digest, began_ms): ([u8; 32], u64),
        teller: watch::Sender<Completion>,
        is_resumed: bool,
    ) -> Self {
        Self {
            shared,
            request,
            digest,
            began_ms,
            teller,
            is_resumed,
            begun: false,
            over: false,
        }
    }

    /// Runs the call and sends its completion to all waiting callers. The turn ends when the beginning is stored.
    pub(super) async fn run<R>(mut self, turn: Turn<Key>, admitted: Admitted<R>)
    where
        R: Future<Output = Result<Outcome, Refused>> + Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        if !admitted.read_only {
            match self.begin().await {
                Start::Runs => {}
                Start::Told(answer) => {
                    self.forget();
                    self.teller.send_replace(Some(answer));
                    return;
                }
                // Without an answer, the callers look again where the call is.
                Start::Elsewhere => return self.forget(),
            }
        }
        self.begun = true;
        drop(turn);
        if let Some(listener) = &shared.listener {
            listener.begun(&self.request);
        }
        let outcome = AssertUnwindSafe(admitted.execution).catch_unwind().await;
        let failed = |panic: Box<dyn Any + Send>| {
            let text = format!("the host failed: {}", panic_text(&*panic));
            self.failed(ErrorKind::Broken, text)
        };
        let outcome = match outcome.unwrap_or_else(|panic| Ok(failed(panic))) {
            Ok(outcome) => Arc::new(self.explained(outcome)),
            Err(refused) => return self.turn_away(refused, admitted.read_only).await,
        };
        // The store comes before the callers: after a crash, a caller that got the outcome must not hear that it is unknown.
        let (ended, number) = self.ended(&outcome);
        let is_tombstone = ended.cancelled;
        shared.sweeper.add_outcome(&ended);
        let ending = shared.keeper.end_for_all(ended, number, &shared.stopping);
        let told = match ending.await {
            Some(Ending::Stored) => Some(outcome),
            // Other hosts answer repeats with what is stored, so the callers here hear the same.
            Some(Ending::TakenOver(call)) => {
                let (ended, _) = self.ended(&outcome);
                self.taken_over(*call, outcome, ended).await
            }
            None => None,
        };
        self.over = true;
        let running = shared.calls.lock().running.remove(&self.key());
        if running.is_some_and(|running| running.tombstone) && !is_tombstone {
            // It was cancelled meanwhile.
            shared.keeper.cancel_running(self.fence()).await;
        }
        shared.bound().await;
        if let (Some(listener), Some(outcome)) = (&shared.listener, &told) {
            listener.ended(&self.request.chat, outcome);
        }
        let told = told.ok_or(Refused::Closed);
        self.teller.send_replace(Some(told));
    }

    /// Adds to the outcome of a call that the end of the host has cancelled that nobody wanted it to end.
    fn explained(&self, mut outcome: Outcome) -> Outcome {
        let is_wanted = || {
            let calls = self.shared.calls.lock();
            calls
                .running
                .get(&self.key())
                .is_some_and(|running| running.tombstone)
        };
        // A host for one call ends because its user ends the call.
        let is_alone =
            self.request.attributes.get("processes").map(String::as_str) == Some("end-with-call");
        let is_stopping = self.shared.stopping.is_cancelled() && !is_alone;
        if !outcome.cancelled || !is_stopping || is_wanted() {
            return outcome;
        }
        match &mut outcome.result {
            Ok(reply) => reply.content.push(Content::Text {
                text: SHUT_DOWN.to_owned(),
            }),
            Err(error) => error.message = format!("{}. {SHUT_DOWN}", error.message),
        }
        outcome
    }

    /// Forgets that the call began, because it had no effect, and sends its callers the reason.
    async fn turn_away(mut self, refused: Refused, is_unrecorded: bool) {
        let Self {
            shared, request, ..
        } = &self;
        if let Some(listener) = &shared.listener {
            listener.turned_away(request);
        }
        if !is_unrecorded {
            shared.keeper.withdraw(self.key()).await;
        }
        self.forget();
        self.teller.send_replace(Some(Err(refused)));
    }

    /// Returns the outcome of a call that another host took over while the call ran here, and that ended here as `ended` says. If the call
    /// may run again, this execution is such a run, and its end is stored. Returns `None` if the host ends before the store has an outcome.
    async fn taken_over(
        &self,
        mut call: Call,
        outcome: Arc<Outcome>,
        ended: EndedCall,
    ) -> Option<Arc<Outcome>> {
        let Request { chat, id, tool, .. } = &*self.request;
        let (keeper, stopping) = (&self.shared.keeper, &self.shared.stopping);
        loop {
            if call.is_elsewhere {
                // The other host is about to end the call, or a caller waits there and the call runs again.
                match self.settled_at_last().await? {
                    Some(settled) => call = settled,
                    None => return Some(Arc::new(lost(id, tool))),
                }
            }
            let past = Past::of(call);
            if past.interrupted(&Digests::of(&self.request)).is_none() {
                tracing::warn!(%chat, call = %id, "a call ended after this host had lost its lease: its outcome is not stored");
                return Some(match past {
                    Past::Ended {
                        outcome: Some(outcome),
                        ..
                    } => outcome,
                    _ => Arc::new(lost(id, tool)),
                });
            }
            match keeper.begin(self.call(), true).await {
                Ok(Begun::New) => {
                    match keeper.end_for_all(ended.clone(), None, stopping).await? {
                        Ending::Stored => return Some(outcome),
                        Ending::TakenOver(next) => call = *next,
                    }
                    continue;
                }
                Ok(_) => {}
                Err(_) => self.pause().await?,
            }
            match self.settled_at_last().await? {
                Some(settled) => call = settled,
                None => return Some(Arc::new(lost(id, tool))),
            }
        }
    }

    /// Waits until the call runs at no other host, also while the store cannot be reached. Returns `None` if the host ends before.
    async fn settled_at_last(&self) -> Option<Option<Call>> {
        loop {
            if let Ok(call) = self.shared.keeper.settled(self.key()).await {
                return Some(call);
            }
            self.pause().await?;
        }
    }

    /// Waits before another attempt at the store. Returns `None` if the host ends meanwhile.
    async fn pause(&self) -> Option<()> {
        let again = tokio::time::sleep(AGAIN);
        self.shared.stopping.run_until_cancelled(again).await
    }

    /// Stores the beginning.
    async fn begin(&self) -> Start {
        let keeper = &self.shared.keeper;
        let begun = match keeper.begin(self.call(), self.is_resumed).await {
            Ok(begun) => begun,
            Err(refused) => return Start::Told(Err(refused)),
        };
        let Request { id, tool, .. } = &*self.request;
        let past = match begun {
            Begun::New => {
                if let Some(running) = self.shared.calls.lock().running.get_mut(&self.key()) {
                    running.is_stored = true;
                }
                return Start::Runs;
            }
            Begun::Ended(call) => Past::of(*call),
            Begun::Running if keeper.store.is_shared() => return Start::Elsewhere,
            Begun::Running | Begun::Unknown => return Start::Told(Ok(Arc::new(lost(id, tool)))),
            Begun::Gone => return Start::Told(Err(Refused::Gone)),
            Begun::Mismatch => return Start::Told(Err(Refused::InputMismatch)),
            Begun::Cancelled => return Start::Told(Err(Refused::Cancelled)),
        };
        let answer = past.answer(&Digests::of(&self.request), id, tool);
        Start::Told(match answer {
            Some(Ok(Standing::Saved(outcome))) => Ok(outcome),
            Some(Err(refused)) => Err(refused),
            Some(Ok(Standing::Running(_) | Standing::Elsewhere)) | None => {
                Ok(Arc::new(lost(id, tool)))
            }
        })
    }

    fn call(&self) -> NewCall {
        let request = &*self.request;
        NewCall {
            chat: request.chat.clone(),
            call: request.id.clone(),
            tool: request.tool.clone(),
            principal: request.actor.name().to_owned(),
            digest: self.digest,
            arguments: self.shared.limits.kept(&request.arguments),
            began_ms: self.began_ms,
        }
    }

    /// Returns the end of the call, and its number among those that run here.
    fn ended(&self, outcome: &Outcome) -> (EndedCall, Option<i64>) {
        let (cancelled, number) = {
            let calls = self.shared.calls.lock();
            let running = calls.running.get(&self.key());
            (
                running.is_some_and(|running| running.tombstone),
                running.map(|running| running.number),
            )
        };
        let ended = EndedCall {
            call: self.call(),
            state: state(outcome),
            cancelled,
            outcome: serialized(outcome),
        };
        (ended, number)
    }

    /// Returns the cancellation of the call by a caller that may use its tool.
    fn fence(&self) -> Cancellation {
        let Request { chat, id, tool, .. } = &*self.request;
        Cancellation {
            chat: chat.clone(),
            call: id.clone(),
            principal: self.request.actor.name().to_owned(),
            tools: Some([tool.clone()].into()),
            most: u64::MAX,
        }
    }

    fn failed(&self, kind: ErrorKind, message: String) -> Outcome {
        let Request { id, tool, .. } = &*self.request;
        Outcome::new(id.clone(), tool, Err(ToolError::new(kind, message)))
    }

    /// Leaves no trace of a call that did not begin, unless it is not to begin later either.
    fn forget(&mut self) {
        self.over = true;
        let running = self.shared.calls.lock().running.remove(&self.key());
        if running.is_some_and(|running: Running| running.tombstone) {
            self.shared.keeper.keep(Change::Fenced(self.fence()));
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
        // Nothing can wait for the store here: the next change brings it the end.
        let (ended, number) = self.ended(&outcome);
        self.shared.keeper.keep(Change::Ended(ended, number));
        self.shared.calls.lock().running.remove(&self.key());
        self.teller.send_replace(Some(Ok(outcome)));
    }
}
