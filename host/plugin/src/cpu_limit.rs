//! Runs work on a thread of its own, within a limit of CPU time, which other load on the machine does not use up.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, gettid};
use tokio::sync::oneshot;

/// The stack of the thread in bytes: nested schemas take much of it.
pub(super) const STACK: usize = 32 << 20;

/// The shortest time between two looks at the clock of the thread.
const LOOK: Duration = Duration::from_millis(10);

/// A reason why there is no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfinished {
    /// The thread used more CPU time than the limit.
    #[error("more CPU time than {} s was used", .0.as_secs_f64())]
    Limit(Duration),
    /// The thread could not be started.
    #[error(transparent)]
    Thread(#[from] std::io::Error),
    /// The work panicked.
    #[error("the work ended without a result")]
    Panicked,
}

/// Runs `work` on a thread of its own and returns its result. The wait ends once the thread has used `limit` of CPU time.
///
/// A thread cannot be stopped: beyond the limit it goes on, and its result is dropped.
///
/// # Errors
///
/// See [`Unfinished`].
pub(super) async fn limited<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Unfinished> {
    let (tell_thread, thread) = oneshot::channel();
    let (give, mut take) = oneshot::channel();
    std::thread::Builder::new()
        .name("toolhost-limited".into())
        .stack_size(STACK)
        .spawn(move || {
            _ = tell_thread.send(gettid());
            _ = give.send(work());
        })?;
    let thread = thread.await.map_err(|_| Unfinished::Panicked)?;
    loop {
        // A thread uses no more CPU time than passes on the wall, so the limit cannot be reached sooner.
        let left = cpu_time(thread).map_or(limit, |used| limit.saturating_sub(used));
        match tokio::time::timeout(left.max(LOOK), &mut take).await {
            Ok(done) => return done.map_err(|_| Unfinished::Panicked),
            Err(_) if cpu_time(thread).is_some_and(|used| used >= limit) => {
                return Err(Unfinished::Limit(limit));
            }
            Err(_) => {}
        }
    }
}

/// Returns the CPU time of a thread of this process, or `None` if it has ended.
fn cpu_time(thread: Pid) -> Option<Duration> {
    /// The clock of one thread rather than of its process, and CPU time as the scheduler counts it: see `CPUCLOCK_PERTHREAD` in
    /// the kernel. `pthread_getcpuclockid` makes the same number.
    const THREAD_CLOCK: i32 = 0b110;
    let clock = ClockId::from_raw((!thread.as_raw() << 3) | THREAD_CLOCK);
    clock_gettime(clock).ok().map(Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhost_state::thread_time::thread_time;

    const LIMIT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn a_result_is_returned() {
        assert_eq!(limited(LIMIT, || 7).await.unwrap(), 7);
    }

    /// The wait is far longer than the limit, and none of it counts.
    #[tokio::test]
    async fn time_without_cpu_does_not_count() {
        let (finish, finished) = std::sync::mpsc::channel();
        let work = limited(LIMIT, move || finished.recv().unwrap());
        let later = async {
            tokio::time::sleep(LIMIT * 10).await;
            finish.send(8).unwrap();
        };
        let (result, ()) = tokio::join!(work, later);
        assert_eq!(result.unwrap(), 8);
    }

    #[tokio::test]
    async fn work_that_computes_for_ever_is_not_waited_for() {
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell_used, used) = std::sync::mpsc::channel();
        let work = move || {
            while !stop.is_closed() {
                std::hint::spin_loop();
            }
            tell_used.send(thread_time()).unwrap();
        };
        let error = limited(LIMIT, work).await.unwrap_err();
        assert!(matches!(error, Unfinished::Limit(LIMIT)), "{error}");
        drop(stopped);
        assert!(u128::from(used.recv().unwrap()) >= LIMIT.as_nanos());
    }

    #[tokio::test]
    async fn a_panic_is_an_error() {
        let work = || -> u8 { std::panic::resume_unwind(Box::new("a test")) };
        let error = limited(LIMIT, work).await.unwrap_err();
        assert!(matches!(error, Unfinished::Panicked), "{error}");
    }
}
