//! The store of one call. [`make`] is the only place that makes one, and it sets every limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::component::ResourceTable;
use wasmtime::{CallHook, CallHookHandler, Store, StoreContextMut, UpdateDeadline};

use super::engine::Engine;
use super::guest_memory::Share;
use super::limiter::Limiter;
use super::meter::{GuestTimeExceeded, Meter};
use super::ticker::Ticker;
use super::wasi::Granted;
use crate::capability::{CallContext, State, States};

/// Makes a store with every limit set: memory, tables, handles, guest time, data of host calls, stack (by the engine), log
/// (by its account), HTTP requests and bytes. The caller checks deadline and reply size, as it holds the clock and the reply.
pub(super) fn make(
    engine: &Engine,
    granted: &Granted,
    context: &CallContext,
    share: Share,
    meter: Arc<Meter>,
) -> Store<State> {
    let limits = &context.limits;
    let mut table = ResourceTable::new();
    table.set_max_capacity(limits.handles);
    let capabilities = States::begin(&granted.capabilities, context);
    let wasi = granted.context(&context.log);
    let state = State::new(capabilities, Limiter::new(limits, share), wasi, table);
    let mut store = Store::new(&engine.inner.wasm, state);
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(limits.host_call_data);
    store.set_epoch_deadline(1);
    let turn = Turn(Arc::new(Taken {
        ticker: Arc::clone(&engine.inner.ticker),
        at: AtomicU64::new(engine.inner.ticker.ticks()),
        meter,
    }));
    store.call_hook_async(turn.clone());
    store.epoch_deadline_callback(move |_| {
        turn.is_over()?;
        // Plain `Yield` wakes itself at once, which starves timers and sockets of the same thread.
        Ok(UpdateDeadline::YieldCustom(
            1,
            Box::pin(tokio::task::yield_now()),
        ))
    });
    store
}

/// The time for which a guest runs on its thread before it yields. A turn ends with a tick.
///
/// Compiled code checks the epoch only where a function or a loop begins. A guest can avoid both with a row of host calls, each
/// of which may take milliseconds. So a turn can also end when a host call returns.
#[derive(Clone)]
struct Turn(Arc<Taken>);

struct Taken {
    ticker: Arc<Ticker>,
    /// The tick in which the turn began.
    at: AtomicU64,
    meter: Arc<Meter>,
}

impl Turn {
    /// Returns whether another turn begins here, unless the guest time is used up.
    fn is_over(&self) -> Result<bool, GuestTimeExceeded> {
        let now = self.0.ticker.ticks();
        if self.0.at.swap(now, Ordering::Relaxed) == now {
            return Ok(false);
        }
        self.0.meter.check()?;
        Ok(true)
    }
}

#[wasmtime_wasi::async_trait]
impl CallHookHandler<State> for Turn {
    async fn handle_call_event(
        &self,
        _: StoreContextMut<'_, State>,
        hook: CallHook,
    ) -> wasmtime::Result<()> {
        if matches!(hook, CallHook::ReturningFromHost) && self.is_over()? {
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}
