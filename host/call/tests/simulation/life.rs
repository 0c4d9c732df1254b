//! The life of the process of a host: it runs, is stopped for a while, or is killed.

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Whether the process of a host runs. All code of a host asks before it goes on after a wait.
#[derive(Debug, Default)]
pub(crate) struct Life {
    state: Mutex<State>,
    ended: Notify,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Runs,
    Stopped(Instant),
    Killed,
}

impl Life {
    /// Waits while the process is stopped. If the process was killed, this never returns, so nothing runs after it, not even a destructor.
    pub(crate) async fn goes_on(&self) {
        loop {
            let state = *self.state.lock();
            match state {
                State::Runs => return,
                State::Stopped(until) if until <= Instant::now() => return,
                State::Stopped(until) => sleep_until(until).await,
                State::Killed => std::future::pending().await,
            }
        }
    }

    pub(crate) fn stop(&self, until: Instant) {
        *self.state.lock() = State::Stopped(until);
    }

    pub(crate) fn kill(&self) {
        *self.state.lock() = State::Killed;
        self.ended.notify_waiters();
    }

    pub(crate) fn is_killed(&self) -> bool {
        matches!(*self.state.lock(), State::Killed)
    }

    /// Waits until the process is killed, which its clients notice at once.
    pub(crate) async fn killed(&self) {
        let ended = self.ended.notified();
        if !self.is_killed() {
            ended.await;
        }
    }
}
