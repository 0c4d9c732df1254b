//! The script of one fake process.

use std::collections::VecDeque;
use std::time::Duration;

use crate::processes::{
    Cause, Chunk, Error, ExitStatus, ListeningPort, Saved, Screen, Snapshot, State, Survivor,
    WaitOptions, Waited, Wake,
};

/// How much output each window of a snapshot holds, as in the contract.
const WINDOW: usize = 32 * 1024;

/// A fake process, and the script of the events in its life.
///
/// A script is read from left to right. Events before the first wait have happened when the process is first seen;
/// those after a wait have happened as soon as that wait has returned. A wait that is not in the script returns
/// because the process has ended, or because its timeout is over.
///
/// ```
/// use toolhost_sdk::processes::{Error, Wake};
/// use toolhost_sdk::testing::FakeProcess;
///
/// // Prints, runs into a timeout, prints more and exits.
/// FakeProcess::new("one").prints("Compiling…\n").wakes(Wake::TimedOut).prints("done\n").exits(0);
/// // The first wait fails; by then the process has exited.
/// FakeProcess::new("two").fails_to_wait(Error::Failed("EOF".into())).prints("hi\n").exits(0);
/// ```
#[derive(Debug, Clone)]
pub struct FakeProcess {
    pub(super) id: String,
    state: State,
    output: Vec<u8>,
    forgotten: usize,
    survivors: Vec<Survivor>,
    denials: Vec<String>,
    saved: Saved,
    script: VecDeque<Event>,
    snapshot_error: Option<Error>,
    read_error: Option<Error>,
    pub(super) signal_error: Option<Error>,
    pub(super) input_error: Option<Error>,
    takes_input: bool,
    screen: Option<Screen>,
    listens: Vec<ListeningPort>,
}

/// One thing in a script.
#[derive(Debug, Clone)]
enum Event {
    Prints(Vec<u8>),
    Becomes(State, Vec<Survivor>),
    Wakes(Result<Wake, Error>),
}

