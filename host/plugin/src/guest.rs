//! A running guest: where its call runs while it is light, and on a thread for guests from the moment that it is not.
//!
//! A hand-over to another thread takes longer than most calls compute. So a guest begins on the thread that polls its call. The epoch
//! interrupts it there after a few milliseconds at most, and the rest of a long computation goes to the threads for guests.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::{Instrument as _, Span};

use super::failure::Failure;
use super::meter::Metered;
use toolhost_state::error_chain::panic_text;

type Work<T> = Metered<Result<T, Failure>>;

/// A running guest. Dropping this ends the guest.
pub(super) struct Guest<T> {
    state: State<T>,
    /// The threads for guests.
    threads: Handle,
}

enum State<T> {
    /// Polled by the task of the call.
    Here(Work<T>),
    /// On the threads for guests.
    Moved(JoinHandle<Result<T, Failure>>),
    Ended,
}

impl<T: Send + 'static> Guest<T> {
    /// Makes a guest of this work, which begins at the first poll. `threads` is the runtime for guests that compute for long.
    pub(super) fn new(work: Work<T>, threads: Handle) -> Self {
        let state = State::Here(work);
        Self { state, threads }
    }

    /// Ends the guest, and returns when its store is dropped: until then it holds an instance slot of the pool.
    pub(super) async fn end(mut self) {
        if let State::Moved(task) = &mut self.state {
            task.abort();
            _ = task.await;
            self.state = State::Ended;
        }
    }

    fn move_away(&mut self, work: Work<T>) {
        // The tasks of another runtime do not know the current span.
        let work = work.instrument(Span::current());
        self.state = State::Moved(self.threads.spawn(work));
    }
}

impl<T: Send + 'static> Future for Guest<T> {
    type Output = Result<T, Failure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Here(work) if work.is_heavy() => self.move_away(work),
                State::Here(mut work) => {
                    let polled =
                        catch_unwind(AssertUnwindSafe(|| Pin::new(&mut work).poll(context)));
                    match polled {
                        Ok(Poll::Ready(result)) => return Poll::Ready(result),
                        Err(panic) => return Poll::Ready(Err(broken(panic_text(&*panic)))),
                        Ok(Poll::Pending) if work.is_heavy() => self.move_away(work),
                        Ok(Poll::Pending) => {
                            self.state = State::Here(work);
                            return Poll::Pending;
                        }
                    }
                }
                State::Moved(mut task) => {
                    let Poll::Ready(ended) = Pin::new(&mut task).poll(context) else {
                        self.state = State::Moved(task);
                        return Poll::Pending;
                    };
                    return Poll::Ready(
                        ended.unwrap_or_else(|error| Err(broken(&error.to_string()))),
                    );
                }
                State::Ended => {
                    return Poll::Ready(Err(broken("the guest was polled after its end")));
                }
            }
        }
    }
}

impl<T> Drop for Guest<T> {
    fn drop(&mut self) {
        if let State::Moved(task) = &self.state {
            task.abort();
        }
    }
}

fn broken(why: &str) -> Failure {
    Failure::Broken(format!("the host failed: {why}"))
}
