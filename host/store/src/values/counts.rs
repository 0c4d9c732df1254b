//! The limits of a store, and its numbers for metrics.

use std::time::Duration;

/// How long calls are kept.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long an outcome is kept after its end.
    pub keep: Duration,
    /// How many of the last outcomes of each chat are kept for longer than that.
    pub keep_per_chat: u64,
    /// How long the id of a call is remembered after its outcome was dropped.
    pub tombstone: Duration,
    /// The most bytes of all outcomes.
    pub outcome_bytes: u64,
    /// The most ids whose outcome was dropped.
    pub ids: u64,
}

/// The result of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many outcomes were dropped.
    pub outcomes: u64,
    /// How many ids were forgotten.
    pub ids: u64,
    /// The amounts that are left.
    pub kept: Kept,
}

/// How many ended calls a store remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// How many calls have an outcome.
    pub outcomes: u64,
    /// The bytes of these outcomes.
    pub bytes: u64,
    /// How many calls are remembered by their id only.
    pub ids: u64,
}

/// Numbers for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that run.
    pub running: u64,
    /// Transactions since the start.
    pub commits: u64,
    /// Changes in these transactions.
    pub changes: u64,
    /// Changes that failed.
    pub failures: u64,
    /// Reads and changes that met damage.
    pub damaged: u64,
    /// Whether the directory still has a damaged store that was set aside. That store may have records that this one lacks.
    pub has_set_aside: bool,
    /// Bytes of the files.
    pub bytes: u64,
    /// Whether the store outlives its host.
    pub is_kept: bool,
    /// The numbers of a store that several hosts share; `None` if this one is not shared.
    pub shared: Option<SharedCounts>,
}

/// Numbers of a store that several hosts share, as one of them knows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedCounts {
    /// Whether the database could be reached when the host last tried.
    pub is_reachable: bool,
    /// How often this host has lost its lease.
    pub leases_lost: u64,
    /// How many calls of other hosts this one has taken over.
    pub calls_taken_over: u64,
    /// Connections to the database.
    pub connections: u64,
    /// Operations that wait for a connection.
    pub waiting: u64,
}
