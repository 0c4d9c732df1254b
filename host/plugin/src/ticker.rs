//! The thread that moves the epoch of an engine, by which guests are interrupted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::EngineWeak;

/// The time between two ticks: a guest runs no longer than about this before it yields.
const TICK: Duration = Duration::from_millis(2);

/// How many ticks go on after the last guest stopped, so that a quick series of calls does not wake the thread each time.
const LINGER: u32 = 50;

/// Moves the epoch while guests run, sleeps while none does, and ends with the engine.
#[derive(Debug)]
pub(super) struct Ticker {
    running: Arc<AtomicUsize>,
    ticks: Arc<AtomicU64>,
    thread: Thread,
}

/// While this lives, the epoch moves.
pub(super) struct Ticking<'a>(&'a AtomicUsize);

impl Ticker {
    /// Starts the thread. It holds the engine weakly, so that it never keeps one alive.
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

    /// Returns how often the epoch has moved.
    pub(super) fn ticks(&self) -> u64 {
        self.ticks.load(Ordering::Relaxed)
    }

    /// Makes the epoch move until the returned value is dropped.
    pub(super) fn tick(&self) -> Ticking<'_> {
        if self.running.fetch_add(1, Ordering::SeqCst) == 0 {
            self.thread.unpark();
        }
        Ticking(&self.running)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // Let the thread look for its engine, and end.
        self.thread.unpark();
    }
}

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn run(engine: &EngineWeak, running: &AtomicUsize, ticks: &AtomicU64) {
    /// Also without a wake-up the thread looks now and then whether its engine is still there.
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
