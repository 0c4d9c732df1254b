//! Metrics for the operator, in the text formats of Prometheus and OpenMetrics.
//!
//! Label values are names of plugins, limits, capabilities, and outcomes, which are few; nothing that a guest or a caller
//! wrote is one.
//!
//! docs/observability.md lists all of them; a test compares. Families without labels that are read only when a client asks are in
//! `metrics/levels.rs`.

mod calls;
mod format;
mod http;
mod levels;
mod limit;
mod process;

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

pub use format::Format;
pub use levels::Levels;
pub use limit::LimitKind;
pub use limit::bytes;

/// The metrics of a host. Clones share everything.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    inner: Arc<Inner>,
}

/// The state of a plugin in its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PluginState {
    /// Its tools are offered.
    Loaded,
    /// The operator switched it off.
    Disabled,
    /// It trapped too often, and is left alone for a while.
    Quarantined,
    /// It did not load.
    Failed,
}

impl PluginState {
    const ALL: [Self; 4] = [
        Self::Loaded,
        Self::Disabled,
        Self::Quarantined,
        Self::Failed,
    ];

    /// Returns the name, as it is in the metric.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Disabled => "disabled",
            Self::Quarantined => "quarantined",
            Self::Failed => "failed",
        }
    }
}

type Labels = Vec<(&'static str, Arc<str>)>;
type Counters = Family<Labels, Counter>;
type Gauges = Family<Labels, Gauge>;
type Histograms = Family<Labels, Histogram, Buckets>;

/// The upper bounds of the buckets of a histogram.
#[derive(Clone, Copy, Debug)]
struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

/// Seconds of guest time; calls are ended after 2 s by default.
const GUEST_TIME: Buckets = Buckets(&[
    0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0,
]);

/// Seconds of wall-clock time, up to the longest call.
const DURATION: Buckets = Buckets(&[
    0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 600.0, 3600.0,
]);

/// Bytes of memory, up to 64 MiB by default.
const MEMORY: Buckets = Buckets(&[
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    33_554_432.0,
    67_108_864.0,
    268_435_456.0,
]);

/// Seconds of compilations.
const COMPILE: Buckets = Buckets(&[0.05, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 180.0]);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    calls: Counters,
    running: Gauges,
    duration: Histograms,
    guest_time: Histograms,
    memory: Histograms,
    limits: Counters,
    traps: Counters,
    denials: Counters,
    processes: Counters,
    files: Counters,
    log_left_out: Counters,
    http_requests: Counters,
    http_bytes: Counters,
    compile: Histograms,
    state: Gauges,
    approvals: Counters,
    audit_lines: Counter,
    audit_lost: Counter,
    audit_left_out: Counters,
    http: http::Http,
    ended: calls::Calls,
    watched: levels::Watched,
}

/// Registers a metric under its name, and returns it.
fn add<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

