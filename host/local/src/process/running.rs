//! One process: the questions and requests that it takes while its task (see `lifecycle`) moves it along.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::Instant;

use super::contain::{Contained, Exit, InputEnd};
use super::counts::Counts;
use super::drawing::{Drawing, Turns};
use super::input::Slot;
use super::record::Record;
use super::saved::SavedOutput;
use super::subscribers::Subscribers;
use super::{
    Capture, Cause, Denials, Error, ExitStatus, Info, ProcessEvent, Signal, Size, State, Subject,
};
use toolhost_sandbox::Sandbox;
use toolhost_state::id::ChatId;

/// One command with everything that it started.
#[derive(Debug)]
pub struct Process {
    pub(super) record: Record,
    pub(super) contained: Contained,
    pub(super) progress: Mutex<Progress>,
    pub(super) saved: Arc<SavedOutput>,
    counts: Arc<Counts>,
    /// Notified after every change of the state.
    pub(super) changed: watch::Sender<()>,
    /// Notified after every chunk of output. Separate from `changed`, so that a caller that waits for the end of a command
    /// is not woken by each line of output: a waiting guest would pay for that with its time.
    pub(super) grown: watch::Sender<()>,
    /// Receive every change and every chunk of output as an event.
    subscribers: Subscribers,
    /// When the time ends that the caller means to wait for the process.
    pub(super) deadline: Option<Instant>,
    /// The standard input, while the host may write to it.
    pub(super) input: Arc<tokio::sync::Mutex<Slot>>,
    /// The screen of its terminal, if it has one.
    pub(super) drawing: Option<Arc<Drawing>>,
    /// Keeps the id that the caller chose from being used again.
    pub(super) reserved: Option<Arc<()>>,
    /// The sandbox of the command, if it has one, until nothing is left of the command: the sandbox has descriptors.
    pub(super) sandbox: Mutex<Option<Arc<Sandbox>>>,
}

/// The state that changes while a process runs.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) capture: Capture,
    /// How the shell ended, once it did.
    pub(super) exit: Option<ExitStatus>,
    /// The reason why it is unknown how the shell ended.
    pub(super) lost: Option<String>,
    /// How the process ended, if an earlier host stored that.
    pub(super) recorded: Option<State>,
    /// Whether the output of the ended shell was drained: from then on the process counts as finished.
    pub(super) drained: bool,
    /// Whether a process outlives the shell.
    pub(super) lingering: bool,
    /// Whether the end of the output was read.
    pub(super) output_ended: bool,
    /// When the shell ended.
    pub(super) ended: Option<SystemTime>,
    /// When no process was left.
    pub(super) over: Option<(SystemTime, Instant)>,
    pub(super) last_output: Option<SystemTime>,
    /// The signals that were sent through this host, each with the cause of the first time.
    pub(super) sent: Vec<(Signal, Cause)>,
    /// When a process that was asked to end is killed.
    pub(super) kill_at: Option<Instant>,
    /// Whether its output is no longer kept.
    pub(super) expired: bool,
    /// What the sandbox has likely denied.
    pub(super) denials: Vec<String>,
}

impl Process {
    /// Makes a process that was just started. [`Process::announce`] tells the subscribers of it.
    pub(super) fn started(
        record: Record,
        contained: Contained,
        saved: Arc<SavedOutput>,
        counts: Arc<Counts>,
        subscribers: Subscribers,
    ) -> Self {
        counts.started();
        Self::new(record, contained, saved, counts, subscribers)
    }

    /// Makes a process that an earlier host started, and this one took over.
    pub(super) fn adopted(
        record: Record,
        contained: Contained,
        saved: Arc<SavedOutput>,
        progress: Progress,
        (counts, subscribers): (Arc<Counts>, Subscribers),
    ) -> Self {
        Self {
            progress: Mutex::new(progress),
            ..Self::new(record, contained, saved, counts, subscribers)
        }
    }

    fn new(
        record: Record,
        contained: Contained,
        saved: Arc<SavedOutput>,
        counts: Arc<Counts>,
        subscribers: Subscribers,
    ) -> Self {
        Self {
            record,
            contained,
            progress: Mutex::default(),
            saved,
            counts,
            changed: watch::Sender::new(()),
            grown: watch::Sender::new(()),
            subscribers,
            deadline: None,
            input: Arc::default(),
            drawing: None,
            reserved: None,
            sandbox: Mutex::default(),
        }
    }

    /// Tells the subscribers that this process was started. Call it once the process can be found, and before its state changes.
    pub(super) fn announce(&self) {
        self.tell(ProcessEvent::Started {
            command: self.command(),
            workdir: &self.record.workdir,
            background: self.record.background,
        });
    }

