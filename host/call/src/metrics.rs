//! Metrics for the operator, in the text formats of Prometheus and OpenMetrics.
//!
//! Label values are names of plugins, limits, capabilities, and outcomes, which are few; nothing that a guest or a caller
//! wrote is one.
//!
//! docs/observability.md lists all metrics, and a test compares the two. `metrics/registered.rs` declares the metrics that are
//! counted as things happen, and `metrics/levels.rs` the levels that are read when a client asks.

mod format;
mod http;
mod levels;
mod limit;
mod process;
mod registered;

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use strum::VariantArray as _;

pub use format::Format;
pub use levels::{Levels, MOST_WORKSPACES};
pub use limit::LimitKind;
pub use limit::bytes;
use registered::{Histograms, Labels, Registered};

/// The metrics of a host. Clones share everything.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    inner: Arc<Inner>,
}

/// The state of a plugin in its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum PluginState {
    /// Its tools are offered.
    Loaded,
    /// The operator switched it off.
    Disabled,
    /// It trapped too often, and its calls are refused for a while.
    Quarantined,
    /// It is being loaded for the first time, or waits for that.
    Loading,
    /// It did not load.
    Failed,
}

impl PluginState {
    /// Returns the name of the state in the metric.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[derive(Debug)]
struct Inner {
    registry: Registry,
    counted: Registered,
    watched: levels::Watched,
}

impl Default for Inner {
    fn default() -> Self {
        let mut registry = Registry::default();
        process::register(&mut registry);
        let ours = registry.sub_registry_with_prefix("toolhost");
        Self {
            counted: Registered::register(ours),
            watched: levels::Watched::register(ours),
            registry,
        }
    }
}

fn plugin(name: &str) -> Labels {
    vec![("plugin", name.into())]
}

fn plugin_and(name: &str, key: &'static str, value: &str) -> Labels {
    vec![("plugin", name.into()), (key, value.into())]
}

impl Metrics {
    /// Returns everything in the text format of OpenMetrics.
    pub fn text(&self) -> String {
        self.text_in(Format::OpenMetrics)
    }

    /// Returns everything in a text format.
    pub fn text_in(&self, format: Format) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        _ = text::encode(&mut text, &self.inner.registry);
        match format {
            Format::OpenMetrics => text,
            Format::Prometheus => format::prometheus(&text),
        }
    }

    /// Counts a running call until the returned [`Running`] is dropped.
    pub fn running(&self, name: &str) -> Running {
        let gauge = self
            .inner
            .counted
            .running
            .get_or_create_owned(&plugin(name));
        gauge.inc();
        Running(gauge)
    }

