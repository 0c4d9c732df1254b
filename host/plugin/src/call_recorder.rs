//! The audit events and metrics of one call, from before it runs until it ends for any reason.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::Cause;
use super::cause::Evidence;
use super::failure::Failure;
use super::limits::Limits;
use super::meter::Meter;
use toolhost_call::audit::Trail;
use toolhost_call::call::Request;
use toolhost_call::metrics::{LimitKind, Running, Used};
use toolhost_call::tool::{Reply, ToolError};
use toolhost_call::trace::{self, TraceContext};

/// The fields of the event `call_started`.
#[derive(Serialize)]
struct Started<'a> {
    tool: &'a str,
    /// The digest.
    arguments: &'a str,
    arguments_size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a str>,
}

/// The fields of the event `call`.
#[derive(Serialize)]
struct Ended<'a> {
    tool: &'a str,
    outcome: &'static str,
    duration_ms: u64,
    guest_time_ms: u64,
    memory: u64,
    processes: &'a [String],
    left_out: u64,
}

/// The resources that a guest uses, for readers that do not have its store.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    pub(super) meter: Arc<Meter>,
    pub(super) memory: Arc<AtomicUsize>,
    pub(super) evidence: Evidence,
}

impl Usage {
    fn used(&self) -> Used {
        Used {
            guest_time: self.meter.used(),
            memory: self.memory.load(Ordering::Relaxed) as u64,
        }
    }
}

/// A running call. If this is dropped without [`CallRecorder::end`], the caller dropped the call.
#[derive(Debug)]
pub(super) struct CallRecorder {
    trail: Trail,
    /// The name that the plugin gave the tool.
    tool: String,
    began: Instant,
    usage: Option<Usage>,
    cause: Option<Cause>,
    ended: bool,
    _running: Running,
}

impl CallRecorder {
    pub(super) fn begin(trail: Trail, tool: &str, request: &Request, began: Instant) -> Self {
        let arguments = blake3::Hash::from_bytes(*request.arguments.digest());
        // The trace with the other operations of the caller.
        let context = trace::onward(TraceContext::of(&request.attributes));
        let fields = Started {
            tool,
            arguments: &arguments.to_hex(),
            arguments_size: request.arguments.as_str().len(),
            trace: context.as_ref().map(TraceContext::trace_id),
        };
        trail.event("call_started", fields);
        Self {
            _running: trail.metrics.running(&trail.plugin),
            tool: tool.to_owned(),
            trail,
            began,
            usage: None,
            cause: None,
            ended: false,
        }
    }

    pub(super) fn trail(&self) -> &Trail {
        &self.trail
    }

    /// Starts to watch the resource usage of a guest.
    pub(super) fn watch(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }

    /// Counts why a guest gave no answer, and writes the one record of it to the log.
    pub(super) fn failed(&mut self, failure: &Failure, limits: &Limits) {
        count(&self.trail, failure);
        let is_fault = !matches!(
            failure,
            Failure::Cancelled | Failure::Crowded | Failure::TurnedAway(_)
        );
        if let Some(usage) = self.usage.as_ref().filter(|_| is_fault) {
            let cause = Cause::of(failure, &self.trail.plugin, limits, &usage.evidence);
            usage.evidence.record(&cause);
            self.cause = Some(cause);
        }
    }

    /// Takes the cause of the failure, if the guest failed.
    pub(super) fn cause(&mut self) -> Option<Cause> {
        self.cause.take()
    }

    /// Records the end of the call, with the ids of the processes that it started, and returns the guest's usage. The reply of
    /// a cancelled call counts as cancelled, too.
    pub(super) fn end(
        mut self,
        result: &Result<Reply, ToolError>,
        cancelled: bool,
        processes: &[String],
    ) -> Used {
        let outcome = if cancelled {
            "cancelled"
        } else {
            outcome(result)
        };
        self.write(outcome, processes)
    }

    /// Records that the call was turned away before it had any effect.
    pub(super) fn turned_away(mut self) {
        self.write("turned_away", &[]);
    }

    fn write(&mut self, outcome: &'static str, processes: &[String]) -> Used {
        self.ended = true;
        let used = self.usage.as_ref().map(Usage::used).unwrap_or_default();
        let duration = self.began.elapsed();
        let fields = Ended {
            tool: &self.tool,
            outcome,
            duration_ms: milliseconds(duration),
            guest_time_ms: milliseconds(used.guest_time),
            memory: used.memory,
            processes,
            left_out: self.trail.left_out(),
        };
        self.trail.event("call", fields);
        let metrics = &self.trail.metrics;
        metrics.call(&self.trail.plugin, outcome, duration, &used);
        used
    }
}

impl Drop for CallRecorder {
    fn drop(&mut self) {
        if !self.ended {
            self.write("dropped", &[]);
        }
    }
}

/// Counts why a guest gave no answer, in a call or while the host asked for its tools.
pub(super) fn count(trail: &Trail, failure: &Failure) {
    match failure {
        Failure::Limit(reached) => trail.limit(reached.kind),
        Failure::Crowded => trail.limit(LimitKind::CallsInAll),
        Failure::Trap(_) => trail.metrics.trap(&trail.plugin),
        Failure::Cancelled | Failure::TurnedAway(_) | Failure::Unfit(_) | Failure::Broken(_) => {}
    }
}

fn outcome(result: &Result<Reply, ToolError>) -> &'static str {
    match result {
        Ok(reply) if reply.is_error => "error",
        Ok(_) => "ok",
        Err(error) => error.kind.into(),
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