    /// Makes a process that ran under an earlier host, and is known from its store.
    pub(super) fn recovered(record: Record, saved: Arc<SavedOutput>, progress: Progress) -> Self {
        // The process has ended, so it has counts and subscribers of its own, which nothing reads.
        let (counts, subscribers) = (Arc::default(), Subscribers::default());
        Self {
            progress: Mutex::new(progress),
            ..Self::new(record, Contained::Past, saved, counts, subscribers)
        }
    }

    /// Lets callers write to the standard input, and draws the screen of a terminal of this size. Must be called within a tokio runtime.
    pub(super) fn open_input(&mut self, end: Option<InputEnd>, size: Option<Size>, turns: &Turns) {
        if let Some(end) = end
            // Nobody else has it yet.
            && let Ok(mut slot) = self.input.try_lock()
            && let Err(error) = slot.open(end)
        {
            tracing::error!(process = self.id(), %error, "the input of a process cannot be used");
        }
        let input = Arc::clone(&self.input);
        self.drawing = size.map(|size| Drawing::new(size, Arc::clone(turns), input));
    }

    /// Returns the id, unique in this host.
    pub fn id(&self) -> &str {
        &self.record.id
    }

    /// Returns the chat that it belongs to; `None` if it was started for no chat.
    pub fn chat(&self) -> Option<&ChatId> {
        self.record.chat.as_ref()
    }

    /// Returns the command as it was started, cut at 2 KiB.
    pub fn command(&self) -> &str {
        &self.record.command
    }

    /// Returns the key of its start, as [`Command::key`](super::Command::key) says; `None` if it had none. The key of a process
    /// of an earlier host is known as well.
    pub fn key(&self) -> Option<&str> {
        self.record.key.as_deref()
    }

    /// Returns the state of the process.
    pub fn state(&self) -> State {
        self.progress().state()
    }

    /// Returns how long the shell ran until `ended`, or has run so far if it has not ended.
    fn ran(&self, ended: Option<SystemTime>) -> Duration {
        let ended = ended.unwrap_or_else(SystemTime::now);
        let ran = ended.duration_since(self.record.started);
        ran.unwrap_or_default()
    }

    /// Returns the entry of this process in a list.
    pub fn info(&self) -> Info {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        let progress = self.progress();
        Info {
            id: self.record.id.clone(),
            command: self.record.command.clone(),
            workdir: self.record.workdir.clone(),
            background: self.record.background,
            key: self.record.key.clone(),
            state: progress.state(),
            started: self.record.started,
            exited: progress.ended,
            ran: self.ran(progress.ended),
            time_left: self.deadline.map(left),
            expired: progress.expired,
            last_output: progress.last_output,
            total: progress.capture.total(),
        }
    }

    /// Sends one signal to every process and returns the state just before it. A caller that signals an ended process sees that
    /// it had ended; a process that the signal ends at once is returned as still live.
    pub(super) fn send(&self, signal: Signal, cause: Cause) -> Result<State, Error> {
        let state = {
            let mut progress = self.progress();
            let state = progress.state();
            if !state.is_live() {
                return Ok(state);
            }
            if progress.sent_for(signal).is_none() {
                progress.sent.push((signal, cause));
            }
            state
        };
        // Without the lock: finding the members takes a while. The containment keeps signals and reaping apart.
        self.contained
            .signal(nix_signal(signal))
            .map_err(|error| Error::Failed(format!("signal process: {error}")))?;
        Ok(state)
    }

    /// Returns whether everything that a signal can reach was killed through this host.
    pub(super) fn was_killed(&self) -> bool {
        self.progress().sent_for(Signal::Kill).is_some()
    }

    /// Returns whether everything that a signal can reach was told to end, or killed, through this host.
    pub(super) fn was_told_to_end(&self) -> bool {
        let progress = self.progress();
        [Signal::Kill, Signal::Terminate]
            .iter()
            .any(|signal| progress.sent_for(*signal).is_some())
    }

    /// Returns whether the end of its shell is known, or known to be lost.
    pub(super) fn has_exited(&self) -> bool {
        let progress = self.progress();
        progress.exit.is_some() || progress.lost.is_some()
    }

    /// Returns whether the command runs in this sandbox.
    pub(super) fn is_in(&self, sandbox: &Weak<Sandbox>) -> bool {
        let own = self.sandbox.lock();
        let own = own.as_ref().map(Arc::as_ptr);
        own == Some(sandbox.as_ptr()) && self.state().is_live()
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock()
    }

    /// Finds out what the sandbox has likely denied, as far as the output in memory tells.
    pub(super) fn explain_denials(&self) {
        let Some(sandbox) = self.sandbox.lock().clone() else {
            return;
        };
        let (head, tail) = {
            let progress = self.progress();
            (progress.capture.head(), progress.capture.tail())
        };
        let denials = sandbox.denials(&[head, tail].concat());
        if !denials.is_empty() {
            self.subscribers.tell_denials(Denials {
                chat: self.record.chat.as_ref(),
                process: Some(self.id()),
                texts: &denials,
                certain: false,
            });
            self.progress().denials = denials;
        }
    }

