//! Guest time: the CPU time of a call, its limit, and how calls that use much CPU time share the processors.
//!
//! A guest and the host calls that it makes run only while a thread polls the future of its call. So the CPU time that the
//! polling thread spends in `poll` is the guest time: code and cheap host calls are charged alike, waits cost nothing, and a
//! thread that the kernel stops for others is not charged for that. Operations on files run on threads that may block, and add
//! their CPU time. wasmtime's `call_hook` would not do: it sees only the crossings between guest and host, and not that a fiber
//! was suspended between two of them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::OwnedSemaphorePermit;

use super::queue::Queue;
use super::ticker::Ticker;
use toolhost_state::thread_time::thread_time;
use toolhost_workspace::files::CpuAccount;

/// The guest time that a call gets before it has to share. Nearly every call stays below.
const LIGHT: Duration = Duration::from_millis(10);

/// The guest time of one poll above which a guest does not go on where its call runs.
const SHORT_POLL: Duration = Duration::from_micros(500);

/// The guest time of one call.
#[derive(Debug)]
pub(super) struct Meter {
    /// In nanoseconds, without the poll under way.
    used: AtomicU64,
    /// The CPU time of the polling thread when the poll under way began, in nanoseconds.
    began: AtomicU64,
    /// The CPU time of operations on files, which run on other threads.
    work: Arc<CpuAccount>,
    budget: Duration,
}

/// The guest used up its budget.
#[derive(Debug, thiserror::Error)]
#[error("the guest time of {} ms is used up", .0.as_millis())]
pub(super) struct GuestTimeExceeded(pub(super) Duration);

impl Meter {
    pub(super) fn new(budget: Duration, work: Arc<CpuAccount>) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicU64::new(0),
            began: AtomicU64::new(0),
            work,
            budget,
        })
    }

    /// Returns the guest time up to the last end of a poll.
    pub(super) fn used(&self) -> Duration {
        Duration::from_nanos(self.used.load(Ordering::Relaxed)) + self.work.used()
    }

    /// Fails if the budget is used up. Called from within the poll, on its thread.
    pub(super) fn check(&self) -> Result<(), GuestTimeExceeded> {
        let in_this_poll = thread_time().saturating_sub(self.began.load(Ordering::Relaxed));
        if self.used() + Duration::from_nanos(in_this_poll) > self.budget {
            return Err(GuestTimeExceeded(self.budget));
        }
        Ok(())
    }

    fn begin(&self) {
        self.began.store(thread_time(), Ordering::Relaxed);
    }

    /// Ends a poll, and returns its guest time.
    fn end(&self) -> Duration {
        let time = thread_time().saturating_sub(self.began.load(Ordering::Relaxed));
        self.used.fetch_add(time, Ordering::Relaxed);
        Duration::from_nanos(time)
    }
}

/// A call whose polls are measured, and which needs a permit to run on once it is no longer light.
///
/// A permit is given back whenever the call yields or waits, and permits are handed out in the order of asking: heavy calls take
/// turns. There is one permit less than there are threads for guests, so that a guest which was just moved there finds a free one.
pub(super) struct Metered<T> {
    call: BoxFuture<'static, T>,
    meter: Arc<Meter>,
    ticker: Arc<Ticker>,
    permits: Arc<Queue>,
    last_poll: Duration,
    asking: Option<BoxFuture<'static, Option<OwnedSemaphorePermit>>>,
}

impl<T> Metered<T> {
    pub(super) fn new(
        call: impl Future<Output = T> + Send + 'static,
        meter: Arc<Meter>,
        ticker: Arc<Ticker>,
        permits: Arc<Queue>,
    ) -> Self {
        Self {
            call: Box::pin(call),
            meter,
            ticker,
            permits,
            last_poll: Duration::ZERO,
            asking: None,
        }
    }

    /// Returns whether the guest needs a thread for guests from now on: its last poll was long, or it needs a permit.
    pub(super) fn is_heavy(&self) -> bool {
        self.last_poll > SHORT_POLL || self.meter.used() > LIGHT
    }
}

impl<T> Future for Metered<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        let _permit = if this.meter.used() > LIGHT {
            let permits = &this.permits;
            let asking = this
                .asking
                .get_or_insert_with(|| Box::pin(Arc::clone(permits).acquire()));
            let permit = ready!(asking.as_mut().poll(context));
            this.asking = None;
            permit
        } else {
            None
        };
        let _ticking = this.ticker.tick();
        this.meter.begin();
        let result = this.call.as_mut().poll(context);
        this.last_poll = this.meter.end();
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_polls_are_charged() {
        let work = Arc::new(CpuAccount::default());
        let meter = Meter::new(Duration::from_millis(20), Arc::clone(&work));
        meter.begin();
        while meter.check().is_ok() {
            std::hint::spin_loop();
        }
        meter.end();
        assert!(meter.used() >= Duration::from_millis(20));
        assert_eq!(
            meter.check().unwrap_err().to_string(),
            "the guest time of 20 ms is used up"
        );
    }

    #[test]
    fn operations_on_files_are_charged() {
        let work = Arc::new(CpuAccount::default());
        let meter = Meter::new(Duration::from_millis(5), Arc::clone(&work));
        meter.begin();
        meter.end();
        work.add(Duration::from_millis(6));
        assert!(meter.check().is_err());
    }
}
