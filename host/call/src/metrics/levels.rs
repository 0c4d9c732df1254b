//! Levels: numbers that are read only when a client asks for the metrics, so that they cost nothing otherwise.
//!
//! The owner of a level registers a function that reads it with [`Metrics::watch`]. It is called for as long as the owner
//! lives.

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

/// The most workspaces that have a label of their own.
pub const MOST_WORKSPACES: usize = 50;

/// Declares the levels that are numbers, and how each shows: its help, its type, and its name, which in the metrics begins with
/// `toolhost_` and, for a counter, ends with `_total`.
macro_rules! levels {
    ($(#[$about:meta])* { $(#[doc = $help:literal] $kind:ident $name:ident;)* } and { $($others:tt)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Levels {
            $(#[doc = concat!($help, ": a ", stringify!($kind), ".")] pub $name: u64,)*
            $($others)*
        }

        impl Levels {
            fn encode_numbers(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
                $(
                    let (help, kind) = ($help.trim(), levels!(@$kind));
                    let metric = encoder.encode_descriptor(stringify!($name), help, None, kind)?;
                    levels!(@$kind self.$name).encode(metric)?;
                )*
                Ok(())
            }
        }
    };
    (@gauge) => { MetricType::Gauge };
    (@counter) => { MetricType::Counter };
    (@gauge $value:expr) => { ConstGauge::new($value) };
    (@counter $value:expr) => { ConstCounter::new($value) };
}

levels! {
    /// The levels at one moment. Each registered function adds to them, so that hosts that share their metrics show the sum.
    ///
    /// A counter must never become less while its owner lives.
    {
        /// Calls that run
        gauge calls_running;
        /// Places for calls that are taken
        gauge call_places_taken;
        /// Memory that guests hold: linear memories, tables and stacks
        gauge guest_memory_bytes;
        /// Memory that all guests together may hold
        gauge guest_memory_limit_bytes;
        /// Calls that wait for their turn to compute
        gauge heavy_calls_waiting;
        /// Components that wait for others to be compiled
        gauge compilations_waiting;
        /// Calls that the ledger knows
        gauge ledger_entries;
        /// Bytes of the outcomes that the ledger keeps
        gauge ledger_bytes;
        /// Stores of calls that outlive their hosts: with none, a repeat after a crash runs again
        gauge stores;
        /// Bytes of the files of the store
        gauge store_bytes;
        /// Transactions of the store
        counter store_commits;
        /// Changes to the store
        counter store_changes;
        /// Changes to the store that failed
        counter store_failures;
        /// Reads and changes that met damage in the store
        counter store_damages;
        /// Whether the database that hosts share could be reached: 1 or 0; 0 without one as well
        gauge database_reachable;
        /// Connections to that database
        gauge database_connections;
        /// Operations that wait for one of these connections
        gauge database_waiting;
        /// Leases that this host has lost, because it was cut off from that database
        counter leases_lost;
        /// Calls of other hosts that this host has taken over
        counter calls_taken_over;
        /// Processes that run or linger
        gauge processes_live;
        /// Processes that were started
        counter processes_started;
        /// Starts of processes that were refused because the machine had no room
        counter processes_refused;
        /// Idle chats that gave back their namespaces because the machine had no room
        counter sandboxes_given_back;
        /// Bytes of output that were read
        counter output_bytes;
        /// Bytes of saved outputs
        gauge saved_bytes;
        /// Workspaces with names
        gauge workspaces;
        /// Workspaces with names that are open
        gauge workspaces_open;
        /// Workspaces with names that could not be opened the last time
        gauge workspaces_failed;
        /// Agents that are connected to this host
        gauge agents_connected;
        /// Chats that belong to workspaces with names
        gauge workspace_chats;
        /// Readers that follow the events of a chat
        gauge event_readers;
        /// Events that were published
        counter events_published;
        /// Events that were dropped because a buffer was full, heard of or not
        counter events_dropped;
        /// Times that a reader learnt that it had missed events
        counter event_resets;
        /// Bytes of output that a reader was told of and could not get
        counter event_gap_bytes;
        /// Readers that were refused because there were too many
        counter event_readers_refused;
        /// Connections that are open
        gauge connections;
    } and {
        /// Shells that ended, by cause: counters.
        pub processes_ended: BTreeMap<String, u64>,
        /// Calls that run in workspaces with names, by workspace: gauges, of at most [`MOST_WORKSPACES`].
        pub workspace_calls: BTreeMap<String, u64>,
    }
}

/// A function that adds its levels; returns `false` if the owner is gone.
type Look = Box<dyn Fn(&mut Levels) -> bool + Send + Sync>;

/// All registered functions. Clones share everything.
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
        levels.encode_numbers(&mut encoder)?;
        if !levels.processes_ended.is_empty() {
            let help = "Shells that ended, by cause";
            let mut family =
                encoder.encode_descriptor("processes_ended", help, None, MetricType::Counter)?;
            for (cause, count) in levels.processes_ended {
                let labels = [("cause", cause)];
                ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
            }
        }
        if !levels.workspace_calls.is_empty() {
            let help = "Calls that run in the busiest workspaces with names";
            let mut family =
                encoder.encode_descriptor("workspace_calls", help, None, MetricType::Gauge)?;
            for (workspace, count) in levels.workspace_calls {
                let labels = [("workspace", workspace)];
                ConstGauge::new(count).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

impl Metrics {
    /// Registers a function that adds to the [`Levels`] of the metrics, until `of` is dropped. It must be quick, and must not
    /// ask for the metrics itself.
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
