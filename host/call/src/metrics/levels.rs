//! Levels, which are read only when a client asks for the metrics, so that nothing else pays for them.
//!
//! The owner of a level registers a look at it with [`Metrics::watch`], once, for as long as the owner lives.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::Metrics;

/// The levels at one moment. Each look adds to them, so that hosts that share their metrics show their sum.
///
/// A field that is marked as a counter must never become less while its owner lives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Calls that run.
    pub calls_running: u64,
    /// Places for calls that are taken, of those for all plugins together.
    pub call_places_taken: u64,
    /// Bytes of memory that guests hold: linear memories, tables and stacks.
    pub guest_memory: u64,
    /// Bytes that all guests together may hold.
    pub guest_memory_limit: u64,
    /// Calls that computed long enough to take turns, and wait for theirs.
    pub heavy_calls_waiting: u64,
    /// Components that wait for others to be compiled.
    pub compilations_waiting: u64,
    /// Calls that the ledger knows.
    pub ledger_entries: u64,
    /// Bytes of the outcomes that it keeps.
    pub ledger_bytes: u64,
    /// Bytes of the journal of calls on disk.
    pub journal_bytes: u64,
    /// Counter: writes to it.
    pub journal_writes: u64,
    /// Counter: writes that failed.
    pub journal_failures: u64,
    /// Hosts that write calls down, so that they run once also after a crash.
    pub journals: u64,
    /// Processes that run or linger.
    pub processes_live: u64,
    /// Counter: processes that were started, whatever started them.
    pub processes_started: u64,
    /// Counter: shells that ended, by cause.
    pub processes_ended: BTreeMap<String, u64>,
    /// Counter: bytes of output that were read.
    pub output_bytes: u64,
    /// Bytes of saved outputs.
    pub saved_bytes: u64,
    /// Readers that follow the events of a chat.
    pub event_readers: u64,
    /// Counter: events that were published.
    pub events_published: u64,
    /// Counter: events that were dropped because a buffer was full, heard of or not.
    pub events_dropped: u64,
    /// Counter: times that a reader learnt that it had missed events.
    pub event_resets: u64,
    /// Counter: bytes of output that a reader was told of and could not get any more.
    pub event_gap_bytes: u64,
    /// Counter: readers that were refused because there were too many.
    pub event_readers_refused: u64,
    /// Connections that are open.
    pub connections: u64,
}

/// How one of them shows.
struct Row {
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    of: fn(&Levels) -> u64,
}

const fn gauge(name: &'static str, help: &'static str, of: fn(&Levels) -> u64) -> Row {
    let kind = MetricType::Gauge;
    Row {
        name,
        help,
        kind,
        of,
    }
}

const fn counter(name: &'static str, help: &'static str, of: fn(&Levels) -> u64) -> Row {
    let kind = MetricType::Counter;
    Row {
        name,
        help,
        kind,
        of,
    }
}

/// The metrics without labels, by their names without `toolhost_`; the names of counters get `_total`.
const ROWS: &[Row] = &[
    gauge("calls_running", "Calls that run", |levels| {
        levels.calls_running
    }),
    gauge(
        "call_places_taken",
        "Places for calls that are taken",
        |levels| levels.call_places_taken,
    ),
    gauge(
        "guest_memory_bytes",
        "Memory that guests hold: linear memories, tables and stacks",
        |levels| levels.guest_memory,
    ),
    gauge(
        "guest_memory_limit_bytes",
        "Memory that all guests together may hold",
        |levels| levels.guest_memory_limit,
    ),
    gauge(
        "heavy_calls_waiting",
        "Calls that wait for their turn to compute",
        |levels| levels.heavy_calls_waiting,
    ),
    gauge(
        "compilations_waiting",
        "Components that wait for others to be compiled",
        |levels| levels.compilations_waiting,
    ),
    gauge("ledger_entries", "Calls that the ledger knows", |levels| {
        levels.ledger_entries
    }),
    gauge(
        "ledger_bytes",
        "Bytes of the outcomes that the ledger keeps",
        |levels| levels.ledger_bytes,
    ),
    gauge("journal_bytes", "Bytes of the journal of calls", |levels| {
        levels.journal_bytes
    }),
    counter(
        "journal_writes",
        "Writes to the journal of calls",
        |levels| levels.journal_writes,
    ),
    counter(
        "journal_failures",
        "Writes to the journal of calls that failed",
        |levels| levels.journal_failures,
    ),
    gauge(
        "journals",
        "Journals of calls that are written: with none, a repeat after a crash runs again",
        |levels| levels.journals,
    ),
    gauge("processes_live", "Processes that run or linger", |levels| {
        levels.processes_live
    }),
    counter(
        "processes_started",
        "Processes that were started",
        |levels| levels.processes_started,
    ),
    counter("output_bytes", "Bytes of output that were read", |levels| {
        levels.output_bytes
    }),
    gauge("saved_bytes", "Bytes of saved outputs", |levels| {
        levels.saved_bytes
    }),
    gauge(
        "event_readers",
        "Readers that follow the events of a chat",
        |levels| levels.event_readers,
    ),
    counter("events_published", "Events that were published", |levels| {
        levels.events_published
    }),
    counter(
        "events_dropped",
        "Events that were dropped because a buffer was full, heard of or not",
        |levels| levels.events_dropped,
    ),
    counter(
        "event_resets",
        "Times that a reader learnt that it had missed events",
        |levels| levels.event_resets,
    ),
    counter(
        "event_gap_bytes",
        "Bytes of output that a reader was told of and could not get",
        |levels| levels.event_gap_bytes,
    ),
    counter(
        "event_readers_refused",
        "Readers that were refused because there were too many",
        |levels| levels.event_readers_refused,
    ),
    gauge("connections", "Connections that are open", |levels| {
        levels.connections
    }),
];

