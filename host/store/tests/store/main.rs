//! Tests of stores: a suite for every implementation, and tests of SQLite alone.
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
mod damaged_workspaces;
mod disks;
mod failing;
mod file;
mod host_state;
mod lookup;
mod machine;
mod many;
mod nested;
mod recovery;
mod sqlite;
mod suite;
mod tombstones;
mod values;
mod workspaces;
