//! Ending a process: signals, the grace, and the kill that follows.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::running::Process;
use super::{Cause, Error, Signal, State};

/// The time that a killed process has to disappear before it is given up. Only processes that are stuck in the kernel take that
/// long.
const KILL_MAX: Duration = Duration::from_secs(4);

/// The time that a supervisor has to answer that it is killing, before it is killed as well.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// The longest grace: an [`Instant`] cannot be arbitrarily far away.
const GRACE_MAX: Duration = Duration::from_hours(24);

/// How often a kill is repeated.
const KILL_ROUND: Duration = Duration::from_millis(50);

/// The greatest age of a look at all processes while a task waits for an end.
const END_LOOK: Duration = Duration::from_millis(20);

/// Sends a signal. A task sends SIGKILL to the processes that are left after the grace of SIGTERM; this does not wait for it.
pub(super) fn signal(
    process: &Arc<Process>,
    signal: Signal,
    grace: Duration,
) -> Result<State, Error> {
    let state = process.send(signal, Cause::Signalled)?;
    if !state.is_live() {
        return Ok(state);
    }
    match signal {
        Signal::Terminate => kill_after(process, grace),
        // One signal is not enough if the command forks meanwhile, or has stopped its supervisor.
        Signal::Kill => kill_after(process, Duration::ZERO),
        _ => {}
    }
    Ok(state)
}

/// Kills a process that wrote too much, and does not wait for its end.
pub(super) fn kill_for(process: &Arc<Process>, cause: Cause) {
    if let Err(error) = process.send(Signal::Kill, cause) {
        tracing::debug!(process = process.id(), %error, "failed to kill a process");
    }
    kill_after(process, Duration::ZERO);
}

/// Kills a process after the grace, in a task: one for each process, however often it is asked to end. The earliest time counts.
fn kill_after(process: &Arc<Process>, grace: Duration) {
    let kill_at = Instant::now() + grace.min(GRACE_MAX);
    let earlier = {
        let mut progress = process.progress();
        let earlier = progress.kill_at;
        progress.kill_at = Some(earlier.map_or(kill_at, |earlier| earlier.min(kill_at)));
        earlier
    };
    if earlier.is_none() {
        tokio::spawn(kill_in_time(Arc::clone(process)));
    }
}

/// Kills a process at the moment that its progress names, unless it is gone before.
async fn kill_in_time(process: Arc<Process>) {
    /// The longest time until an earlier moment is noticed.
    const STEP: Duration = Duration::from_millis(100);
    let left = || {
        let kill_at = process.progress().kill_at;
        kill_at.map_or(Duration::ZERO, |at| {
            at.saturating_duration_since(Instant::now())
        })
    };
    while !gone_within(&process, left().min(STEP)).await {
        if left().is_zero() {
            kill(&process, Cause::Signalled).await;
            break;
        }
    }
    process.progress().kill_at = None;
}

/// Ends a process and waits until no process is left that signals can reach. When `kill_now` is cancelled, the grace is over.
pub(super) async fn end(
    process: &Process,
    grace: Duration,
    kill_now: &CancellationToken,
    cause: Cause,
) {
    let grace = grace.min(GRACE_MAX);
    if !grace.is_zero() && !kill_now.is_cancelled() {
        if let Err(error) = process.send(Signal::Terminate, cause) {
            tracing::debug!(process = process.id(), %error, "failed to terminate a process");
        }
        tokio::select! {
            gone = gone_within(process, grace) => if gone { return },
            () = kill_now.cancelled() => {}
        }
    }
    kill(process, cause).await;
}

/// Kills until no process is left: the next round reaches processes that were forked meanwhile.
async fn kill(process: &Process, cause: Cause) {
    let begun = Instant::now();
    while begun.elapsed() < KILL_MAX {
        if let Err(error) = process.send(Signal::Kill, cause) {
            tracing::debug!(process = process.id(), %error, "failed to kill a process");
        }
        if gone_within(process, KILL_ROUND).await {
            return;
        }
        process
            .contained
            .kill_stalled_supervisor(begun.elapsed() > ANSWER_MAX);
    }
    tracing::warn!(process = process.id(), command = ?process.command(), "could not be killed");
}

/// Waits until no process is left. Looks after every change and in short rounds, as the end of the orphans of a process group
/// is no event.
async fn gone_within(process: &Process, time: Duration) -> bool {
    let deadline = Instant::now() + time;
    let mut changed = process.changed.subscribe();
    let mut pause = Duration::from_millis(1);
    loop {
        changed.mark_unchanged();
        if process.contained.is_empty(END_LOOK) {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        let next = (Instant::now() + pause).min(deadline);
        _ = tokio::time::timeout_at(next, changed.changed()).await;
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
