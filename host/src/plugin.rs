//! Plugins: compiling, loading, limiting and running components. The only part that names wasmtime, besides `capability`.

mod approve;
mod cache;
mod chats;
mod definition;
mod engine;
mod failure;
mod header;
mod imports;
mod limits;
mod load;
mod load_error;
mod meter;
mod reply;
mod run;
mod stdio;
mod store;
mod tally;
mod ticker;

pub use cache::{CacheError, CodeCache};
pub use engine::{Engine, EngineError};
pub use limits::{Ceiling, Limits};
pub use load::{Options, Plugin};
pub use load_error::LoadError;
pub(crate) use load_error::chain;
pub use run::{Admitted, Busy, Context};

pub use crate::metrics::LimitKind;
