//! The metrics that are counted as things happen: name, help and type of each, declared once.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use std::sync::Arc;

pub(super) type Labels = Vec<(&'static str, Arc<str>)>;
pub(super) type Counters = Family<Labels, Counter>;
pub(super) type Gauges = Family<Labels, Gauge>;
pub(super) type Histograms = Family<Labels, Histogram, Buckets>;

/// The upper bounds of the buckets of a histogram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

impl From<Buckets> for Histogram {
    fn from(buckets: Buckets) -> Self {
        buckets.new_metric()
    }
}

impl From<Buckets> for Histograms {
    fn from(buckets: Buckets) -> Self {
        Self::new_with_constructor(buckets)
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

/// Seconds that calls wait before they run.
const QUEUED: Buckets = Buckets(&[0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 60.0]);

/// Seconds until an answer begins: most take a millisecond, calls as long as they take.
const UNTIL_ANSWER: Buckets = Buckets(&[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0,
]);

/// Declares a struct of metrics: each field with its help, its type, its name and, for a histogram, its buckets.
macro_rules! metrics {
    ($(#[$about:meta])* $struct:ident { $(
        #[doc = $help:literal]
        $field:ident: $type:ty = $name:literal $(in $buckets:ident)?;
    )* }) => {
        $(#[$about])*
        #[derive(Debug)]
        pub(super) struct $struct { $(pub(super) $field: $type,)* }

        impl $struct {
            pub(super) fn register(registry: &mut Registry) -> Self {
                $(
                    let $field = metrics!(@new $type $(, $buckets)?);
                    registry.register($name, $help.trim(), <$type>::clone(&$field));
                )*
                Self { $($field),* }
            }
        }
    };
    (@new $type:ty) => { <$type>::default() };
    (@new $type:ty, $buckets:ident) => { <$type>::from($buckets) };
}

metrics! {
    /// The metrics of a host. Their names have the prefix `toolhost_` and those of counters the suffix `_total` as well.
    Registered {
        /// Calls that ended
        calls: Counters = "plugin_calls";
        /// Calls that have a place now
        running: Gauges = "plugin_calls_running";
        /// Wall-clock time of calls
        duration: Histograms = "plugin_call_duration_seconds" in DURATION;
        /// CPU time of calls
        guest_time: Histograms = "plugin_guest_time_seconds" in GUEST_TIME;
        /// The most linear memory of calls
        memory: Histograms = "plugin_memory_bytes" in MEMORY;
        /// Limits that were reached
        limits: Counters = "plugin_limits_hit";
        /// Guests that trapped
        traps: Counters = "plugin_traps";
        /// Uses of capabilities that have no counter of their own
        uses: Counters = "plugin_uses";
        /// Uses of what was not granted
        denials: Counters = "plugin_denials";
        /// Processes that calls started
        processes: Counters = "plugin_processes_started";
        /// Files that calls wrote
        files: Counters = "plugin_files_written";
        /// Files and directories that were removed
        files_removed: Counters = "plugin_files_removed";
        /// Bytes of files that clients sent and received
        file_bytes: Counters = "plugin_file_bytes";
        /// Links for people that were made
        links: Counters = "links";
        /// Requests with links for people, by what came of them
        link_uses: Counters = "link_uses";
        /// Log that exceeded its limit
        log_left_out: Counters = "plugin_log_left_out_bytes";
        /// HTTP requests that calls sent
        http_requests: Counters = "plugin_http_requests";
        /// Bytes of HTTP requests and responses
        http_bytes: Counters = "plugin_http_bytes";
        /// Wall-clock time of compilations
        compile: Histograms = "plugin_compile_seconds" in COMPILE;
        /// 1 for the state that the plugin is in
        state: Gauges = "plugin_state";
        /// Calls that the approval hook was asked about
        approvals: Counters = "plugin_approvals";
        /// Lines of the audit trail that were written
        audit_lines: Counter = "audit_lines";
        /// Lines of the audit trail that were not written
        audit_lost: Counter = "audit_lines_lost";
        /// Lines of the audit trail that exceeded the share of their token
        audit_left_out: Counters = "audit_lines_left_out";
        /// Requests that were answered
        requests: Counters = "http_requests";
        /// Time until an answer began
        until_answer: Histograms = "http_request_duration_seconds" in UNTIL_ANSWER;
        /// Requests whose answer has not begun
        in_flight: Gauge = "http_requests_in_flight";
        /// Requests that were sent on to another host, by what came of them
        forwarded: Counters = "requests_forwarded";
        /// Calls that ran, by the state in which they ended
        ended: Counters = "calls";
        /// Requests for calls that were not run
        refused: Counters = "calls_refused";
        /// Events of processes that chats were told of
        notices: Counters = "notices";
        /// Attempts to deliver a notice to a chat server, by what came of them
        deliveries: Counters = "notice_deliveries";
        /// Wall-clock time of calls
        call_duration: Histogram = "call_duration_seconds" in DURATION;
        /// Time that calls waited before they ran
        queued: Histogram = "call_queue_seconds" in QUEUED;
    }
}
