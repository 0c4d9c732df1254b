//! The life of one process: reading its output, noticing its end, draining, lingering.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;

use super::contain::{Event, Watch};
use super::pipe_reader::{PipeReader, Taken};
use super::running::Process;
use super::{Cause, ending};

/// How long the output may be silent after the shell has exited before the process counts as drained.
///
/// Every chunk restarts this time, so the output of a hook that writes 80 ms after the shell is still read.
const DRAIN_IDLE: Duration = Duration::from_millis(100);

/// The longest time for draining in all: a grandchild that never stops writing must not hold up the reply.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// How long after the shell its processes may take to end. Until then they do not count as survivors: git tidies a repository for a
/// moment after a commit, a pool of workers ends after its script, and processes that were signalled take a moment to die.
const ENDS_MAX: Duration = Duration::from_millis(250);

/// The life of a process. One task moves it along, whether or not a caller waits for the process.
pub(super) struct Life {
    process: Arc<Process>,
    watch: Watch,
    /// `None` after the end of the output.
    reader: Option<PipeReader>,
    output_limit: u64,
    /// Whether no process is left that a signal could reach.
    gone: bool,
    /// The time that reading waited for the disk, which does not count against the process.
    stalled: Duration,
}

impl Life {
    pub(super) fn new(
        process: Arc<Process>,
        watch: Watch,
        reader: Option<PipeReader>,
        output_limit: u64,
    ) -> Self {
        Self {
            process,
            watch,
            reader,
            output_limit,
            gone: false,
            stalled: Duration::ZERO,
        }
    }

    /// Moves the process along until it has finished: its shell has exited, and its output is read. Returns the life if a
    /// process outlives the shell; the caller then calls [`Life::outlive`].
    pub(super) async fn finish(mut self) -> Option<Self> {
        self.until_exit().await;
        let patience = Instant::now() + ENDS_MAX;
        self.drain().await;
        self.last_ends(patience).await;
        self.settle();
        self.lingers().then_some(self)
    }

    /// Moves the process along until nothing is left of it.
    pub(super) async fn outlive(mut self) {
        self.linger().await;
        self.process.update(|progress| progress.lingering = false);
    }

    /// Reads output until the shell exits. The end of the output is not the end of the process.
    async fn until_exit(&mut self) {
        while !self.process.has_exited() {
            self.step(None).await;
        }
    }

    /// Reads the output that the ended shell and its children still write, for a bounded time.
    async fn drain(&mut self) {
        let last = Instant::now() + DRAIN_MAX;
        let mut idle = Instant::now() + DRAIN_IDLE;
        self.stalled = Duration::ZERO;
        while self.reader.is_some() && Instant::now() < last + self.stalled {
            match self.step(Some(idle.min(last + self.stalled))).await {
                Step::Output => idle = Instant::now() + DRAIN_IDLE,
                Step::Event => {}
                Step::Silence => return,
            }
        }
    }

    /// Waits a moment for the processes that are about to end after the shell.
    async fn last_ends(&mut self, patience: Instant) {
        self.process.contained.release();
        while !self.gone && Instant::now() < patience {
            self.step(Some(patience)).await;
        }
    }

    /// Marks the process as finished, whether or not another process outlives its shell.
    fn settle(&mut self) {
        // The event that nothing is left usually came with the exit.
        while let Some(event) = self.watch.next(&self.process.contained).now_or_never() {
            self.note(event);
        }
        self.gone |= self.process.contained.is_empty(Duration::ZERO);
        let lingers = self.lingers();
        self.process.explain_denials();
        self.process.update(|progress| {
            progress.lingering = lingers;
            progress.drained = true;
        });
    }

    fn lingers(&self) -> bool {
        !self.gone || self.reader.is_some()
    }

    /// Reads the output of the processes that outlive the shell, until none is left that writes or that signals can reach.
    async fn linger(&mut self) {
        while !self.gone {
            self.step(None).await;
            if self.reader.is_none() && !self.gone {
                // Usually no process is left when the output has ended.
                self.gone = self.process.contained.is_empty(Duration::ZERO);
            }
        }
        if self.process.contained.can_be_left() {
            self.outlast().await;
        }
        // A process that still holds the pipe is not of this command: it was handed the pipe.
        self.drain().await;
        self.end_output();
    }

    /// Reads on while a process that no signal reaches holds the pipe. Stops if all reachable processes were killed, so that the
    /// caller of the kill does not wait.
    async fn outlast(&mut self) {
        while self.reader.is_some() {
            if self.process.was_killed() {
                tracing::warn!(
                    process = self.process.id(),
                    "a process of the command left its process group and may still run"
                );
                return;
            }
            self.step(Some(Instant::now() + DRAIN_IDLE)).await;
        }
    }

    /// Waits for output or an event, at the longest until `until` if it is given.
    async fn step(&mut self, until: Option<Instant>) -> Step {
        let silence = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        let readable = async {
            match &self.reader {
                Some(reader) => reader.readable().await,
                None => std::future::pending().await,
            }
        };
        // Only waits are cancelled here; the work on their results is below and is never dropped. The order matters: a flood
        // of output does not hide events, and after a stall, available output does not count as silence.
        tokio::select! {
            biased;
            event = self.watch.next(&self.process.contained) => {
                self.note(event);
                Step::Event
            }
            ready = readable => {
                self.read(ready).await;
                Step::Output
            }
            () = silence => Step::Silence,
        }
    }

    /// Takes one chunk from the pipe.
    async fn read(&mut self, ready: io::Result<()>) {
        let Some(reader) = &mut self.reader else {
            return;
        };
        let taken = match ready {
            Ok(()) => reader.take(&self.process).await,
            Err(error) => Err(error),
        };
        let total = match taken {
            Ok(Taken::Nothing) => return,
            Ok(Taken::Pushed(total)) => total,
            Ok(Taken::ToSave(bytes)) => {
                // Save before showing: a cursor must never meet bytes that neither memory nor the saved output has.
                let begun = Instant::now();
                self.process.saved.append(bytes.clone()).await;
                self.stalled += begun.elapsed();
                self.process.push(&bytes)
            }
            Ok(Taken::End) => return self.end_output(),
            Err(error) => {
                tracing::warn!(process = self.process.id(), %error, "failed to read output");
                return self.end_output();
            }
        };
        if total > self.output_limit
            && (!self.process.was_killed() || self.process.contained.can_be_left())
        {
            ending::kill_for(&self.process, Cause::OutputLimit);
        }
    }

    fn end_output(&mut self) {
        if self.reader.take().is_some() {
            self.process.update(|progress| progress.output_ended = true);
        }
    }

    fn note(&mut self, event: Event) {
        match event {
            // The supervisor of a kept command tells each host how the shell ended.
            Event::Exited(_) if self.process.has_exited() => {}
            Event::Exited(exit) => {
                let out_of_memory = self.process.contained.ran_out_of_memory();
                self.process
                    .update(|progress| progress.exited(exit, out_of_memory));
            }
            Event::Gone => self.gone = true,
            Event::Lost(why) => {
                tracing::warn!(process = self.process.id(), "lost: {why}");
                self.gone = true;
                self.process.update(|progress| {
                    if progress.exit.is_none() {
                        progress.lose(why);
                    }
                });
            }
        }
    }
}

/// The result of a step.
enum Step {
    Output,
    Event,
    Silence,
}
