//! wasmtime alone: an instance from a pool and a call, without limits, ledger and runtime of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{Component, InstancePre, Linker, ResourceTable, Val};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store,
};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

/// A component that is ready to be instantiated.
#[derive(Clone)]
pub(crate) struct Bare {
    engine: Engine,
    component: Arc<InstancePre<State>>,
}

impl Bare {
    /// Compiles a component with the settings of the host's engine (`host/plugin/src/engine.rs`), as far as they cost time.
    pub(crate) async fn new(component: &[u8]) -> Self {
        let mut pool = PoolingAllocationConfig::new();
        pool.max_unused_warm_slots(8)
            .linear_memory_keep_resident(512 << 10)
            .table_keep_resident(16 << 10)
            .pagemap_scan(Enabled::Auto);
        let mut config = Config::new();
        config
            .epoch_interruption(true)
            .concurrency_support(false)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config).expect("there is room for a pool");
        let component = Component::new(&engine, component).expect("it is a component");
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).expect("the names are free");
        linker
            .define_unknown_imports_as_traps(&component)
            .expect("the names are free");
        let component = linker.instantiate_pre(&component).expect("it is linked");
        let bare = Self {
            engine,
            component: Arc::new(component),
        };
        bare.call().await;
        bare
    }

    /// Makes an instance and calls its tool, and returns how long both take.
    pub(crate) async fn call(&self) -> Duration {
        let begun = Instant::now();
        let state = State {
            wasi: WasiCtx::builder().build(),
            table: ResourceTable::new(),
        };
        let mut store = Store::new(&self.engine, state);
        store.set_epoch_deadline(1 << 30);
        let instance = self.component.instantiate_async(&mut store).await;
        let instance = instance.expect("it can be instantiated");
        let tools = instance
            .get_export_index(&mut store, None, "toolhost:plugin/tools@0.1.0")
            .expect("it exports tools");
        let call = instance.get_export_index(&mut store, Some(&tools), "call-tool");
        let call = instance.get_func(&mut store, call.expect("it can be called"));
        let field = |name: &str, text: &str| (name.to_owned(), Val::String(text.to_owned()));
        let fields = [
            field("id", "1"),
            field("tool", "t"),
            field("arguments", "{}"),
        ];
        let mut results = [Val::Bool(false)];
        let call = call.expect("it is a function");
        call.call_async(&mut store, &[Val::Record(fields.into())], &mut results)
            .await
            .expect("it replies");
        drop(store);
        assert!(matches!(results, [Val::Result(Ok(_))]), "{results:?}");
        begun.elapsed()
    }
}
