//! The thread that increments the epoch of an engine. The increments interrupt running guests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::EngineWeak;

/// The time between two ticks: a guest runs no longer than about this before it yields.
const TICK: Duration = Duration::from_millis(2);

/// The longest pause for which a guest that begins to run does not wake the thread, in ticks. While no guest runs, each pause is twice
/// the one before, so quick successive calls find the thread in a short pause.
const SHORT: u32 = 4;

/// Increments the epoch while a guest runs, sleeps while none does, and ends with the engine.
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
        // Wake the thread, so that it notices that the engine is gone, and ends.
        self.thread.unpark();
    }
}

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn run(engine: &EngineWeak, shared: &Shared) {
    /// The longest pause, after which the thread looks whether the engine still exists.
    const LONGEST: u32 = 5_000;
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
        thread::park_timeout(TICK * ticks);
        let Some(engine) = engine.upgrade() else {
            return;
        };
        engine.increment_epoch();
        shared.ticks.fetch_add(1, Ordering::Relaxed);
        pause = match shared.running.load(Ordering::SeqCst) {
            1.. => 1,
            0 if pause >= LINGER => LONGEST,
            0 => pause * 2,
        };
    }
}
