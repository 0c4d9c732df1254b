//! The contract as Rust types, generated from `wit/`. Nothing else is in here, and only this crate names it.
//!
//! The world `plugin` has the interfaces of every plugin. The front of a granted capability generates the types of its own
//! interface, with [`generate!`]. A component imports only the interfaces whose functions it calls: the linker drops the
//! others.

/// Generates types of the contract in a module `generated`. The options are those of wit-bindgen's `generate!`.
macro_rules! generate {
    ($($option:tt)*) => {
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
                generate_all,
                additional_derives: [PartialEq],
                $($option)*
            });
        }
    };
}

generate!(
    world: "plugin",
    pub_export_macro: true,
    default_bindings_module: "toolhost_sdk::__private::bindings",
);

pub(crate) use generate;
pub use generated::*;
