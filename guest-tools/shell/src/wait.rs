//! Waiting for a process, with time left to reply.

use std::time::{Duration, Instant};

use toolhost_sdk::context;
use toolhost_sdk::processes::{Error, Process, WaitOptions, Waited, Wake};

/// How much of the call's time is left for the reply, if the host would end the call before the timeout is over.
const TIME_TO_REPLY: Duration = Duration::from_secs(1);

/// Waits as the options say, with a timeout that counts from `begin`.
///
/// A wait that had to be shorter than its timeout is clamped, be it by the host or because the call would end. It is not
/// repeated: the caller would learn nothing from another one.
///
/// # Errors
///
/// The process cannot be reached.
pub(crate) fn wait(
    process: &dyn Process,
    options: &WaitOptions,
    begin: Instant,
) -> Result<Waited, Error> {
    let timeout = left(options.timeout, begin);
    loop {
        let left = timeout.saturating_sub(begin.elapsed());
        let waited = process.wait(&WaitOptions {
            timeout: left,
            ..options.clone()
        })?;
        match waited.wake {
            Wake::TimedOut if timeout < options.timeout => {
                return Ok(Waited {
                    wake: Wake::Clamped,
                    ..waited
                });
            }
            // A host may wake a guest for no reason; then the wait is not over.
            Wake::Output if !options.output && !left.is_zero() => {}
            Wake::Matched if options.until.is_none() && !left.is_zero() => {}
            _ => return Ok(waited),
        }
    }
}

/// Returns the timeout, which counts from `begin`, or a shorter one with which the call has time to reply.
pub(crate) fn left(timeout: Duration, begin: Instant) -> Duration {
    // The host says that nothing remains only where nothing is known.
    let remaining = Some(context::remaining()).filter(|remaining| !remaining.is_zero());
    let until =
        remaining.map(|remaining| begin.elapsed() + remaining.saturating_sub(TIME_TO_REPLY));
    until.map_or(timeout, |until| until.min(timeout))
}

#[cfg(test)]
mod tests {
    use toolhost_sdk::processes::Processes;
    use toolhost_sdk::testing::{FakeProcess, FakeProcesses, surroundings};

    use super::*;

    /// Waits for a minute, and returns the reason for the end and each timeout that the host was given.
    fn wait_a_minute(process: FakeProcess) -> (Wake, Vec<Duration>) {
        let processes = FakeProcesses::new().has(process, "a");
        let options = WaitOptions::at_most(Duration::from_mins(1));
        let waited = wait(
            processes.open("p").unwrap().as_ref(),
            &options,
            Instant::now(),
        )
        .unwrap();
        (
            waited.wake,
            processes
                .waits()
                .into_iter()
                .map(|(_, options)| options.timeout)
                .collect(),
        )
    }

    #[test]
    fn goes_on_after_a_wake_that_nobody_asked_for() {
        let process = FakeProcess::new("p")
            .wakes(Wake::Output)
            .wakes(Wake::Matched)
            .exits(0);
        let (wake, timeouts) = wait_a_minute(process);
        assert_eq!((wake, timeouts.len()), (Wake::Ended, 3));
        assert!(timeouts.is_sorted_by(|earlier, later| earlier >= later));
    }

    #[test]
    fn does_not_repeat_a_clamped_wait() {
        let (wake, timeouts) = wait_a_minute(FakeProcess::new("p").wakes(Wake::Clamped).exits(0));
        assert_eq!((wake, timeouts.len()), (Wake::Clamped, 1));
    }

    #[test]
    fn leaves_time_to_reply() {
        surroundings(|now| now.remaining = Duration::from_secs(5));
        let (wake, timeouts) = wait_a_minute(FakeProcess::new("p"));
        assert_eq!(wake, Wake::Clamped);
        assert!(timeouts[0] <= Duration::from_secs(4));
        surroundings(|now| now.remaining = Duration::ZERO);
        assert_eq!(wait_a_minute(FakeProcess::new("p")).0, Wake::TimedOut);
    }
}
