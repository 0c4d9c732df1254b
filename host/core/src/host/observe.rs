//! Metrics of a host for the operator: its levels at one moment.

use super::Inner;
use toolhost_call::metrics::Levels;

/// Adds the levels of a host at this moment.
pub(super) fn add_levels(inner: &Inner, levels: &mut Levels) {
    levels.calls_running += inner.calls.len() as u64;
    let ledger = inner.ledger.stats();
    levels.ledger_entries += ledger.calls;
    levels.ledger_bytes += ledger.bytes;
    levels.stores += u64::from(ledger.store.is_kept);
    levels.store_bytes += ledger.store.bytes;
    levels.store_commits += ledger.store.commits;
    levels.store_changes += ledger.store.changes;
    levels.store_failures += ledger.store.failures;
    levels.store_damages += ledger.store.damaged;
    if let Some(shared) = ledger.store.shared {
        levels.database_reachable += u64::from(shared.is_reachable);
        levels.database_connections += shared.connections;
        levels.database_waiting += shared.waiting;
        levels.leases_lost += shared.leases_lost;
        levels.calls_taken_over += shared.calls_taken_over;
    }
    let events = inner.events.stats();
    levels.event_readers += events.readers as u64;
    levels.events_published += events.published;
    levels.events_dropped += events.dropped;
    levels.event_resets += events.resets;
    levels.event_gap_bytes += events.gap_bytes;
    levels.event_readers_refused += events.refused;
    let processes = inner.counted.lock().clone();
    levels.processes_live += processes.live;
    levels.processes_started += processes.started;
    levels.processes_refused += processes.refused;
    levels.sandboxes_given_back += processes.gave_back;
    levels.output_bytes += processes.output;
    levels.saved_bytes += processes.saved;
    inner.workspaces.add_levels(levels);
    if let Some(agents) = &inner.agents {
        levels.agents_connected += agents.dialled().count() as u64;
    }
    for (cause, count) in processes.ended {
        *levels.processes_ended.entry(cause).or_default() += count;
    }
}
