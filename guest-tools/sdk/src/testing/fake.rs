//! A chat's processes, all of them scripted.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use super::FakeProcess;
use crate::processes::{
    Chunk, Error, Info, ListeningPort, Process, Processes, Shell, Signal, Snapshot, StartOptions,
    State, TerminalSize, Trigger, WaitOptions, Waited, WaitedAny, Wake,
};

/// A signal that was sent: to which process, which one, and with which grace.
type Sent = (String, Signal, Option<Duration>);

/// A change of the standard input of a process.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// These bytes were written.
    Bytes(Vec<u8>),
    /// It was ended.
    Close,
    /// The terminal got this size.
    Resize(TerminalSize),
}

/// Stands in for the host's processes, follows a script, and remembers the requests.
///
/// ```
/// use toolhost_sdk::processes::{Processes, StartOptions};
/// use toolhost_sdk::testing::{FakeProcess, FakeProcesses};
///
/// let processes = FakeProcesses::new().starts(FakeProcess::new("p1").prints("hi\n").exits(0));
/// let process = processes.start(StartOptions { command: "echo hi".into(), ..Default::default() })?;
/// assert_eq!(process.snapshot()?.head, b"hi\n");
/// assert_eq!(processes.started()[0].command, "echo hi");
/// # Ok::<(), toolhost_sdk::processes::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct FakeProcesses {
    chat: Rc<RefCell<Chat>>,
}

#[derive(Debug, Default)]
struct Chat {
    shell: Option<Shell>,
    to_start: VecDeque<Result<FakeProcess, Error>>,
    known: Vec<Known>,
    list_error: Option<Error>,
    started: Vec<StartOptions>,
    waits: Vec<(String, WaitOptions)>,
    signals: Vec<Sent>,
    inputs: Vec<(String, Input)>,
    notices: Vec<(String, Trigger)>,
}

#[derive(Debug)]
struct Known {
    process: FakeProcess,
    options: StartOptions,
}

impl FakeProcesses {
    /// Makes a chat without processes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets this shell run the commands. Without it, bash does.
    #[must_use]
    pub fn runs_in(self, shell: Shell) -> Self {
        self.chat.borrow_mut().shell = Some(shell);
        self
    }

    /// Lets the next start give this process.
    #[must_use]
    pub fn starts(self, process: FakeProcess) -> Self {
        self.chat.borrow_mut().to_start.push_back(Ok(process));
        self
    }

    /// Lets the next start fail.
    #[must_use]
    pub fn fails_to_start(self, error: Error) -> Self {
        self.chat.borrow_mut().to_start.push_back(Err(error));
        self
    }

    /// Adds a process that an earlier call started in the background, with this command.
    #[must_use]
    pub fn has(self, process: FakeProcess, command: &str) -> Self {
        let options = StartOptions {
            command: command.to_owned(),
            background: true,
            ..StartOptions::default()
        };
        self.chat
            .borrow_mut()
            .known
            .push(Known { process, options });
        self
    }

    /// Lets every list fail.
    #[must_use]
    pub fn fails_to_list(self, error: Error) -> Self {
        self.chat.borrow_mut().list_error = Some(error);
        self
    }

    /// Returns the starts, also those that failed.
    #[must_use]
    pub fn started(&self) -> Vec<StartOptions> {
        self.chat.borrow().started.clone()
    }

    /// Returns the waits, each with its process.
    #[must_use]
    pub fn waits(&self) -> Vec<(String, WaitOptions)> {
        self.chat.borrow().waits.clone()
    }

    /// Returns which signals were sent to which process, and with which grace.
    #[must_use]
    pub fn signals(&self) -> Vec<Sent> {
        self.chat.borrow().signals.clone()
    }

    /// Returns what was done to the standard input of which process, also what failed.
    #[must_use]
    pub fn inputs(&self) -> Vec<(String, Input)> {
        self.chat.borrow().inputs.clone()
    }

    /// Returns the notices that were asked for, each with its process.
    #[must_use]
    pub fn notices(&self) -> Vec<(String, Trigger)> {
        self.chat.borrow().notices.clone()
    }

    fn handle(&self, id: String) -> Box<dyn Process> {
        Box::new(Handle {
            chat: Rc::clone(&self.chat),
            id,
        })
    }
}

impl Processes for FakeProcesses {
    fn shell(&self) -> Result<Shell, Error> {
        Ok(self.chat.borrow().shell.unwrap_or(Shell::Bash))
    }

    fn start(&self, options: StartOptions) -> Result<Box<dyn Process>, Error> {
        let mut chat = self.chat.borrow_mut();
        chat.started.push(options.clone());
        let process = chat.to_start.pop_front().unwrap_or_else(|| {
            Err(Error::Failed(format!(
                "the test has no script for the start of `{}`",
                options.command
            )))
        })?;
        let id = process.id.clone();
        chat.known.push(Known { process, options });
        drop(chat);
        Ok(self.handle(id))
    }