impl Default for Inner {
    fn default() -> Self {
        let mut registry = Registry::default();
        process::register(&mut registry);
        let r = registry.sub_registry_with_prefix("toolhost");
        let counter =
            |r: &mut Registry, name: &str, help: &str| add(r, name, help, Counters::default());
        let gauge =
            |r: &mut Registry, name: &str, help: &str| add(r, name, help, Gauges::default());
        let histogram = |r: &mut Registry, name: &str, help: &str, buckets: Buckets| {
            add(r, name, help, Family::new_with_constructor(buckets))
        };
        Self {
            calls: counter(r, "plugin_calls", "Calls that ended"),
            running: gauge(r, "plugin_calls_running", "Calls that have a place now"),
            duration: histogram(
                r,
                "plugin_call_duration_seconds",
                "Wall-clock time of calls",
                DURATION,
            ),
            guest_time: histogram(
                r,
                "plugin_guest_time_seconds",
                "CPU time of calls",
                GUEST_TIME,
            ),
            memory: histogram(
                r,
                "plugin_memory_bytes",
                "The most linear memory of calls",
                MEMORY,
            ),
            limits: counter(r, "plugin_limits_hit", "Limits that were reached"),
            traps: counter(r, "plugin_traps", "Guests that trapped"),
            denials: counter(r, "plugin_denials", "Uses of what was not granted"),
            processes: counter(
                r,
                "plugin_processes_started",
                "Processes that calls started",
            ),
            files: counter(r, "plugin_files_written", "Files that calls wrote"),
            log_left_out: counter(
                r,
                "plugin_log_left_out_bytes",
                "Log that exceeded its limit",
            ),
            http_requests: counter(r, "plugin_http_requests", "HTTP requests that calls sent"),
            http_bytes: counter(
                r,
                "plugin_http_bytes",
                "Bytes of HTTP requests and responses",
            ),
            compile: histogram(
                r,
                "plugin_compile_seconds",
                "Wall-clock time of compilations",
                COMPILE,
            ),
            state: gauge(r, "plugin_state", "1 for the state that the plugin is in"),
            approvals: counter(
                r,
                "plugin_approvals",
                "Calls that the approval hook was asked about",
            ),
            audit_lines: add(
                r,
                "audit_lines",
                "Lines of the audit trail that were written",
                Counter::default(),
            ),
            audit_lost: add(
                r,
                "audit_lines_lost",
                "Lines of the audit trail that were not written",
                Counter::default(),
            ),
            audit_left_out: counter(
                r,
                "audit_lines_left_out",
                "Lines of the audit trail that exceeded the share of their token",
            ),
            http: http::Http::register(r),
            ended: calls::Calls::register(r),
            watched: levels::Watched::register(r),
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
        let gauge = self.inner.running.get_or_create_owned(&plugin(name));
        gauge.inc();
        Running(gauge)
    }

    /// Counts a call that ended, with its use of CPU time and memory.
    pub fn call(&self, name: &str, outcome: &str, duration: Duration, used: &Used) {
        let inner = &self.inner;
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

    /// Counts a limit that was reached.
    pub fn limit(&self, name: &str, limit: LimitKind) {
        let labels = plugin_and(name, "limit", limit.name());
        self.inner.limits.get_or_create(&labels).inc();
    }

    /// Counts a guest that trapped.
    pub fn trap(&self, name: &str) {
        self.inner.traps.get_or_create(&plugin(name)).inc();
    }

    /// Counts a use of a capability that was not granted.
    pub(crate) fn denied(&self, name: &str, capability: &'static str) {
        let labels = plugin_and(name, "capability", capability);
        self.inner.denials.get_or_create(&labels).inc();
    }

    /// Counts a process that was started.
    pub(crate) fn process_started(&self, name: &str) {
        self.inner.processes.get_or_create(&plugin(name)).inc();
    }

    /// Counts a file that was written.
    pub(crate) fn file_written(&self, name: &str) {
        self.inner.files.get_or_create(&plugin(name)).inc();
    }

    /// Counts bytes of log that were left out.
    pub fn log_left_out(&self, name: &str, bytes: u64) {
        let family = &self.inner.log_left_out;
        family.get_or_create(&plugin(name)).inc_by(bytes);
    }

    /// Counts an HTTP request that was sent.
    pub(crate) fn http_request(&self, name: &str) {
        self.inner.http_requests.get_or_create(&plugin(name)).inc();
    }

    /// Counts the bytes of HTTP requests and responses.
    pub fn http_bytes(&self, name: &str, sent: u64, received: u64) {
        for (direction, bytes) in [("sent", sent), ("received", received)] {
            let labels = plugin_and(name, "direction", direction);
            self.inner.http_bytes.get_or_create(&labels).inc_by(bytes);
        }
    }

    /// Counts a compilation.
    pub fn compiled(&self, name: &str, time: Duration) {
        let family = &self.inner.compile;
        family
            .get_or_create(&plugin(name))
            .observe(time.as_secs_f64());
    }

    /// Shows the state of a plugin.
    pub fn plugin_state(&self, name: &str, state: PluginState) {
        for each in PluginState::ALL {
            let labels = plugin_and(name, "state", each.name());
            let gauge = self.inner.state.get_or_create_owned(&labels);
            gauge.set(i64::from(each == state));
        }
    }

    /// Stops showing the state of a plugin that was removed. Its counters stay.
    pub fn plugin_removed(&self, name: &str) {
        for each in PluginState::ALL {
            let labels = plugin_and(name, "state", each.name());
            self.inner.state.remove(&labels);
        }
    }

    /// Counts an answer of the approval hook.
    pub(crate) fn approval(&self, name: &str, answer: &'static str) {
        let labels = plugin_and(name, "answer", answer);
        self.inner.approvals.get_or_create(&labels).inc();
    }

    /// Counts a line of the audit trail that was written.
    pub(crate) fn audit_line(&self) {
        self.inner.audit_lines.inc();
    }

    /// Counts lines of the audit trail that were not written.
    pub(crate) fn audit_lost(&self, count: u64) {
        self.inner.audit_lost.inc_by(count);
    }

    /// Counts a line of the audit trail that exceeded the share of its token.
    pub(crate) fn audit_left_out(&self, principal: &str) {
        let labels = vec![("principal", principal.into())];
        self.inner.audit_left_out.get_or_create(&labels).inc();
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
