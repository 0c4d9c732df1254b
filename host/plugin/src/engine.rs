//! The engine: how code is compiled, where instances live, and the threads on which guests run.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use tokio::runtime::{Handle, Runtime};
use tokio::sync::Semaphore;
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::cache::CodeCache;
use super::compiler::Compiler;
use super::guest_memory::GuestMemory;
use super::limits::{CONCURRENT_CALLS, CORE_INSTANCES_PER_CALL, Limits, WASM_STACK};
use super::machine;
use super::queue::Queue;
use super::ticker::Ticker;
use toolhost_call::audit::Audit;
use toolhost_call::metrics::Metrics;
use toolhost_call::threads;
use toolhost_state::closed::Closed;

/// Instances beyond the calls: one for each load that asks for the tools.
const LOADS: u32 = 16;

/// Memories of one call, and tables of one call. Known components have one and two.
const MEMORIES_PER_CALL: u32 = 4;
const TABLES_PER_CALL: u32 = 8;

/// How many free slots of the pool keep the pages of their last instance, and how many bytes of a memory and of a table a slot keeps.
/// These pages are reset in place. All others are given back to the kernel, which costs a call more than most guests compute: the
/// other processors have to forget the pages, and the next instance has to fault them in.
const WARM: u32 = 8;
const KEPT_MEMORY: usize = 512 << 10;
const KEPT_TABLE: usize = 16 << 10;

/// The least memory of all guests together, in bytes, where the machine decides how much that is.
const LEAST_MEMORY: u64 = 64 << 20;

/// Compiles and runs plugins. Clones share everything.
#[derive(Clone)]
pub struct Engine {
    pub(super) inner: Arc<Inner>,
    pub(super) audit: Audit,
    pub(super) metrics: Metrics,
    closed: Closed,
}

pub(super) struct Inner {
    pub(super) wasm: wasmtime::Engine,
    pub(super) pooling: bool,
    pub(super) ticker: Arc<Ticker>,
    pub(super) cache: Option<CodeCache>,
    /// The compiler, which runs in a process of its own; `None`: this process compiles.
    pub(super) compiler: Option<Compiler>,
    /// One compilation at a time: each uses every core and up to 350 MiB.
    pub(super) compiling: Arc<Queue>,
    pub(super) calls: Arc<Semaphore>,
    pub(super) most_calls: usize,
    /// The memory of all calls together.
    pub(super) memory: Arc<GuestMemory>,
    /// The permits that a call needs to run on once it is no longer light; see `meter`.
    pub(super) heavy: Arc<Queue>,
    guests: Handle,
    /// Only taken when the engine ends.
    runtime: Option<Runtime>,
}

/// A reason why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// wasmtime cannot work here.
    #[error("wasmtime cannot work here: {0:#}")]
    Wasm(wasmtime::Error),
    /// The threads for the guests cannot be started.
    #[error("the threads for plugins cannot be started")]
    Threads(#[from] std::io::Error),
}

impl Engine {
    /// Makes an engine; with a cache it compiles each component once and not at every start.
    ///
    /// It compiles within this process, which takes half a minute and 350 MiB for a component of Python and cannot be
    /// interrupted. [`Engine::with_compiler`] does not.
    ///
    /// # Errors
    ///
    /// If this machine cannot run compiled WebAssembly, or no thread can be started.
    pub fn new(cache: Option<CodeCache>) -> Result<Self, EngineError> {
        Self::with_compiler(cache, None)
    }

    /// Makes an engine that has components compiled in processes of their own, if there is a program for that.
    ///
    /// # Errors
    ///
    /// As [`Engine::new`].
    pub fn with_compiler(
        cache: Option<CodeCache>,
        compiler: Option<Compiler>,
    ) -> Result<Self, EngineError> {
        Self::for_calls(CONCURRENT_CALLS, cache, compiler)
    }

    /// Makes an engine that runs at most this many calls at once, up to 256. More are refused as busy. An engine for few calls is made
    /// faster.
    ///
    /// # Errors
    ///
    /// As [`Engine::new`].
    pub fn for_calls(
        calls: usize,
        cache: Option<CodeCache>,
        compiler: Option<Compiler>,
    ) -> Result<Self, EngineError> {
        let calls = calls.min(CONCURRENT_CALLS);
        let (wasm, pooling) = wasm_engine(calls).map_err(EngineError::Wasm)?;
        let ticker = Ticker::start(wasm.weak())?;
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let heavy = cores.saturating_sub(1).max(1);
        let guests = threads::runtime("toolhost-guest", Some(heavy + 1))?;
        let inner = Inner {
            wasm,
            pooling,
            ticker,
            cache,
            compiler,
            compiling: Queue::new(1),
            calls: Arc::new(Semaphore::new(calls)),
            most_calls: calls,
            memory: GuestMemory::new(default_memory()),
            heavy: Queue::new(heavy),
            guests: guests.handle().clone(),
            runtime: Some(guests),
        };
        Ok(Self {
            inner: Arc::new(inner),
            audit: Audit::default(),
            metrics: Metrics::default(),
            closed: Closed::default(),
        })
    }