    fn open(&self, id: &str) -> Result<Box<dyn Process>, Error> {
        if !self
            .chat
            .borrow()
            .known
            .iter()
            .any(|known| known.process.id == id)
        {
            return Err(Error::NotFound);
        }
        Ok(self.handle(id.to_owned()))
    }

    fn list(&self, running_only: bool, max: u32) -> Result<(Vec<Info>, u32), Error> {
        let chat = self.chat.borrow();
        if let Some(error) = &chat.list_error {
            return Err(error.clone());
        }
        let alive =
            |known: &&Known| matches!(known.process.state(), State::Running | State::Lingering(_));
        let (alive, ended): (Vec<_>, Vec<_>) = chat.known.iter().rev().partition(alive);
        let shown: Vec<_> = if running_only {
            alive
        } else {
            [alive, ended].concat()
        };
        let total = u32::try_from(shown.len()).unwrap_or(u32::MAX);
        Ok((
            shown
                .into_iter()
                .take(max as usize)
                .map(Known::info)
                .collect(),
            total,
        ))
    }

    /// Waits for each process in turn, as its script has it, until one has ended.
    fn wait_any(&self, ids: &[&str], timeout: Duration) -> Result<WaitedAny, Error> {
        let mut wake = Wake::TimedOut;
        for (place, id) in (0..).zip(ids) {
            let waited = self.open(id)?.wait(&WaitOptions::at_most(timeout))?;
            if waited.wake == Wake::Ended {
                let ended = Some(place);
                return Ok(WaitedAny {
                    wake: Wake::Ended,
                    ended,
                });
            }
            if matches!(waited.wake, Wake::Clamped | Wake::Cancelled) {
                wake = waited.wake;
            }
        }
        Ok(WaitedAny { wake, ended: None })
    }
}

impl Known {
    fn info(&self) -> Info {
        let state = self.process.state();
        Info {
            id: self.process.id.clone(),
            command: self.options.command.clone(),
            workdir: self
                .options
                .workdir
                .clone()
                .unwrap_or_else(|| "/workspace".to_owned()),
            background: self.options.background,
            started_ms: 1_000_000,
            exited_ms: (state != State::Running).then_some(2_000_000),
            last_output_ms: (self.process.total() > 0).then_some(1_500_000),
            total: self.process.total(),
            state,
        }
    }
}

/// A handle to a process of the chat.
#[derive(Debug)]
struct Handle {
    chat: Rc<RefCell<Chat>>,
    id: String,
}

impl Handle {
    fn with<T>(&self, run: impl FnOnce(&mut FakeProcess) -> Result<T, Error>) -> Result<T, Error> {
        let mut chat = self.chat.borrow_mut();
        let known = chat
            .known
            .iter_mut()
            .find(|known| known.process.id == self.id)
            .ok_or(Error::NotFound)?;
        run(&mut known.process)
    }

    fn input(&self, input: Input) -> Result<State, Error> {
        self.chat.borrow_mut().inputs.push((self.id.clone(), input));
        self.with(|process| match &process.input_error {
            Some(error) => Err(error.clone()),
            None => Ok(process.state()),
        })
    }
}

impl Process for Handle {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn wait(&self, options: &WaitOptions) -> Result<Waited, Error> {
        self.chat
            .borrow_mut()
            .waits
            .push((self.id.clone(), options.clone()));
        self.with(|process| process.wait(options))
    }

    fn info(&self) -> Result<Info, Error> {
        let chat = self.chat.borrow();
        let known = chat.known.iter().find(|known| known.process.id == self.id);
        known.map(Known::info).ok_or(Error::NotFound)
    }

    fn snapshot(&self) -> Result<Snapshot, Error> {
        self.with(|process| process.snapshot())
    }

    fn read(&self, since: u64, max: u32) -> Result<Chunk, Error> {
        self.with(|process| process.read(since, max))
    }

    fn signal(&self, signal: Signal, grace: Option<Duration>) -> Result<State, Error> {
        self.chat
            .borrow_mut()
            .signals
            .push((self.id.clone(), signal, grace));
        self.with(|process| {
            process
                .signal_error
                .clone()
                .map_or_else(|| Ok(process.state()), Err)
        })
    }

    fn write(&self, data: &[u8]) -> Result<State, Error> {
        self.input(Input::Bytes(data.to_vec()))
    }

    fn close_input(&self) -> Result<State, Error> {
        self.input(Input::Close)
    }

    fn resize(&self, size: TerminalSize) -> Result<State, Error> {
        self.input(Input::Resize(size))
    }

    fn notify(&self, on: &Trigger) -> Result<String, Error> {
        self.with(|_| Ok(()))?;
        let mut chat = self.chat.borrow_mut();
        chat.notices.push((self.id.clone(), on.clone()));
        Ok(format!("notice_{}", chat.notices.len()))
    }

    fn listening(&self, timeout: Duration) -> Result<Vec<ListeningPort>, Error> {
        self.with(|process| process.listening(timeout))
    }
}