    /// Changes the state and notifies all waiting tasks.
    pub(super) fn update(&self, change: impl FnOnce(&mut Progress)) {
        {
            let mut progress = self.progress();
            let before = progress.state();
            change(&mut progress);
            let after = progress.state();
            // Tell the subscribers before any other task can see the change, so that events it causes come after this one.
            if before != after {
                self.tell(ProcessEvent::Changed {
                    state: &after,
                    total: progress.capture.total(),
                });
            }
        }
        self.changed.send_replace(());
    }

    /// Adds output, notifies the tasks that wait for output, and returns the total number of bytes.
    pub(super) fn push(&self, bytes: &[u8]) -> u64 {
        self.counts.output(bytes.len());
        let total = {
            let mut progress = self.progress();
            progress.capture.push(bytes);
            progress.last_output = Some(SystemTime::now());
            progress.capture.total()
        };
        if let Some(drawing) = &self.drawing {
            drawing.add(bytes);
        }
        self.grown.send_replace(());
        let length = bytes.len() as u64;
        self.tell(ProcessEvent::Output {
            offset: total.saturating_sub(length),
            length,
        });
        total
    }

    fn tell(&self, event: ProcessEvent<'_>) {
        self.subscribers.tell(self.subject(), event);
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            id: self.id(),
            chat: self.chat(),
            key: self.key(),
        }
    }
}

impl Progress {
    pub(super) fn state(&self) -> State {
        if let Some(state) = &self.recorded {
            return state.clone();
        }
        match (&self.exit, &self.lost) {
            _ if !self.drained => State::Running,
            (Some(exit), _) if self.lingering => State::Lingering(exit.clone()),
            (Some(exit), _) => State::Exited(exit.clone()),
            (None, Some(why)) => State::Lost(why.clone()),
            (None, None) => State::Running,
        }
    }

    /// Notes how the shell ended. Only the signals that were sent until now can be the cause: later ones are for the processes
    /// that outlive the shell.
    pub(super) fn exited(&mut self, exit: Exit, out_of_memory: bool) {
        let sent = match exit {
            Exit::Signal(number) => {
                let is_it = |(signal, _): &&(Signal, Cause)| nix_signal(*signal) as i32 == number;
                self.sent.iter().find(is_it).map(|(_, cause)| *cause)
            }
            // A handler of SIGTERM that cleans up and exits by itself was still asked to end.
            Exit::Code(_) => self.sent_for(Signal::Terminate),
        };
        let starved = out_of_memory && matches!(exit, Exit::Signal(SIGKILL) | Exit::Code(KILLED));
        let cause = sent.unwrap_or(if starved {
            Cause::OutOfMemory
        } else {
            Cause::Itself
        });
        let (code, signal) = match exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(number) => (None, Some(signal_name(number))),
        };
        self.exit = Some(ExitStatus {
            code,
            signal,
            cause,
        });
        self.ended = Some(SystemTime::now());
    }

    /// Returns for which cause a signal was sent through this host, if it was.
    fn sent_for(&self, signal: Signal) -> Option<Cause> {
        let sent = self.sent.iter().find(|(sent, _)| *sent == signal);
        sent.map(|(_, cause)| *cause)
    }

    /// Notes that it is unknown how the shell ended.
    pub(super) fn lose(&mut self, why: &str) {
        self.lost = Some(why.to_owned());
        self.ended = Some(SystemTime::now());
    }
}

const SIGKILL: i32 = nix::libc::SIGKILL;

/// The exit code with which a shell reports that SIGKILL ended its last command.
const KILLED: i32 = 128 + SIGKILL;

/// Returns the name of a signal.
fn signal_name(number: i32) -> String {
    match nix::sys::signal::Signal::try_from(number) {
        Ok(signal) => signal.as_str().to_owned(),
        Err(_) => format!("SIGRTMIN+{}", number - nix::libc::SIGRTMIN()),
    }
}

fn nix_signal(signal: Signal) -> nix::sys::signal::Signal {
    use nix::sys::signal::Signal as Raw;
    match signal {
        Signal::Interrupt => Raw::SIGINT,
        Signal::Terminate => Raw::SIGTERM,
        Signal::Kill => Raw::SIGKILL,
        Signal::Hangup => Raw::SIGHUP,
        Signal::Quit => Raw::SIGQUIT,
        Signal::User1 => Raw::SIGUSR1,
        Signal::User2 => Raw::SIGUSR2,
    }
}
