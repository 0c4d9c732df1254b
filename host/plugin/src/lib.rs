//! Plugins: compiling, loading, limiting and running components, and the capabilities that they may import. The only crate that
//! knows wasmtime.

#[cfg(not(target_os = "linux"))]
compile_error!("this version of Toolhost runs on Linux only");

mod admission;
mod aftermath;
mod approve;
mod cache;
mod call_recorder;
mod capability;
mod chats;
mod compile;
mod convert;
mod cpu_limit;
mod deadline;
mod definition;
mod digest;
mod engine;
mod failure;
mod grants;
mod guest_memory;
mod header;
mod imports;
mod limits;
mod load;
mod load_error;
mod machine;
mod meter;
pub mod outgoing;
mod queue;
mod reply;
mod run;
mod schema;
pub mod self_exec;
mod shape;
mod span;
mod stdio;
mod store;
mod text;
mod ticker;
mod wasi;

pub use admission::{Admitted, Busy};
pub use cache::{CacheError, CodeCache};
pub use capability::{CAPABILITIES, Capability, Settings};
pub use compile::Compiler;
pub use compile::{COMPILER, run_compiler};
pub use definition::Example;
pub use definition::is_plugin_name;
pub use digest::{Digest, InvalidDigest};
pub use engine::{Engine, EngineError};
pub use grants::{GrantValue, Grants, InvalidGrant, Preopen};
pub use header::changes;
pub use limits::{Ceiling, Limits};
pub use load::{Options, Plugin};
pub use load_error::LoadError;
pub use run::Context;
pub use schema::{InvalidSchema, Schema};
pub use shape::Shape;
pub use text::hidden_in;
pub use text::{shown, shown_up_to};