    /// Records and counts from here on the operations of the engine's plugins.
    #[must_use]
    pub fn observed(self, audit: Audit, metrics: Metrics) -> Self {
        metrics.watch(&self.inner, |inner, levels| {
            let taken = inner
                .most_calls
                .saturating_sub(inner.calls.available_permits());
            levels.call_places_taken += taken as u64;
            levels.guest_memory_bytes += inner.memory.taken() as u64;
            levels.guest_memory_limit_bytes += inner.memory.limit() as u64;
            levels.heavy_calls_waiting += inner.heavy.waiting();
            levels.compilations_waiting += inner.compiling.waiting();
        });
        Self {
            audit,
            metrics,
            ..self
        }
    }

    /// Bounds the memory of all guests together, in bytes: linear memories, tables and stacks. The default is half of the
    /// memory that this process may use, and at least 64 MiB.
    #[must_use]
    pub fn with_guest_memory(self, bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.inner.memory.set_limit(bytes);
        self
    }

    /// Closes paths to plugins: none may be granted a directory that is one of them, contains one, or lies in one.
    #[must_use]
    pub fn closing(self, closed: Closed) -> Self {
        Self { closed, ..self }
    }

    pub(super) fn closed(&self) -> &Closed {
        &self.closed
    }

    /// Returns the runtime on whose threads guests run, apart from everything else: a guest that computes blocks no
    /// listener and no reader of output.
    pub(super) fn guests(&self) -> &Handle {
        &self.inner.guests
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A runtime may not be dropped from within another one; its threads end by themselves.
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Engine")
            .field("pooling", &self.inner.pooling)
            .finish_non_exhaustive()
    }
}

/// Opens the page map of this process. With it, a slot of the pool resets only the pages that its last instance has written.
///
/// A process that cannot be dumped may not open its page map, so a program calls this before it protects its memory. wasmtime keeps the
/// file open.
pub fn open_page_map() {
    _ = PoolingAllocationConfig::is_pagemap_scan_available();
}

/// Returns the default limit on the memory of all guests together.
fn default_memory() -> usize {
    let half = machine::memory().unwrap_or(u64::MAX) / 2;
    usize::try_from(half.max(LEAST_MEMORY)).unwrap_or(usize::MAX)
}

/// Makes the engine with a pool of instances for this many calls, or without one where the address space is too small for it.
fn wasm_engine(calls: usize) -> wasmtime::Result<(wasmtime::Engine, bool)> {
    let pooled = wasmtime::Engine::new(config(true).allocation_strategy(pool(calls)));
    match pooled {
        Ok(engine) => Ok((engine, true)),
        Err(error) => {
            tracing::info!(
                error = format!("{error:#}"),
                "no pool of instances, as the address space is limited"
            );
            Ok((wasmtime::Engine::new(&config(false))?, false))
        }
    }
}

/// Makes an engine that compiles for one with or without a pool, and takes no room for instances itself.
pub(super) fn compiling_engine(pooling: bool) -> wasmtime::Result<wasmtime::Engine> {
    wasmtime::Engine::new(&config(pooling))
}

/// Makes an engine that compiles for one with a pool, on every processor of this architecture.
pub(super) fn portable_engine() -> wasmtime::Result<wasmtime::Engine> {
    let mut config = config(true);
    // With a target, the compiler does not ask what the processor of this machine can do.
    config.target(&format!("{}-unknown-linux-gnu", std::env::consts::ARCH))?;
    wasmtime::Engine::new(&config)
}

/// Everything that the code of a guest depends on. Instances are allocated on demand unless a pool is set.
fn config(pooling: bool) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .concurrency_support(false)
        .allocation_strategy(InstanceAllocationStrategy::OnDemand);
    if !pooling {
        // Reserves only the memory that a guest may use, rather than the 4 GiB that make bounds checks free.
        config
            .memory_reservation(0)
            .memory_guard_size(64 << 10)
            .memory_reservation_for_growth(1 << 20);
    }
    config
}

fn pool(calls: usize) -> InstanceAllocationStrategy {
    let calls = u32::try_from(calls)
        .unwrap_or(u32::MAX)
        .saturating_add(LOADS);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        .total_core_instances(calls * CORE_INSTANCES_PER_CALL)
        .max_core_instances_per_component(CORE_INSTANCES_PER_CALL)
        .total_memories(calls * MEMORIES_PER_CALL)
        .max_memories_per_component(MEMORIES_PER_CALL)
        .max_memories_per_module(MEMORIES_PER_CALL)
        .total_tables(calls * TABLES_PER_CALL)
        .max_tables_per_component(TABLES_PER_CALL)
        .max_tables_per_module(TABLES_PER_CALL)
        .table_elements(Limits::default().table_elements)
        .total_stacks(calls)
        .max_unused_warm_slots(WARM)
        .linear_memory_keep_resident(KEPT_MEMORY)
        .table_keep_resident(KEPT_TABLE)
        .pagemap_scan(Enabled::Auto)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20);
    InstanceAllocationStrategy::Pooling(pool)
}
