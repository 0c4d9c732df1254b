//! One call: a fresh instance, run within its limits, and its outcome.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use wasmtime::Store;

use super::admission::Admitted;
use super::aftermath;
use super::approve::approve;
use super::call_recorder::{self, CallRecorder, Usage};
use super::deadline::Deadline;
use super::failure::{Failure, Instantiating};
use super::guest::Guest;
use super::guest_memory::Share;
use super::meter::{Meter, Metered};
use super::reply;
use super::span;
use super::store;
use super::text::shown;
use super::{Cause, LoadError, Plugin};
use crate::capability::bindings::Plugin as Exports;
use crate::capability::bindings::exports::toolhost::plugin::tools as wit;
use crate::capability::{Call, CallContext, Session, Started, State};
use crate::effects::Effects;
use crate::outgoing::Answers;
use toolhost_call::approval::Approval;
use toolhost_call::audit::{Audited, Trail};
use toolhost_call::call::{NestedCalls, Outcome, Refused, Request};
use toolhost_call::events::Events;
use toolhost_call::notice::Notices;
use toolhost_call::sharing::Sharing;
use toolhost_call::tool::{Definition, Reply, ToolError};
use toolhost_workspace::Workspace;

/// How long a plugin may take to list its tools, in wall-clock time: far more than its guest time takes on a busy machine, so it
/// ends only a guest that waits.
const LIST_TOOLS: Duration = Duration::from_mins(1);

/// The end of an error text if the start of a process hangs.
const STARTING: &str =
    "; a process is still being started: it will be ended as soon as it is there";

/// The context of a call, besides its request.
#[derive(Clone, Debug)]
pub struct Context {
    /// The workspace in which commands run.
    pub workspace: Arc<dyn Workspace>,
    /// The longest that one wait of the guest may take, if it is bounded.
    pub max_wait: Option<Duration>,
    /// The approval hook, which the host asks before a tool runs that may destroy something.
    pub approval: Approval,
    /// Cancels the call.
    pub cancelled: CancellationToken,
    /// Whether the call runs again, because it was interrupted.
    pub is_resumed: bool,
    /// The events to which the progress of the call is published.
    pub events: Events,
    /// The notices of the host; `None` if it tells nothing after the call.
    pub notices: Option<Arc<dyn Notices>>,
    /// The part of the host that makes links to files; `None` if it makes none.
    pub sharing: Option<Arc<dyn Sharing>>,
    /// The calls that the call may make; `None`: none, because it is nested, or because there is no host to run them.
    pub nested: Option<Arc<dyn NestedCalls>>,
    /// Answers to the requests of the call, in place of the network; `None`: requests are sent, as far as they are granted.
    pub answers: Option<Arc<Answers>>,
}

impl Plugin {
    /// Runs one call of a tool, by the name that this plugin gave it, and returns its outcome.
    ///
    /// The call has a span of its own, within the span of the task that had it admitted. If the guest fails, the log gets one
    /// record with the cause.
    ///
    /// # Errors
    ///
    /// [`Refused::Busy`] if the host or its machine was short of something before the call had any effect, and [`Refused::Workspace`] if its
    /// workspace could not be reached.
    pub async fn call(
        &self,
        admitted: Admitted,
        tool: &str,
        request: Arc<Request>,
        context: Context,
    ) -> Result<Outcome, Refused> {
        let (ran, _) = self.call_with_cause(admitted, tool, request, context).await;
        ran
    }

    /// As [`Plugin::call`]. If the guest failed, also returns the cause, which is for the author of the plugin: the outcome, which
    /// models read, has nothing of the guest's internals.
    pub async fn call_with_cause(
        &self,
        admitted: Admitted,
        tool: &str,
        request: Arc<Request>,
        context: Context,
    ) -> (Result<Outcome, Refused>, Option<Cause>) {
        let span = span::of_call(&admitted.span, &self.name, &request);
        let called = self.call_within(admitted, tool, request, context);
        let (ran, cause) = called.instrument(span.clone()).await;
        if let Ok(outcome) = &ran {
            span::record_end(&span, outcome);
            let metrics = &self.engine.metrics;
            metrics.call_ended(outcome.state().name(), outcome.duration, outcome.queued);
        }
        (ran, cause)
    }

