//! The contract as Rust types, generated from `wit/`. Nothing else is in here.
//!
//! The world `plugin` has the interfaces of every plugin. The file of a granted capability generates the types of its own
//! interface, with [`generate!`].

/// Generates types of the contract in a module `generated`. The options are those of wasmtime's `bindgen!`.
macro_rules! generate {
    ($($option:tt)*) => {
        #[allow(
            clippy::all,
            clippy::indexing_slicing,
            clippy::needless_pass_by_value,
            clippy::unwrap_used,
            missing_debug_implementations,
            missing_docs,
            unreachable_pub,
            reason = "generated code, which is not ours to tidy"
        )]
        mod generated {
            wasmtime::component::bindgen!({
                path: "../../wit",
                imports: { default: async | trappable },
                exports: { default: async },
                $($option)*
            });
        }
    };
}

generate!(world: "plugin");

pub(crate) use generate;
pub(crate) use generated::*;
