//! Tests of stores: one suite that every implementation passes, and what only SQLite has to survive.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    reason = "a test may fail"
)]

mod at_rest;
mod crash;
mod damage;
mod disks;
mod file;
mod host_state;
mod lookup;
mod many;
mod sqlite;
mod suite;
mod tombstones;
mod values;
