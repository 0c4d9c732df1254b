//! The thread that increments the epoch of an engine. The increments interrupt running guests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::EngineWeak;

/// The time between two ticks: a guest runs no longer than about this before it yields.
const TICK: Duration = Duration::from_millis(2);

/// How many ticks the thread goes on for after the last guest stopped, so that quick successive calls need not wake it each
/// time.
const LINGER: u32 = 50;

/// Increments the epoch while a guest runs, sleeps while none does, and ends with the engine.
#[derive(Debug)]
pub(super) struct Ticker {
    running: Arc<AtomicUsize>,
    ticks: Arc<AtomicU64>,
    thread: Thread,
}

/// A guard: the epoch is incremented until it is dropped.
pub(super) struct Ticking<'a>(&'a AtomicUsize);

impl Ticker {
    /// Starts the thread, which holds the engine weakly, so that it does not keep the engine alive.
    pub(super) fn start(engine: EngineWeak) -> std::io::Result<Arc<Self>> {
        let running = Arc::new(AtomicUsize::new(0));
        let ticks = Arc::new(AtomicU64::new(0));
        let (seen, counted) = (Arc::clone(&running), Arc::clone(&ticks));
        let handle = thread::Builder::new()
            .name("toolhost-ticker".into())
            .spawn(move || run(&engine, &seen, &counted))?;
        Ok(Arc::new(Self {
            running,
            ticks,
            thread: handle.thread().clone(),
        }))
    }

    /// Returns how often the epoch was incremented.
    pub(super) fn ticks(&self) -> u64 {
        self.ticks.load(Ordering::Relaxed)
    }

    /// Has the epoch incremented until the returned guard is dropped.
    pub(super) fn tick(&self) -> Ticking<'_> {
        if self.running.fetch_add(1, Ordering::SeqCst) == 0 {
            self.thread.unpark();
        }
        Ticking(&self.running)
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

fn run(engine: &EngineWeak, running: &AtomicUsize, ticks: &AtomicU64) {
    /// How often the thread checks that the engine still exists while no guest runs.
    const LOOK: Duration = Duration::from_secs(10);
    let mut idle = 0;
    loop {
        if running.load(Ordering::SeqCst) > 0 {
            idle = 0;
        } else {
            idle += 1;
        }
        if idle > LINGER {
            thread::park_timeout(LOOK);
        } else {
            thread::sleep(TICK);
        }
        let Some(engine) = engine.upgrade() else {
            return;
        };
        engine.increment_epoch();
        ticks.fetch_add(1, Ordering::Relaxed);
    }
}