    /// Counts a call that ended, with its use of CPU time and memory.
    pub fn call(&self, name: &str, outcome: &str, duration: Duration, used: &Used) {
        let inner = &self.inner.counted;
        let name_only = plugin(name);
        let outcome = plugin_and(name, "outcome", outcome);
        inner.calls.get_or_create(&outcome).inc();
        let seconds = |family: &Histograms, time: Duration| {
            family.get_or_create(&name_only).observe(time.as_secs_f64());
        };
        seconds(&inner.duration, duration);
        seconds(&inner.guest_time, used.guest_time);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a histogram of sizes needs no precision"
        )]
        let memory = used.memory as f64;
        inner.memory.get_or_create(&name_only).observe(memory);
    }

    /// Counts a call that ended in this state.
    pub fn call_ended(&self, state: &'static str, duration: Duration, queued: Duration) {
        let counted = &self.inner.counted;
        let labels = vec![("state", state.into())];
        counted.ended.get_or_create(&labels).inc();
        counted.call_duration.observe(duration.as_secs_f64());
        counted.queued.observe(queued.as_secs_f64());
    }

    /// Counts a request for a call that was refused, by one of a few reasons.
    pub fn call_refused(&self, reason: &'static str) {
        let family = &self.inner.counted.refused;
        family.get_or_create(&vec![("reason", reason.into())]).inc();
    }

    /// Counts something that a chat was told of, by the event.
    pub fn notice_told(&self, event: &'static str) {
        let family = &self.inner.counted.notices;
        family.get_or_create(&vec![("event", event.into())]).inc();
    }

    /// Counts an attempt to deliver a notice, by its result.
    pub fn notice_delivered(&self, result: &'static str) {
        let family = &self.inner.counted.deliveries;
        family.get_or_create(&vec![("result", result.into())]).inc();
    }

    /// Counts a limit that was reached.
    pub fn limit(&self, name: &str, limit: LimitKind) {
        let labels = plugin_and(name, "limit", limit.name());
        self.inner.counted.limits.get_or_create(&labels).inc();
    }

    /// Counts a guest that trapped.
    pub fn trap(&self, name: &str) {
        self.inner.counted.traps.get_or_create(&plugin(name)).inc();
    }

    /// Counts a use of a capability that has no counter of its own.
    pub(crate) fn used(&self, name: &str, capability: &'static str) {
        let labels = plugin_and(name, "capability", capability);
        self.inner.counted.uses.get_or_create(&labels).inc();
    }

    /// Counts a use of a capability that was not granted.
    pub(crate) fn denied(&self, name: &str, capability: &'static str) {
        let labels = plugin_and(name, "capability", capability);
        self.inner.counted.denials.get_or_create(&labels).inc();
    }

    /// Counts a process that was started.
    pub(crate) fn process_started(&self, name: &str) {
        self.inner
            .counted
            .processes
            .get_or_create(&plugin(name))
            .inc();
    }

    /// Counts a file that was written.
    pub(crate) fn file_written(&self, name: &str) {
        self.inner.counted.files.get_or_create(&plugin(name)).inc();
    }

    /// Counts a file or a directory that was removed.
    pub(crate) fn file_removed(&self, name: &str) {
        let family = &self.inner.counted.files_removed;
        family.get_or_create(&plugin(name)).inc();
    }

    /// Counts the bytes of files that clients sent or received. `interface` stands in the place of a plugin.
    pub fn file_bytes(&self, interface: &str, direction: &'static str, bytes: u64) {
        let labels = plugin_and(interface, "direction", direction);
        let family = &self.inner.counted.file_bytes;
        family.get_or_create(&labels).inc_by(bytes);
    }

    /// Counts a link that was made, by the kind of what it shows: `file` or `port`.
    pub fn link_made(&self, kind: &'static str) {
        let family = &self.inner.counted.links;
        family.get_or_create(&vec![("kind", kind.into())]).inc();
    }

    /// Counts a use of a link, by the kind of what it shows and by the result: `ok`, or the code of a problem.
    pub fn link_used(&self, kind: &'static str, result: &'static str) {
        let labels = vec![("kind", kind.into()), ("result", result.into())];
        self.inner.counted.link_uses.get_or_create(&labels).inc();
    }

    /// Counts bytes of log that were left out.
    pub fn log_left_out(&self, name: &str, bytes: u64) {
        let family = &self.inner.counted.log_left_out;
        family.get_or_create(&plugin(name)).inc_by(bytes);
    }

    /// Counts an HTTP request that was sent.
    pub(crate) fn http_request(&self, name: &str) {
        self.inner
            .counted
            .http_requests
            .get_or_create(&plugin(name))
            .inc();
    }

    /// Counts the bytes of HTTP requests and responses.
    pub fn http_bytes(&self, name: &str, sent: u64, received: u64) {
        for (direction, bytes) in [("sent", sent), ("received", received)] {
            let labels = plugin_and(name, "direction", direction);
            self.inner
                .counted
                .http_bytes
                .get_or_create(&labels)
                .inc_by(bytes);
        }
    }

    /// Counts a compilation.
    pub fn compiled(&self, name: &str, time: Duration) {
        let family = &self.inner.counted.compile;
        family
            .get_or_create(&plugin(name))
            .observe(time.as_secs_f64());
    }

    /// Shows the state of a plugin.
    pub fn plugin_state(&self, name: &str, state: PluginState) {
        for &each in PluginState::VARIANTS {
            let labels = plugin_and(name, "state", each.name());
            let gauge = self.inner.counted.state.get_or_create_owned(&labels);
            gauge.set(i64::from(each == state));
        }
    }

    /// Stops showing the state of a plugin that was removed. Its counters stay.
    pub fn plugin_removed(&self, name: &str) {
        for each in PluginState::VARIANTS {
            let labels = plugin_and(name, "state", each.name());
            self.inner.counted.state.remove(&labels);
        }
    }

    /// Counts an answer of the approval hook.
    pub(crate) fn approval(&self, name: &str, answer: &'static str) {
        let labels = plugin_and(name, "answer", answer);
        self.inner.counted.approvals.get_or_create(&labels).inc();
    }

    /// Counts a line of the audit trail that was written.
    pub(crate) fn audit_line(&self) {
        self.inner.counted.audit_lines.inc();
    }

    /// Counts lines of the audit trail that were not written.
    pub(crate) fn audit_lost(&self, count: u64) {
        self.inner.counted.audit_lost.inc_by(count);
    }

    /// Counts a line of the audit trail that exceeded the share of its token.
    pub(crate) fn audit_left_out(&self, principal: &str) {
        let labels = vec![("principal", principal.into())];
        self.inner
            .counted
            .audit_left_out
            .get_or_create(&labels)
            .inc();
    }
}

/// A call that runs.
#[derive(Debug)]
pub struct Running(Gauge);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The CPU time and memory that a call used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// CPU time.
    pub guest_time: Duration,
    /// The most linear memory, in bytes.
    pub memory: u64,
}

#[cfg(test)]
mod tests;
