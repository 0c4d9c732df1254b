//! Tests of the store on PostgreSQL.

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

// The suite of stores.
#[path = "../../../store/tests/store/lookup.rs"]
mod lookup;
#[path = "../../../store/tests/store/nested.rs"]
mod nested;
#[path = "../../../store/tests/store/suite.rs"]
mod suite;
#[path = "../../../store/tests/store/tombstones.rs"]
mod tombstones;
#[path = "../../../store/tests/store/values.rs"]
#[allow(dead_code, reason = "other stores keep processes as well")]
mod values;
#[path = "../../../store/tests/store/workspaces.rs"]
mod workspaces;

mod cancelling;
mod chats;
mod hosts;
mod schema;
#[path = "../../../../tests/harness/postgres.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod server;
mod unanswered;
