//! The contract as Rust types, generated from `wit/`. Nothing else is in here, and only this crate names it.
//!
//! The world is the one with every capability. A component imports only the interfaces whose functions it calls: the
//! linker drops the others.

#[allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    missing_debug_implementations,
    missing_docs,
    unreachable_pub,
    unsafe_code,
    unused,
    reason = "generated code, which is not ours to tidy"
)]
mod generated {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "full-plugin",
        pub_export_macro: true,
        default_bindings_module: "toolhost_sdk::__private::bindings",
        additional_derives: [PartialEq],
    });
}

pub use generated::*;
