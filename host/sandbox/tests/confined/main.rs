//! Tests of commands in the sandbox: attacks that must fail, and programs that must work. Each command is a real process that enters the
//! sandbox as the children of the spawner do. It runs as the user of the tests and, if that is root, also as an ordinary user.
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
