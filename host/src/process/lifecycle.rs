//! The life of one process: reading its output, noticing its end, draining, lingering, and being ended.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::running::Process;
use super::{Cause, Error, Signal, State};

/// How long the output may be silent after the shell has exited before the process counts as drained.
///
/// Every chunk starts it anew: a hook that writes 80 ms after the shell is still heard.
const DRAIN_IDLE: Duration = Duration::from_millis(100);

/// How long draining may take in all: a grandchild that never stops writing must not hold the reply.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// How long a killed group may take to disappear before it is given up, which happens to processes stuck in the kernel.
const KILL_MAX: Duration = Duration::from_secs(2);

/// How often what outlives a shell is looked for: orphans are nobody's children here, so their end is no event.
const LINGER_LOOK: Duration = Duration::from_millis(500);

/// How old a look at all processes may be while an end is waited for.
const END_LOOK: Duration = Duration::from_millis(20);

/// How much is read at once. It is also the size of the kernel's pipe.
const READ: usize = 64 * 1024;

/// Moves a process along until nothing is left of it. Runs as a task of its own, whoever waits for the process.
pub(super) async fn supervise(
    process: Arc<Process>,
    pidfd: OwnedFd,
    output: pipe::Receiver,
    output_limit: u64,
) {
    let mut reader = Some(output);
    if let Err(error) = until_exit(&process, pidfd, &mut reader, output_limit).await {
        // It cannot be watched, which is a fault of the system: it is ended rather than left alone.
        tracing::error!(process = process.id(), %error, "failed to wait for a process");
        while let Ok(None) = process.group.peek_exit() {
            _ = process.send(Signal::Kill, Cause::Shutdown);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    drain(&process, &mut reader, output_limit).await;
    let exit = process.group.peek_exit().ok().flatten();
    process.group.reap();
    let group_lives = !process.group.is_empty(Duration::ZERO);
    process.update(|progress| {
        progress.exit = progress
            .exit
            .or(exit)
            .or(Some(super::group::Exit::Code(-1)));
        progress.lingering = group_lives || reader.is_some();
        progress.drained = true;
    });
    if group_lives || reader.is_some() {
        linger(&process, &mut reader, output_limit).await;
        process.update(|progress| progress.lingering = false);
    }
}

/// Goes on reading what outlives the shell, until nothing is left that writes or that signals can reach.
async fn linger(process: &Process, reader: &mut Option<pipe::Receiver>, limit: u64) {
    let mut look = tokio::time::interval(LINGER_LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let ended = tokio::select! {
            more = read(process, reader, limit), if reader.is_some() => !more,
            _ = look.tick() => false,
        };
        // Looked at now and then only, and at once where the output ended: mostly that was the last of it.
        let max_age = if ended {
            Duration::ZERO
        } else {
            LINGER_LOOK / 2
        };
        let gone = |max_age| process.group.is_empty(max_age);
        if reader.is_none() && gone(max_age) {
            return;
        }
        // What left the group still holds the pipe, and no signal reaches it. Who asked for a kill is not kept waiting.
        if reader.is_some() && process.was_killed() && gone(LINGER_LOOK / 2) {
            tracing::warn!(
                process = process.id(),
                "something that it started left its process group and may still run"
            );
            return;
        }
    }
}

/// Reads output until the shell exits. The end of the output is not the end of the process.
async fn until_exit(
    process: &Process,
    pidfd: OwnedFd,
    reader: &mut Option<pipe::Receiver>,
    limit: u64,
) -> io::Result<()> {
    let pidfd = watch(pidfd)?;
    let exit = loop {
        tokio::select! {
            // Output first: a shell that has exited still has a pipe to drain, and a full pipe stops it from exiting.
            biased;
            true = read(process, reader, limit), if reader.is_some() => {}
            ready = pidfd.readable() => {
                let mut ready = ready?;
                if let Some(exit) = process.group.peek_exit()? {
                    break exit;
                }
                ready.clear_ready();
            }
        }
    };
    process.update(|progress| {
        progress.exit = Some(exit);
        progress.exited = Some((SystemTime::now(), Instant::now()));
    });
    Ok(())
}

/// Makes the end of a process an event of the runtime.
#[expect(
    unsafe_code,
    reason = "tokio wants a promise that the descriptor stays open while it is watched"
)]
fn watch(pidfd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` has one descriptor for as long as it lives, and the `AsyncFd` owns it.
    Ok(unsafe { AsyncFd::register(pidfd) }?)
}

/// Reads what the ended shell and its children still write, for a bounded time.
async fn drain(process: &Process, reader: &mut Option<pipe::Receiver>, limit: u64) {
    let last = Instant::now() + DRAIN_MAX;
    while reader.is_some() {
        let idle = (Instant::now() + DRAIN_IDLE).min(last);
        if tokio::time::timeout_at(idle, read(process, reader, limit))
            .await
            .is_err()
        {
            return;
        }
    }
}

/// Reads one chunk. Returns false, and drops the reader, at the end of the output. Cancel safe: a chunk is either captured
/// or still in the pipe.
async fn read(process: &Process, reader: &mut Option<pipe::Receiver>, limit: u64) -> bool {
    let Some(pipe) = reader.as_ref() else {
        return false;
    };
    let result = match pipe.readable().await {
        Ok(()) => capture_ready(process, pipe),
        Err(error) => Err(error),
    };
    match result {
        Ok(Some(total)) => {
            if total > limit {
                _ = process.send(Signal::Kill, Cause::OutputLimit);
            }
            true
        }
        Ok(None) => {
            *reader = None;
            process.update(|progress| progress.output_ended = true);
            false
        }
        Err(error) => {
            tracing::warn!(process = process.id(), %error, "failed to read output");
            *reader = None;
            process.update(|progress| progress.output_ended = true);
            false
        }
    }
}

/// Takes what is in the pipe and returns how much was written in all, or `None` at the end of the output.
fn capture_ready(process: &Process, pipe: &pipe::Receiver) -> io::Result<Option<u64>> {
    // On the stack, not in the task: a thousand idle processes hold no buffer.
    let mut buffer = [0; READ];
    match pipe.try_read(&mut buffer) {
        Ok(0) => Ok(None),
        Ok(count) => Ok(Some(process.push(buffer.get(..count).unwrap_or_default()))),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Some(0)),
        Err(error) => Err(error),
    }
}

/// Sends a signal. SIGTERM becomes SIGKILL for whatever is left after the grace, without anyone waiting for that.
pub(super) fn signal(
    process: &Arc<Process>,
    signal: Signal,
    grace: Duration,
) -> Result<State, Error> {
    let state = process.send(signal, Cause::Signalled)?;
    if signal == Signal::Terminate && state.is_live() {
        let kill_at = Instant::now() + grace;
        // One task for a process, however often it is asked to end; the earliest moment counts.
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
    Ok(state)
}

/// Kills a process at the moment that its progress names, unless it is gone before.
async fn kill_in_time(process: Arc<Process>) {
    /// How late an earlier moment may be noticed.
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

/// Ends a process and waits until nothing is left of it that signals can reach. Its grace is over at once when there is a
/// hurry.
pub(super) async fn end(
    process: &Process,
    grace: Duration,
    hurry: &CancellationToken,
    cause: Cause,
) {
    if !grace.is_zero() && !hurry.is_cancelled() {
        if let Err(error) = process.send(Signal::Terminate, cause) {
            tracing::debug!(process = process.id(), %error, "failed to terminate");
        }
        tokio::select! {
            gone = gone_within(process, grace) => if gone { return },
            () = hurry.cancelled() => {}
        }
    }
    kill(process, cause).await;
}

/// Kills until nothing is left: what forks while it is being killed is hit by the next round.
async fn kill(process: &Process, cause: Cause) {
    let give_up = Instant::now() + KILL_MAX;
    while Instant::now() < give_up {
        if let Err(error) = process.send(Signal::Kill, cause) {
            tracing::debug!(process = process.id(), %error, "failed to kill");
        }
        if gone_within(process, Duration::from_millis(50)).await {
            return;
        }
    }
    tracing::warn!(process = process.id(), command = ?process.command(), "could not be killed");
}

/// Waits until the shell was reaped and its group is empty. The end of the shell is an event; the end of its orphans, which
/// are not our children, is looked for in short rounds.
async fn gone_within(process: &Process, time: Duration) -> bool {
    let deadline = Instant::now() + time;
    let mut changed = process.changed.subscribe();
    let mut pause = Duration::from_millis(1);
    loop {
        changed.mark_unchanged();
        if process.group.is_empty(END_LOOK) {
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
