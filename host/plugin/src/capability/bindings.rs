//! The contract as Rust types, generated from `wit/`. Nothing else is in here, and only `capability` and `plugin` name it.

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
        world: "full-plugin",
        imports: { default: async | trappable },
        exports: { default: async },
        with: { "toolhost:plugin/processes.process": crate::capability::process::Process },
    });
}

pub(crate) use generated::*;
