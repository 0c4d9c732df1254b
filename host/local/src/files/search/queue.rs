//! The jobs of a search, which several threads take.

use parking_lot::{Condvar, Mutex};

use crate::files::Error;

/// Jobs that are left. The last one comes first, so that a search goes into the depth and few jobs wait.
#[derive(Debug)]
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<J> {
    jobs: Vec<J>,
    /// How many threads have one.
    busy: usize,
    error: Option<Error>,
}

/// A job that a thread does. The others must not wait for one that panics.
struct Turn<'q, J> {
    queue: &'q Queue<J>,
    done: Option<Result<Vec<J>, Error>>,
}

impl<J> Drop for Turn<'_, J> {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.busy -= 1;
        let panicked = || Err(Error::Failed("the search failed".into()));
        match self.done.take().unwrap_or_else(panicked) {
            Ok(more) => state.jobs.extend(more),
            Err(error) => _ = state.error.get_or_insert(error),
        }
        self.queue.changed.notify_all();
    }
}

impl<J> Queue<J> {
    pub(super) fn new(first: J) -> Self {
        Self {
            state: Mutex::new(State {
                jobs: vec![first],
                busy: 0,
                error: None,
            }),
            changed: Condvar::new(),
        }
    }

    /// Does jobs until none is left and no other thread can add one. After an error, none is begun.
    pub(super) fn work(&self, mut run: impl FnMut(J) -> Result<Vec<J>, Error>) {
        let mut state = self.state.lock();
        loop {
            if state.error.is_some() {
                return;
            }
            let Some(job) = state.jobs.pop() else {
                if state.busy == 0 {
                    return;
                }
                self.changed.wait(&mut state);
                continue;
            };
            state.busy += 1;
            drop(state);
            let mut turn = Turn {
                queue: self,
                done: None,
            };
            turn.done = Some(run(job));
            drop(turn);
            state = self.state.lock();
        }
    }

    /// Returns the first error.
    pub(super) fn into_result(self) -> Result<(), Error> {
        self.state.into_inner().error.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn every_job_is_done_once_and_an_error_ends_all() {
        let (queue, done) = (Queue::new(10), AtomicU32::new(0));
        let run = |job: u32| {
            done.fetch_add(1, Ordering::Relaxed);
            Ok((0..job).collect())
        };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| queue.work(run));
            }
        });
        assert_eq!(done.load(Ordering::Relaxed), 1 << 10);
        queue.into_result().unwrap();
        let queue = Queue::new(1);
        queue.work(|_| Err(Error::NotFound));
        assert_eq!(queue.into_result(), Err(Error::NotFound));
        // The thread that waits hears of the panic of the other one.
        let (queue, begun) = (Queue::new(1), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            let panics = scope.spawn(|| {
                queue.work(|_| {
                    begun.wait();
                    panic!("as a test")
                });
            });
            begun.wait();
            queue.work(|_| Ok(Vec::new()));
            panics.join().unwrap_err();
        });
        assert!(matches!(queue.into_result(), Err(Error::Failed(_))));
    }
}