    async fn call_within(
        &self,
        admitted: Admitted,
        tool: &str,
        request: Arc<Request>,
        context: Context,
    ) -> (Result<Outcome, Refused>, Option<Cause>) {
        let began = Instant::now();
        let trail = self.trail(Some(&request));
        let mut tally = CallRecorder::begin(trail, tool, &request, began);
        let workspace = &context.workspace;
        let started = Started::new(Arc::clone(workspace), request.chat.clone());
        let effects = Effects::default();
        if context.is_resumed {
            effects.note();
        }
        let nested = context.nested.clone();
        let session =
            nested.map(|calls| Session::new(request.id.clone(), calls, &context.cancelled));
        // The permits are released when everything of the call is over; the memory is released with the guest.
        let Admitted {
            memory,
            at,
            _chat,
            _plugin,
            _engine,
            ..
        } = admitted;
        let ran = self.run(
            (began, memory),
            tool,
            &request,
            &context,
            (&started, &effects, session.clone()),
            &mut tally,
        );
        let mut result = ran.await;
        if let Some(session) = session {
            session.end().await;
        }
        // If the guest replied before it could know of the cancellation, the call has finished, and its reply about its
        // processes holds.
        let heard = result.is_err() || started.heard_of_cancellation();
        let cancelled = heard && context.cancelled.is_cancelled();
        let replied = result.is_ok() && !cancelled;
        let (processes, is_starting) = started.all(replied).await;
        if !replied {
            // No reply names these processes. The call ends only after they have ended.
            started.end().await;
        }
        if let Some(reason) = effects.turned_away().filter(|_| !cancelled) {
            tally.turned_away();
            return (Err(reason.clone()), None);
        }
        if let Err(error) = &mut result {
            aftermath::append_processes(workspace, &request.chat, &processes, error).await;
            if is_starting {
                error.message.push_str(STARTING);
            }
        }
        let processes: Vec<String> = processes.into_iter().map(|process| process.id).collect();
        let cause = tally.cause();
        let used = tally.end(&result, cancelled, &processes);
        let outcome = Outcome {
            id: request.id.clone(),
            tool: request.tool.clone(),
            result,
            cancelled,
            uncertain: started.is_uncertain(),
            processes,
            duration: began.elapsed(),
            queued: began.saturating_duration_since(at),
            guest_time: Some(used.guest_time),
            used,
        };
        (Ok(outcome), cause)
    }

    /// Has the call approved if that is needed, and runs its guest.
    async fn run(
        &self,
        (began, memory): (Instant, Share),
        tool: &str,
        request: &Arc<Request>,
        context: &Context,
        (started, effects, session): (&Started, &Effects, Option<Session>),
        tally: &mut CallRecorder,
    ) -> Result<Reply, ToolError> {
        // The approval hook has its own deadline; its time does not count against the tool's.
        let deadline = Deadline::new(began, self.limits.max_deadline);
        let hints = self.definition(tool).map(|tool| tool.hints);
        let hints = hints.unwrap_or_default();
        approve(
            &context.approval,
            &context.cancelled,
            tally.trail(),
            tool,
            hints,
            request,
            &deadline,
        )
        .await?;
        let deadline = Deadline::new(Instant::now(), self.time_of(tool));
        let call = Call {
            request: Arc::clone(request),
            workspace: Arc::new(Audited::new(
                Arc::clone(&context.workspace),
                tally.trail().clone(),
            )),
            deadline: deadline.at,
            max_wait: context.max_wait,
            unapproved: context.approval.is_configured() && !context.approval.is_needed(hints),
            cancelled: context.cancelled.clone(),
            is_resumed: context.is_resumed,
            started: started.clone(),
            effects: effects.clone(),
            events: context.events.clone(),
            notices: context.notices.clone(),
            sharing: context.sharing.clone(),
            read_only: hints.read_only,
            session,
            answers: context.answers.clone(),
        };
        let wit_call = wit::Call {
            id: request.id.to_string(),
            tool: tool.to_owned(),
            arguments: request.arguments.as_str().to_owned(),
        };
        let trail = tally.trail().clone();
        let (guest, usage) = self.spawn(trail, Some(call), memory, move |plugin, store| {
            Box::pin(async move {
                plugin
                    .toolhost_plugin_tools()
                    .call_call_tool(store, &wit_call)
                    .await
            })
        });
        tally.watch(usage);
        let grace = started.grace(self.limits.cancel_grace);
        let settled = settle(guest, &deadline, &context.cancelled, grace).await;
        let reply = match settled {
            Ok(Ok(reply)) => {
                let found = self.found(&reply::found(&reply));
                let checked = reply::check(reply, self.limits.reply, tool);
                if checked.is_ok()
                    && !found.is_empty()
                    && let Some(calls) = &context.nested
                {
                    calls.offer(found).await;
                }
                checked
            }
            Ok(Err(error)) => return Err(error.into()),
            Err(failure) => Err(failure),
        };
        reply.map_err(|failure| {
            tally.failed(&failure, &self.limits);
            if failure.is_shortage() {
                _ = effects.turn_away(Refused::Busy(failure.to_string()));
            }
            failure.into()
        })
    }

    /// Returns the tools of these names that the plugin may call.
    fn found(&self, names: &[String]) -> Vec<String> {
        let names = names.iter().filter(|name| self.may_call(name));
        names.cloned().collect()
    }

