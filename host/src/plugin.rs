//! Plugins: compiling, loading, limiting and running components. The only part that names wasmtime, besides `capability`.

mod aftermath;
mod approve;
mod cache;
mod chats;
mod compile;
mod definition;
mod digest;
mod engine;
mod failure;
mod header;
mod imports;
mod limits;
mod load;
mod load_error;
mod meter;
mod queue;
mod reply;
mod run;
mod schema;
mod shape;
mod span;
mod stdio;
mod store;
mod tally;
mod text;
mod ticker;
mod wasi;

pub use cache::{CacheError, CodeCache};
pub use compile::Compiler;
pub(crate) use compile::{COMPILER, run_compiler};
pub use definition::Example;
pub use digest::{Digest, InvalidDigest};
pub use engine::{Engine, EngineError};
pub use imports::{GrantName, World};
pub use limits::{Ceiling, Limits};
pub use load::{Options, Plugin};
pub use load_error::LoadError;
pub(crate) use load_error::chain;
pub use run::{Admitted, Busy, Context};
pub use schema::{InvalidSchema, Schema};
pub use shape::Shape;
pub use text::{shown, shown_up_to};

pub use crate::metrics::LimitKind;