/// Adds to the levels; `false`: the owner of the look is gone.
type Look = Box<dyn Fn(&mut Levels) -> bool + Send + Sync>;

/// All registered looks. Clones share everything.
#[derive(Clone, Default)]
pub(super) struct Watched(Arc<Mutex<Vec<Look>>>);

impl fmt::Debug for Watched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Watched").finish_non_exhaustive()
    }
}

impl Watched {
    pub(super) fn register(r: &mut Registry) -> Self {
        let watched = Self::default();
        r.register_collector(Box::new(watched.clone()));
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        r.register("build", "The program", version);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let start = ConstGauge::new(since.unwrap_or_default().as_secs_f64());
        r.register("start_time_seconds", "When the host was made", start);
        watched
    }

    fn now(&self) -> Levels {
        let mut levels = Levels::default();
        let mut looks = self.0.lock();
        looks.retain(|look| look(&mut levels));
        levels
    }
}

impl Collector for Watched {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let levels = self.now();
        for row in ROWS {
            let value = (row.of)(&levels);
            let metric = encoder.encode_descriptor(row.name, row.help, None, row.kind)?;
            match row.kind {
                MetricType::Counter => ConstCounter::new(value).encode(metric)?,
                _ => ConstGauge::new(value).encode(metric)?,
            }
        }
        if levels.processes_ended.is_empty() {
            return Ok(());
        }
        let help = "Shells that ended, by cause";
        let mut family =
            encoder.encode_descriptor("processes_ended", help, None, MetricType::Counter)?;
        for (cause, count) in levels.processes_ended {
            let labels = [("cause", cause)];
            ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

impl Metrics {
    /// Adds a look to the [`Levels`] that the metrics show, until `of` is dropped. The look must be quick, and must not ask
    /// for the metrics itself.
    pub fn watch<T: Send + Sync + 'static>(
        &self,
        of: &Arc<T>,
        look: impl Fn(&T, &mut Levels) + Send + Sync + 'static,
    ) {
        let of = Arc::downgrade(of);
        let look = move |levels: &mut Levels| {
            let of = of.upgrade();
            if let Some(of) = &of {
                look(of, levels);
            }
            of.is_some()
        };
        let watched = &self.inner.watched.0;
        let mut looks = watched.lock();
        looks.push(Box::new(look));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_shows_no_more_and_the_rest_is_summed_up() {
        let metrics = Metrics::default();
        let shown = |line: &str| metrics.text().lines().any(|shown| shown == line);
        assert!(shown("toolhost_saved_bytes 0"));
        let (one, other) = (Arc::new(5), Arc::new(7));
        for number in [&one, &other] {
            metrics.watch(number, |number, levels| {
                levels.saved_bytes += number;
                levels.events_dropped += 1;
                *levels.processes_ended.entry("lost".into()).or_default() += number;
            });
        }
        assert!(shown("toolhost_saved_bytes 12") && shown("toolhost_events_dropped_total 2"));
        assert!(shown("toolhost_processes_ended_total{cause=\"lost\"} 12"));
        drop(one);
        assert!(shown("toolhost_saved_bytes 7"));
    }
}