impl FakeProcess {
    /// Makes a process that runs and has printed nothing.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            state: State::Running,
            output: Vec::new(),
            forgotten: 0,
            survivors: Vec::new(),
            denials: Vec::new(),
            saved: Saved::None,
            script: VecDeque::new(),
            snapshot_error: None,
            read_error: None,
            signal_error: None,
            input_error: None,
            takes_input: false,
            screen: None,
            listens: Vec::new(),
        }
    }

    /// Prints these bytes.
    #[must_use]
    pub fn prints(self, output: impl AsRef<[u8]>) -> Self {
        self.then(Event::Prints(output.as_ref().to_vec()))
    }

    /// Exits with this code, and leaves nothing behind.
    #[must_use]
    pub fn exits(self, code: i32) -> Self {
        self.then(Event::Becomes(State::Exited(exited(code)), Vec::new()))
    }

    /// Is ended by a signal of this name, for example `SIGKILL`.
    #[must_use]
    pub fn is_ended_by(self, signal: &str, cause: Cause) -> Self {
        let status = ExitStatus {
            code: None,
            signal: Some(signal.to_owned()),
            cause,
        };
        self.then(Event::Becomes(State::Exited(status), Vec::new()))
    }

    /// The sandbox has likely denied this.
    #[must_use]
    pub fn denied(mut self, denials: &[&str]) -> Self {
        self.denials = denials.iter().map(|&denial| denial.to_owned()).collect();
        self
    }

    /// Exits with this code, while processes that it started live on.
    #[must_use]
    pub fn lingers(self, code: i32, survivors: &[(u32, &str)]) -> Self {
        let survivors = survivors.iter().map(|&(pid, command)| Survivor {
            pid,
            command: command.to_owned(),
        });
        self.then(Event::Becomes(
            State::Lingering(exited(code)),
            survivors.collect(),
        ))
    }

    /// Is lost with the host that ran it.
    #[must_use]
    pub fn is_lost(self, text: &str) -> Self {
        self.then(Event::Becomes(State::Lost(text.to_owned()), Vec::new()))
    }

    /// Listens on this port from the first look for it on, which a person opens at this address.
    #[must_use]
    pub fn listens_on(mut self, number: u16, url: Option<&str>) -> Self {
        self.listens.push(ListeningPort {
            number,
            url: url.map(str::to_owned),
            expires_at: url.map(|_| 1_800_000_000),
        });
        self
    }

    /// Lets the next wait return for this reason.
    #[must_use]
    pub fn wakes(self, wake: Wake) -> Self {
        self.then(Event::Wakes(Ok(wake)))
    }

    /// Lets the next wait fail.
    #[must_use]
    pub fn fails_to_wait(self, error: Error) -> Self {
        self.then(Event::Wakes(Err(error)))
    }

    /// Lets every snapshot fail.
    #[must_use]
    pub fn fails_to_snapshot(mut self, error: Error) -> Self {
        self.snapshot_error = Some(error);
        self
    }

    /// Lets every read fail.
    #[must_use]
    pub fn fails_to_read(mut self, error: Error) -> Self {
        self.read_error = Some(error);
        self
    }

    /// Lets every signal fail.
    #[must_use]
    pub fn fails_to_signal(mut self, error: Error) -> Self {
        self.signal_error = Some(error);
        self
    }

    /// Lets every input fail.
    #[must_use]
    pub fn fails_to_take_input(mut self, error: Error) -> Self {
        self.input_error = Some(error);
        self
    }

    /// Has an open standard input.
    #[must_use]
    pub fn takes_input(mut self) -> Self {
        self.takes_input = true;
        self
    }

    /// Has a terminal, which shows this, and whose input is open.
    #[must_use]
    pub fn shows(mut self, screen: Screen) -> Self {
        self.takes_input = true;
        self.screen = Some(screen);
        self
    }

    /// Says how far the full copy of the output goes.
    #[must_use]
    pub fn saved(mut self, saved: Saved) -> Self {
        self.saved = saved;
        self
    }

    /// Makes the first bytes of the output unreadable.
    #[must_use]
    pub fn forgets(mut self, bytes: usize) -> Self {
        self.forgotten = bytes;
        self
    }

    fn then(mut self, event: Event) -> Self {
        self.script.push_back(event);
        self.advance();
        self
    }

    /// Lets everything happen that stands before the next wait.
    fn advance(&mut self) {
        while let Some(event) = self
            .script
            .pop_front_if(|event| !matches!(event, Event::Wakes(_)))
        {
            match event {
                Event::Prints(output) => self.output.extend(output),
                Event::Becomes(state, survivors) => {
                    (self.state, self.survivors) = (state, survivors)
                }
                Event::Wakes(_) => {}
            }
        }
    }

    pub(super) fn state(&self) -> State {
        self.state.clone()
    }

    pub(super) fn total(&self) -> u64 {
        self.output.len() as u64
    }

    pub(super) fn wait(&mut self, options: &WaitOptions) -> Result<Waited, Error> {
        let wake = match self.script.pop_front() {
            Some(Event::Wakes(wake)) => wake,
            _ if self.state != State::Running => Ok(Wake::Ended),
            _ if options.output && self.total() > options.since => Ok(Wake::Output),
            _ => Ok(Wake::TimedOut),
        };
        let before = (self.state(), self.total());
        self.advance();
        let wake = wake?;
        // Who is woken by the end sees it.
        let (state, total) = match wake {
            Wake::Ended => (self.state(), self.total()),
            _ => before,
        };
        let match_end = (wake == Wake::Matched).then_some(total);
        Ok(Waited {
            wake,
            state,
            total,
            match_end,
        })
    }

    /// Returns the ports on which it listens. A look that waits for the first one is a wait of the script.
    pub(super) fn listening(&mut self, timeout: Duration) -> Result<Vec<ListeningPort>, Error> {
        if self.listens.is_empty() && !timeout.is_zero() {
            self.wait(&WaitOptions::at_most(timeout))?;
        }
        Ok(self.listens.clone())
    }

    pub(super) fn snapshot(&self) -> Result<Snapshot, Error> {
        if let Some(error) = &self.snapshot_error {
            return Err(error.clone());
        }
        let (head, rest) = self.output.split_at(self.output.len().min(WINDOW));
        let (_, tail) = rest.split_at(rest.len().saturating_sub(WINDOW));
        Ok(Snapshot {
            state: self.state(),
            total: self.total(),
            head: head.to_vec(),
            tail: tail.to_vec(),
            survivors: self.survivors.clone(),
            saved: self.saved.clone(),
            denials: self.denials.clone(),
            takes_input: self.takes_input && self.state == State::Running,
            screen: self.screen.clone(),
        })
    }

    pub(super) fn read(&self, since: u64, max: u32) -> Result<Chunk, Error> {
        if let Some(error) = &self.read_error {
            return Err(error.clone());
        }
        let since = usize::try_from(since).unwrap_or(usize::MAX);
        let offset = since.max(self.forgotten).min(self.output.len());
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        let data: Vec<u8> = self.output.iter().copied().skip(offset).take(max).collect();
        let end = offset + data.len() == self.output.len() && self.state != State::Running;
        Ok(Chunk {
            offset: offset as u64,
            data,
            total: self.total(),
            end,
        })
    }
}

fn exited(code: i32) -> ExitStatus {
    ExitStatus {
        code: Some(code),
        signal: None,
        cause: Cause::Itself,
    }
}
