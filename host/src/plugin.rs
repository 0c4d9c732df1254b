//! Plugins: compiling, loading, limiting and running components. The only part that names wasmtime, besides `capability`.

mod cache;
mod engine;
mod failure;
mod limits;
mod load;
mod meter;
mod reply;
mod run;
mod stdio;
mod store;
mod ticker;

pub use cache::{CacheError, CodeCache};
pub use engine::{Engine, EngineError};
pub use limits::Limits;
pub use load::{LoadError, Options, Plugin};
pub use run::{Admitted, Busy, Context};
