//! Loading: each way in which a plugin does not load says what to do, and strangers' code is compiled in a process of its own.

mod bytes;
mod check;
mod compiling;
mod inspect;
mod made;
mod mistakes;
mod tools;
mod worlds;

use std::sync::OnceLock;

use toolhost_core::Options;
use toolhost_plugin::{CodeCache, Compiler, Engine, LoadError, Plugin};
use toolhost_state::state_dir::StateDir;

use crate::harness::{program, state_dir};

/// An engine that compiles as the program does.
fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let state = StateDir::open(&state_dir().join("loading")).unwrap();
        let cache = CodeCache::open(&state).unwrap();
        Engine::with_compiler(Some(cache), Some(Compiler::new(program()))).unwrap()
    })
}

/// Loads a component that must not load, with nothing granted, and returns the error.
async fn error(component: &[u8]) -> LoadError {
    Plugin::load(engine(), component, Options::new("x"))
        .await
        .expect_err("it must not load")
}
