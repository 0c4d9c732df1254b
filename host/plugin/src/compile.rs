//! Compiling a component, in a process of its own: compiling one of Python takes half a minute of CPU time and 350 MiB, and the
//! compiler reads an untrusted file.

mod child;
mod program;
mod shipped;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use wasmtime::component::Component;

use super::cache::CodeCache;
use super::cache::deserialize;
use super::compiler::Compiler;
use super::engine::{Engine, Inner};
use super::load_error::LoadError;

pub use program::{ARGUMENT as COMPILER, run as run_compiler};
pub use shipped::{SHIP, write as write_shipped};

/// The time after which the log says that a compilation is under way; it says so again after each [`REMINDER`].
const NOTICE: Duration = Duration::from_secs(1);
const REMINDER: Duration = Duration::from_secs(10);

/// A compilation hangs if it takes this many times its limit in wall-clock time, and at least [`HANGS_AFTER`]. The factor
/// allows for a busy machine.
const HANGS: u32 = 20;
const HANGS_AFTER: Duration = Duration::from_mins(10);

/// Takes the code of a component from the cache, or compiles it, one at a time. `limit` is CPU time in whole seconds, rounded
/// up; within this process it is only the measure of a hang.
pub(super) async fn compile(
    engine: &Engine,
    plugin: &str,
    component: &Bytes,
    limit: Duration,
) -> Result<Component, LoadError> {
    let inner = &engine.inner;
    let hashed = component.clone();
    let name = move |inner: &Inner| CodeCache::name(&inner.wasm, &hashed);
    let name = blocking(engine, name).await.map_err(LoadError::Compiler)?;
    if let Some(cached) = cached(engine, &name).await? {
        tracing::debug!(plugin, "code cache hit");
        return Ok(cached);
    }
    if let Some(shipped) = shipped(engine, component).await? {
        tracing::debug!(plugin, "the program has the code");
        return Ok(shipped);
    }
    let _one_at_a_time = Arc::clone(&inner.compiling).acquire().await;
    // The compilation before this one may have been of the same component.
    if let Some(cached) = cached(engine, &name).await? {
        return Ok(cached);
    }
    tracing::debug!(
        plugin,
        cache = inner.cache.is_some(),
        "code cache miss, compiling"
    );
    let began = Instant::now();
    let notice = |elapsed: Duration| {
        let elapsed_s = elapsed.as_secs();
        tracing::info!(
            plugin,
            elapsed_s,
            "compiling; this happens once for each version of a plugin"
        );
    };
    let code = async {
        match &inner.compiler {
            Some(compiler) => compiler.compile(engine, component, limit).await,
            None => in_process(engine, component).await,
        }
    };
    let hangs = limit.saturating_mul(HANGS).max(HANGS_AFTER);
    let code = tokio::time::timeout(hangs, with_notices(code, notice));
    let code = code.await.unwrap_or(Err(Failure::Hangs(hangs)));
    let code = code.map_err(|failure| failure.of(plugin))?;
    tracing::debug!(plugin, elapsed_ms = began.elapsed().as_millis(), "compiled");
    engine.metrics.compiled(plugin, began.elapsed());
    let take = move |inner: &Inner| {
        let compiled = deserialize(&inner.wasm, &code)
            .map_err(|error| LoadError::Compiler(format!("its code is of no use: {error:#}")))?;
        if let Some(cache) = &inner.cache {
            cache.store(&code, &name);
        }
        Ok(compiled)
    };
    blocking(engine, take).await.map_err(LoadError::Compiler)?
}

/// Looks for the code in the cache.
async fn cached(engine: &Engine, name: &str) -> Result<Option<Component>, LoadError> {
    let name = name.to_owned();
    let look = move |inner: &Inner| inner.cache.as_ref()?.load(&inner.wasm, &name);
    let looked = blocking(engine, look).await;
    looked.map_err(LoadError::Compiler)
}

/// Looks for the code at the end of the program that compiles. What is there and of no use is compiled.
async fn shipped(engine: &Engine, component: &Bytes) -> Result<Option<Component>, LoadError> {
    let component = component.clone();
    let look = move |inner: &Inner| {
        let compiler = inner.compiler.as_ref().filter(|_| inner.pooling)?;
        let code = shipped::read(&compiler.program, &component);
        let code = code.map_err(wasmtime::Error::from).transpose()?;
        let component = code.and_then(|code| deserialize(&inner.wasm, &code));
        let useless = |error: &wasmtime::Error| tracing::debug!(%error, "the code at the end of the program is of no use");
        component.inspect_err(useless).ok()
    };
    blocking(engine, look).await.map_err(LoadError::Compiler)
}

/// Works on a thread that may block: megabytes are hashed, read and written.
async fn blocking<T: Send + 'static>(
    engine: &Engine,
    work: impl FnOnce(&Inner) -> T + Send + 'static,
) -> Result<T, String> {
    let engine = engine.clone();
    let done = tokio::task::spawn_blocking(move || work(&engine.inner)).await;
    done.map_err(|error| error.to_string())
}

/// A reason why there is no code.
#[derive(Debug)]
enum Failure {
    /// The component is at fault.
    Component(String),
    /// The compiler used up this limit of CPU time.
    Time(Duration),
    /// The compiler did not end within this time.
    Hangs(Duration),
    /// The compiler is at fault, or the machine.
    Compiler(String),
}

impl Failure {
    fn of(self, plugin: &str) -> LoadError {
        match self {
            Self::Component(text) => LoadError::malformed(&text),
            Self::Time(limit) => LoadError::CompileTime {
                plugin: plugin.to_owned(),
                limit,
            },
            Self::Hangs(time) => LoadError::Compiler(format!(
                "it hangs: it has not ended within {} s",
                time.as_secs_f64()
            )),
            Self::Compiler(text) => LoadError::Compiler(text),
        }
    }
}

/// Compiles on a thread of this process. The compilation cannot be stopped.
async fn in_process(engine: &Engine, component: &Bytes) -> Result<Vec<u8>, Failure> {
    let component = component.clone();
    let compile = move |inner: &Inner| inner.wasm.precompile_component(&component);
    let compiled = blocking(engine, compile).await.map_err(Failure::Compiler)?;
    compiled.map_err(|error| Failure::Component(format!("{error:#}")))
}

/// Waits for `work`, and calls `notice` now and then while it is not done.
async fn with_notices<T>(work: impl Future<Output = T>, notice: impl Fn(Duration)) -> T {
    let began = Instant::now();
    let mut work = std::pin::pin!(work);
    let mut next = began + NOTICE;
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep_until(next) => notice(began.elapsed()),
        }
        next += REMINDER;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_takes_long_is_told_after_a_second_and_then_every_ten() {
        let told = RefCell::new(Vec::new());
        let work = tokio::time::sleep(Duration::from_secs(25));
        with_notices(work, |elapsed| told.borrow_mut().push(elapsed.as_secs())).await;
        assert_eq!(*told.borrow(), [1, 11, 21]);
        told.borrow_mut().clear();
        with_notices(async {}, |elapsed| {
            told.borrow_mut().push(elapsed.as_secs())
        })
        .await;
        assert!(told.borrow().is_empty());
    }
}
