//! Runtimes whose threads stay, so that they go on when this machine gives no more threads.

use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

/// How many threads for work that blocks are there from the beginning. Where no other can be had, work waits for these.
const SPARE: usize = 8;

/// Builds a runtime with so many workers, by default one for each core. Its threads have this name.
///
/// Tokio panics if a task that blocks finds no thread and none can be started; the threads of this runtime never end before it. Tokio's
/// way out of a worker that could not be started never ends, so this first finds out whether there is room for all of them.
///
/// # Errors
///
/// If the threads cannot be started.
pub fn runtime(name: &str, workers: Option<usize>) -> io::Result<Runtime> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = workers.unwrap_or_else(cores);
    try_threads(workers + SPARE)?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_name(name)
        .thread_keep_alive(Duration::MAX)
        .enable_all()
        .build()?;
    start_spare(runtime.handle());
    Ok(runtime)
}

/// Starts so many threads at the same time, and ends them.
fn try_threads(count: usize) -> io::Result<()> {
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let ended = Mutex::new(ended);
    std::thread::scope(|scope| {
        let started = (0..count).try_for_each(|_| {
            let wait = || ended.lock().unwrap_or_else(PoisonError::into_inner).recv();
            std::thread::Builder::new()
                .spawn_scoped(scope, wait)
                .map(drop)
        });
        drop(end);
        started
    })
}

/// Occupies as many threads as are to be there, so that tokio starts each of them.
fn start_spare(runtime: &Handle) {
    let gate = Arc::new(Mutex::new(()));
    let _closed = gate.lock();
    for _ in 0..SPARE {
        let gate = Arc::clone(&gate);
        drop(runtime.spawn_blocking(move || drop(gate.lock())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_threads_are_there_from_the_beginning() {
        let runtime = runtime("spare-or-worker", Some(3)).unwrap();
        let own = || {
            let tasks = std::fs::read_dir("/proc/self/task").unwrap();
            let names = tasks.filter_map(|task| {
                // Threads of other tests end meanwhile.
                std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
            });
            names.filter(|name| name == "spare-or-worker\n").count()
        };
        // A thread names itself.
        let begun = std::time::Instant::now();
        while own() < 3 + SPARE {
            assert!(begun.elapsed() < Duration::from_mins(5), "{}", own());
            std::thread::yield_now();
        }
        assert_eq!(own(), 3 + SPARE);
        assert_eq!(runtime.block_on(async { 1 }), 1);
    }
}
