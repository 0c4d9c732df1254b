//! The audit events and metrics of one call, from before it runs until it ends for any reason.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::failure::Failure;
use super::meter::Meter;
use toolhost_call::audit::Trail;
use toolhost_call::call::Request;
use toolhost_call::metrics::{LimitKind, Running, Used};
use toolhost_call::tool::{Reply, ToolError};
use toolhost_call::trace::{self, TraceContext};

/// The resources that a guest uses, for readers that do not have its store.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    pub(super) meter: Arc<Meter>,
    pub(super) memory: Arc<AtomicUsize>,
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
    ended: bool,
    _running: Running,
}

impl CallRecorder {
    pub(super) fn begin(trail: Trail, tool: &str, request: &Request, began: Instant) -> Self {
        let arguments = blake3::Hash::from_bytes(*request.arguments.digest());
        let mut fields = json!({
            "tool": tool,
            "arguments": arguments.to_hex().as_str(),
            "arguments_size": request.arguments.as_str().len(),
        });
        // The trace with the other operations of the caller.
        let context = trace::onward(TraceContext::of(&request.attributes));
        if let (Some(context), Some(fields)) = (context, fields.as_object_mut()) {
            fields.insert("trace".into(), context.trace_id().into());
        }
        trail.event("call_started", fields);
        Self {
            _running: trail.metrics.running(&trail.plugin),
            tool: tool.to_owned(),
            trail,
            began,
            usage: None,
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

    /// Counts why a guest gave no answer.
    pub(super) fn failed(&self, failure: &Failure) {
        count(&self.trail, failure);
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

    fn write(&mut self, outcome: &'static str, processes: &[String]) -> Used {
        self.ended = true;
        let used = self.usage.as_ref().map(Usage::used).unwrap_or_default();
        let duration = self.began.elapsed();
        let fields = json!({
            "tool": self.tool,
            "outcome": outcome,
            "duration_ms": milliseconds(duration),
            "guest_time_ms": milliseconds(used.guest_time),
            "memory": used.memory,
            "processes": processes,
            "left_out": self.trail.left_out(),
        });
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
        Failure::Cancelled | Failure::Unfit(_) | Failure::Broken(_) => {}
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
