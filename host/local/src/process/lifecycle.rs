//! The life of one process: reading its output, noticing its end, draining, lingering.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::time::Instant;

use super::contain::{Event, Watch};
use super::pipe_reader::{PipeBudget, PipeReader, Taken};
use super::running::Process;
use super::{Cause, ending};

/// How long the output may be silent after the shell has exited before the process counts as drained.
///
/// Every chunk starts it anew: a hook that writes 80 ms after the shell is still heard.
const DRAIN_IDLE: Duration = Duration::from_millis(100);

/// How long draining may take in all: a grandchild that never stops writing must not hold the reply.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// How long what was signalled together with a shell may take to die after it without counting as a survivor.
const DEATHS_MAX: Duration = Duration::from_millis(200);

/// The life of a process, as far as one task moves it along, whoever waits for the process.
pub(super) struct Life {
    process: Arc<Process>,
    watch: Watch,
    /// `None` after the end of the output.
    reader: Option<PipeReader>,
    output_limit: u64,
    /// Whether nothing is left that a signal could reach.
    gone: bool,
    /// How long reading waited for the disk. A process is not to blame for that.
    stalled: Duration,
}

impl Life {
    pub(super) fn new(
        process: Arc<Process>,
        watch: Watch,
        output: pipe::Receiver,
        budget: PipeBudget,
        output_limit: u64,
    ) -> Self {
        Self {
            process,
            watch,
            reader: Some(PipeReader::new(output, budget)),
            output_limit,
            gone: false,
            stalled: Duration::ZERO,
        }
    }

    /// Moves the process along until it has finished: its shell has exited, and its output is read. Returns what is to be done
    /// if something outlives the shell.
    pub(super) async fn finish(mut self) -> Option<Self> {
        self.until_exit().await;
        self.drain().await;
        self.last_deaths().await;
        self.settle();
        self.lingers().then_some(self)
    }

    /// Moves it along until nothing is left of it.
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

    /// Reads what the ended shell and its children still write, for a bounded time.
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

    /// Waits a moment for the rest of what was told to end together with its shell: it is no survivor, it dies.
    async fn last_deaths(&mut self) {
        let patience = Instant::now() + DEATHS_MAX;
        while !self.gone && self.process.was_told_to_end() && Instant::now() < patience {
            self.step(Some(patience)).await;
        }
    }

    /// Says that the process has finished for everyone, whether or not something outlives its shell.
    fn settle(&mut self) {
        self.process.contained.release();
        // The news that nothing is left mostly came with the exit.
        while let Some(event) = now(self.watch.next(&self.process.contained)) {
            self.note(event);
        }
        self.gone |= self.process.contained.is_empty(Duration::ZERO);
        let lingers = self.lingers();
        self.process.update(|progress| {
            progress.lingering = lingers;
            progress.drained = true;
        });
    }

    fn lingers(&self) -> bool {
        !self.gone || self.reader.is_some()
    }

    /// Goes on reading what outlives the shell, until nothing is left that writes or that signals can reach.
    async fn linger(&mut self) {
        while !self.gone {
            self.step(None).await;
            if self.reader.is_none() && !self.gone {
                // Mostly that was the last of it.
                self.gone = self.process.contained.is_empty(Duration::ZERO);
            }
        }
        if self.process.contained.can_be_left() {
            self.outlast().await;
        }
        // Whatever holds the pipe now is not of this command: it was handed the pipe.
        self.drain().await;
        self.end_output();
    }

    /// Reads on where something that no signal reaches holds the pipe, unless all that a signal reaches was killed: who asked
    /// for that is not kept waiting.
    async fn outlast(&mut self) {
        while self.reader.is_some() {
            if self.process.was_killed() {
                tracing::warn!(
                    process = self.process.id(),
                    "something that it started left its process group and may still run"
                );
                return;
            }
            self.step(Some(Instant::now() + DRAIN_IDLE)).await;
        }
    }

    /// Waits for output or news, until a moment if one is given.
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
        // What is awaited here can be dropped; what is done about it below cannot, and is not. In this order: a flood does not
        // hide the news, and after a stall, output that is there is no silence.
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
            Ok(()) => reader.take(&self.process),
            Err(error) => Err(error),
        };
        let total = match taken {
            Ok(Taken::Nothing) => return,
            Ok(Taken::Pushed(total)) => total,
            Ok(Taken::ToSave(bytes)) => {
                // Saved before it shows: a cursor never meets bytes that neither memory nor the saved output has.
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

/// What a step saw.
enum Step {
    Output,
    Event,
    Silence,
}

/// Returns the output of a future that is ready, without waiting for one that is not.
fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    futures_util::FutureExt::now_or_never(future)
}
