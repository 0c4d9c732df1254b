//! Waiting until a program has written what it had to write, and waits for input itself.

use std::time::{Duration, Instant};

use toolhost_sdk::processes::{Error, Process, WaitOptions, Waited, Wake};

use crate::wait;

/// How long a program writes nothing that waits for input, as far as anybody can tell.
pub(crate) const SILENCE: Duration = Duration::from_millis(500);

/// How often a program is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(125);

/// Waits until a process has written nothing for the time of [`SILENCE`], at most until the timeout is over, which counts from `begin`. If `is_new`, only
/// output after the cursor `since` begins the silence: a program that was just started has not asked yet.
///
/// The result of a process that is silent is [`Wake::Output`].
///
/// # Errors
///
/// The process cannot be reached.
pub(crate) fn settled(
    process: &dyn Process,
    (since, is_new): (u64, bool),
    timeout: Duration,
    begin: Instant,
) -> Result<Waited, Error> {
    if is_new {
        let first = WaitOptions {
            timeout,
            since,
            output: true,
            ..WaitOptions::default()
        };
        let waited = wait::wait(process, &first, begin)?;
        if waited.wake != Wake::Output {
            return Ok(waited);
        }
    }
    let (mut total, mut silent) = (None, Duration::ZERO);
    loop {
        let left = timeout.saturating_sub(begin.elapsed());
        let step = LOOK.min(left);
        let waited = wait::wait(process, &WaitOptions::at_most(step), Instant::now())?;
        match waited.wake {
            Wake::TimedOut if left <= LOOK => return Ok(waited),
            Wake::TimedOut if total == Some(waited.total) => {
                silent += step;
                if silent >= SILENCE {
                    return Ok(Waited {
                        wake: Wake::Output,
                        ..waited
                    });
                }
            }
            Wake::TimedOut => (total, silent) = (Some(waited.total), Duration::ZERO),
            _ => return Ok(waited),
        }
    }
}

#[cfg(test)]
mod tests {
    use toolhost_sdk::processes::Processes;
    use toolhost_sdk::testing::{FakeProcess, FakeProcesses};

    use super::*;

    fn settles(process: FakeProcess, is_new: bool, timeout: Duration) -> (Wake, usize) {
        let processes = FakeProcesses::new().has(process, "a");
        let process = processes.open("p").unwrap();
        let waited = settled(process.as_ref(), (0, is_new), timeout, Instant::now());
        (waited.unwrap().wake, processes.waits().len())
    }

    #[test]
    fn four_looks_without_output_are_silence() {
        let process = FakeProcess::new("p").prints("> ");
        let minute = Duration::from_mins(1);
        assert_eq!(settles(process.clone(), false, minute), (Wake::Output, 5));
        assert_eq!(settles(process, true, minute), (Wake::Output, 6));
    }

    #[test]
    fn output_begins_the_silence_again() {
        let process = FakeProcess::new("p")
            .prints("a")
            .wakes(Wake::TimedOut)
            .wakes(Wake::TimedOut)
            .wakes(Wake::TimedOut)
            .prints("b");
        let (wake, looks) = settles(process, false, Duration::from_mins(1));
        assert_eq!((wake, looks), (Wake::Output, 8));
    }

    #[test]
    fn an_end_and_a_timeout_are_no_silence() {
        let ended = FakeProcess::new("p").prints("bye").exits(0);
        assert_eq!(settles(ended, false, Duration::from_mins(1)).0, Wake::Ended);
        let mute = FakeProcess::new("p").wakes(Wake::TimedOut);
        assert_eq!(
            settles(mute, true, Duration::from_secs(1)).0,
            Wake::TimedOut
        );
        let mute = FakeProcess::new("p");
        assert_eq!(settles(mute, false, Duration::ZERO).0, Wake::TimedOut);
    }
}