    /// Asks the plugin for its tools, outside any call. Returns the tools, and the bytes of memory that the listing took.
    pub(super) async fn list_tools(&self) -> Result<(Vec<wit::Tool>, usize), LoadError> {
        let trail = self.trail(None);
        let memory = self.engine.inner.memory.for_loading();
        let (guest, usage) = self.spawn(trail.clone(), None, memory, |plugin, store| {
            Box::pin(async move { plugin.toolhost_plugin_tools().call_list_tools(store).await })
        });
        let never = CancellationToken::new();
        let deadline = Deadline::new(Instant::now(), LIST_TOOLS);
        let settled = settle(guest, &deadline, &never, std::future::ready(())).await;
        if let Err(failure) = &settled {
            call_recorder::count(&trail, failure);
        }
        match settled {
            Ok(listed) => {
                let listed = listed.map_err(|text| {
                    let text = format!("it says: {}", shown(&text));
                    let cause = Cause::reported(text, &self.name, &usage.evidence);
                    LoadError::ListTools(Box::new(cause))
                });
                Ok((listed?, usage.memory.load(Ordering::Relaxed)))
            }
            Err(Failure::Unfit(text)) => Err(LoadError::Mismatch(shown(&text))),
            Err(failure) => {
                let cause = Cause::of(&failure, &self.name, &self.limits, &usage.evidence);
                usage.evidence.record(&cause);
                Err(LoadError::ListTools(Box::new(cause)))
            }
        }
    }

    fn trail(&self, request: Option<&Request>) -> Trail {
        let engine = &self.engine;
        let name = Arc::clone(&self.name);
        Trail::new(engine.audit.clone(), engine.metrics.clone(), name, request)
    }

    fn definition(&self, tool: &str) -> Option<&Definition> {
        let mut tools = self.tools().iter();
        tools.find(|definition| definition.name == tool)
    }

    fn time_of(&self, tool: &str) -> Duration {
        let asked = self
            .definition(tool)
            .and_then(|definition| definition.max_duration_ms)
            .map(Duration::from_millis);
        asked
            .unwrap_or(self.limits.deadline)
            .min(self.limits.max_deadline)
    }

    /// Makes a guest: a fresh store and instance, and one use of it.
    fn spawn<T, U>(
        &self,
        trail: Trail,
        call: Option<Call>,
        memory: Share,
        use_it: U,
    ) -> (Guest<T>, Usage)
    where
        T: Send + 'static,
        U: for<'a> FnOnce(&'a Exports, &'a mut Store<State>) -> BoxFuture<'a, wasmtime::Result<T>>
            + Send
            + 'static,
    {
        let inner = &self.engine.inner;
        let context = CallContext::new(call, &self.settings, &self.limits, trail);
        let meter = Meter::new(self.limits.guest_time, Arc::clone(&context.work));
        let mut store = store::make(
            &self.engine,
            &self.granted,
            &context,
            memory,
            Arc::clone(&meter),
        );
        let usage = Usage {
            meter: Arc::clone(&meter),
            memory: Arc::clone(store.data().limiter.peak()),
            evidence: context.evidence.clone(),
        };
        let (pre, time) = (self.pre.clone(), Arc::clone(&meter));
        let guest = async move {
            let result = async {
                let instance = pre.instantiate_async(&mut store).await;
                let instance = instance.map_err(|error| error.context(Instantiating))?;
                use_it(&instance, &mut store).await
            };
            let result = result.await;
            let limiter = &store.data().limiter;
            tracing::debug!(
                plugin = &*context.trail.plugin,
                guest_time_us = time.used().as_micros(),
                memory = limiter.peak().load(Ordering::Relaxed),
                ok = result.is_ok(),
                "a guest ended"
            );
            let reached = store.data().capabilities.reached();
            if let (Ok(_), Some(reached)) = (&result, &reached) {
                context.trail.limit(reached.kind);
            }
            result.map_err(|error| {
                context.evidence.ended_with(&error);
                let failure = Failure::classify(&error, limiter, &context.limits);
                match (failure, reached) {
                    // A guest that a capability refuses mostly traps soon after.
                    (Failure::Trap(_), Some(reached)) => Failure::Limit(reached),
                    (failure, _) => failure,
                }
            })
        };
        let metered = Metered::new(
            guest,
            meter,
            Arc::clone(&inner.ticker),
            Arc::clone(&inner.heavy),
        );
        (Guest::new(metered, self.engine.guests().clone()), usage)
    }
}

/// Waits for a guest until its deadline. If the call is cancelled, the guest has the grace to reply, also beyond its deadline.
async fn settle<T: Send + 'static>(
    mut guest: Guest<T>,
    deadline: &Deadline,
    cancelled: &CancellationToken,
    grace: impl Future<Output = ()>,
) -> Result<T, Failure> {
    let ended = tokio::select! {
        biased;
        ended = &mut guest => Some(ended),
        () = tokio::time::sleep_until(deadline.at) => None,
        () = cancelled.cancelled() => tokio::select! {
            biased;
            ended = &mut guest => Some(ended),
            () = grace => None,
        },
    };
    match ended {
        Some(result) => result,
        None => {
            guest.end().await;
            Err(if cancelled.is_cancelled() {
                Failure::Cancelled
            } else {
                deadline.passed()
            })
        }
    }
}
