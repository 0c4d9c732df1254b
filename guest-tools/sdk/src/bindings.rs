//! The contract as Rust types, generated from `wit/` and checked in. Nothing else is in here, and only this crate names it.
//!
//! The world `plugin` has the interfaces of every plugin. The front of a granted capability has a file with the types of its own
//! interface. A component imports only the interfaces whose functions it calls: the linker drops the others.
//!
//! `tests/bindings.rs` generates the files, and checks that they fit the contract.

#![allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    missing_debug_implementations,
    missing_docs,
    unreachable_pub,
    unsafe_code,
    unused,
    reason = "generated code, which is not ours to tidy"
)]

#[rustfmt::skip]
pub(crate) mod calls;
#[rustfmt::skip]
pub(crate) mod files;
#[rustfmt::skip]
mod plugin;
#[rustfmt::skip]
pub(crate) mod processes;

pub use plugin::*;
