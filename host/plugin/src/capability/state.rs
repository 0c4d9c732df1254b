//! The data of a guest's store.

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::{States, View};
use crate::limiter::Limiter;

/// The data of a store: the states of the capabilities, and WASI with the grants in it.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) capabilities: States,
    pub(crate) limiter: Limiter,
    wasi: WasiContext,
    pub(super) table: ResourceTable,
}

struct WasiContext(WasiCtx);

impl std::fmt::Debug for WasiContext {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("WasiContext")
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi.0,
            table: &mut self.table,
        }
    }
}

impl State {
    /// Makes the data of a store.
    pub(crate) fn new(
        capabilities: States,
        limiter: Limiter,
        wasi: WasiCtx,
        table: ResourceTable,
    ) -> Self {
        Self {
            capabilities,
            limiter,
            wasi: WasiContext(wasi),
            table,
        }
    }

    /// Returns the state of a capability, and the handles of the guest.
    pub(super) fn view<S>(&mut self) -> View<'_, S>
    where
        States: AsMut<S>,
    {
        View {
            state: self.capabilities.as_mut(),
            table: &mut self.table,
        }
    }
}
