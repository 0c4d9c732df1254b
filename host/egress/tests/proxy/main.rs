//! The proxy of commands, with real clients and sockets. The servers are on loopback, so the lists of the tests name its addresses.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    missing_docs,
    unreachable_pub,
    reason = "tests"
)]

mod bounds;
mod clients;
mod connect;
mod forward;
mod hostile;
mod servers;
mod socks;
mod support;
