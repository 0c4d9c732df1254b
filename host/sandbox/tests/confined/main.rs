//! Commands in the sandbox: what they must not reach, and what must work. Each is a real process that enters the sandbox as the
//! spawner's children do, as the user of the tests and, if that is root, as an ordinary user as well.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "tests"
)]

#[macro_use]
mod cases;
mod calls;
mod files;
mod fixture;
mod network;
mod policies;
mod processes;
mod support;
mod works;
