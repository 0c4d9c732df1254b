//! The thread that increments the epoch of an engine. The increments interrupt running guests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::EngineWeak;

/// The time between two ticks: a guest runs no longer than about this before it yields.
const TICK: Duration = Duration::from_millis(2);

/// The longest pause for which a guest that begins to run does not wake the thread, in ticks. While no guest runs, each pause is twice
/// the one before, so quick successive calls find the thread in a short pause.
const SHORT: u32 = 4;

/// The pause that only a guest ends.
const ENDLESS: u32 = u32::MAX;

/// Increments the epoch while a guest runs, and sleeps while none does.
#[derive(Debug)]
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Debug, Default)]
struct Shared {
    /// Guests that run.
    running: AtomicUsize,
    ticks: AtomicU64,
    /// The pause under way, in ticks.
    pause: AtomicU32,
    /// Whether the thread is to end.
    is_closed: AtomicBool,
}

/// A guard: the epoch is incremented until it is dropped.
pub(super) struct Ticking<'a>(&'a AtomicUsize);

impl Ticker {
    /// Starts the thread, which holds the engine weakly, so that it does not keep the engine alive.
    pub(super) fn start(engine: EngineWeak) -> std::io::Result<Arc<Self>> {
        let shared = Arc::<Shared>::default();
        let seen = Arc::clone(&shared);
        let handle = thread::Builder::new()
            .name("toolhost-ticker".into())
            .spawn(move || run(&engine, &seen))?;
        let thread = handle.thread().clone();
        Ok(Arc::new(Self { shared, thread }))
    }

    /// Returns how often the epoch was incremented.
    pub(super) fn ticks(&self) -> u64 {
        self.shared.ticks.load(Ordering::Relaxed)
    }

    /// Has the epoch incremented until the returned guard is dropped.
    pub(super) fn tick(&self) -> Ticking<'_> {
        let Shared { running, pause, .. } = &*self.shared;
        // The thread stores its pause before it looks for guests, so one of the two sees the other.
        if running.fetch_add(1, Ordering::SeqCst) == 0 && pause.load(Ordering::SeqCst) > SHORT {
            self.thread.unpark();
        }
        Ticking(running)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn run(engine: &EngineWeak, shared: &Shared) {
    /// The pause after which no guest is expected soon.
    const LINGER: u32 = 16;
    let mut pause = 1;
    loop {
        shared.pause.store(pause, Ordering::SeqCst);
        // A guest that began before the pause was stored has not woken this thread.
        let ticks = match shared.running.load(Ordering::SeqCst) {
            0 => pause,
            _ => 1,
        };
        match ticks {
            ENDLESS => thread::park(),
            ticks => thread::park_timeout(TICK * ticks),
        }
        let engine = engine.upgrade();
        let Some(engine) = engine.filter(|_| !shared.is_closed.load(Ordering::SeqCst)) else {
            return;
        };
        engine.increment_epoch();
        shared.ticks.fetch_add(1, Ordering::Relaxed);
        pause = match shared.running.load(Ordering::SeqCst) {
            1.. => 1,
            0 if pause >= LINGER => ENDLESS,
            0 => pause * 2,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_until_a_guest_runs_and_ends_with_the_ticker() {
        let until = |is_so: &dyn Fn() -> bool| {
            while !is_so() {
                thread::yield_now();
            }
        };
        let engine = wasmtime::Engine::default();
        let ticker = Ticker::start(engine.weak()).unwrap();
        let shared = Arc::clone(&ticker.shared);
        until(&|| shared.pause.load(Ordering::SeqCst) == ENDLESS);
        let before = ticker.ticks();
        let guest = ticker.tick();
        until(&|| ticker.ticks() > before + 1);
        drop(guest);
        until(&|| shared.pause.load(Ordering::SeqCst) == ENDLESS);
        drop(ticker);
        // Nothing but this test holds it.
        until(&|| Arc::strong_count(&shared) == 1);
    }
}
