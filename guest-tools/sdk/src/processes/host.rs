//! The processes that the host runs.

use std::time::Duration;

use super::{
    Chunk, Error, Info, ListeningPort, Process, Processes, Restrictions, Shell, Signal, Snapshot,
    StartOptions, State, TerminalSize, Trigger, WaitOptions, Waited, WaitedAny,
};
use crate::bindings::processes::toolhost::plugin::processes as wit;

/// The processes that the host runs. Off WebAssembly there is no host, and everything is denied.
#[derive(Debug, Clone, Copy, Default)]
pub struct Host;

impl Processes for Host {
    fn shell(&self) -> Result<Shell, Error> {
        present()?;
        Ok(wit::current_shell()?)
    }

    fn start(&self, options: StartOptions) -> Result<Box<dyn Process>, Error> {
        present()?;
        let options = wit::StartOptions {
            command: options.command,
            workdir: options.workdir,
            env: options.env,
            background: options.background,
            stdin: options.stdin,
            without: options.without.into(),
        };
        Ok(Box::new(wit::start(&options)?))
    }

    fn open(&self, id: &str) -> Result<Box<dyn Process>, Error> {
        present()?;
        Ok(Box::new(wit::open(id)?))
    }

    fn list(&self, running_only: bool, max: u32) -> Result<(Vec<Info>, u32), Error> {
        present()?;
        Ok(wit::list_processes(running_only, max)?)
    }

    fn wait_any(&self, ids: &[&str], timeout: Duration) -> Result<WaitedAny, Error> {
        present()?;
        let opened: Result<Vec<_>, _> = ids.iter().map(|id| wit::open(id)).collect();
        let opened = opened?;
        let all: Vec<_> = opened.iter().collect();
        Ok(wit::wait_any(&all, milliseconds(timeout))?)
    }
}

impl From<Restrictions> for wit::Restrictions {
    fn from(without: Restrictions) -> Self {
        let parts = [
            (without.write, Self::WRITE),
            (without.network, Self::NETWORK),
        ];
        let parts = parts.into_iter().filter(|(is_set, _)| *is_set);
        parts.fold(Self::empty(), |all, (_, part)| all | part)
    }
}

impl Process for wit::Process {
    fn id(&self) -> String {
        self.id()
    }

    fn wait(&self, options: &WaitOptions) -> Result<Waited, Error> {
        let options = wit::WaitOptions {
            timeout_ms: milliseconds(options.timeout),
            since: options.since,
            until: options.until.clone(),
            output: options.output,
        };
        Ok(self.wait(&options)?)
    }

    fn info(&self) -> Result<Info, Error> {
        Ok(self.info()?)
    }

    fn snapshot(&self) -> Result<Snapshot, Error> {
        Ok(self.snapshot()?)
    }

    fn read(&self, since: u64, max: u32) -> Result<Chunk, Error> {
        Ok(self.read(since, max)?)
    }

    fn signal(&self, signal: Signal, grace: Option<Duration>) -> Result<State, Error> {
        Ok(self.signal(signal, grace.map(milliseconds))?)
    }

    fn write(&self, data: &[u8]) -> Result<State, Error> {
        Ok(self.write(data)?)
    }

    fn close_input(&self) -> Result<State, Error> {
        Ok(self.close_input()?)
    }

    fn resize(&self, size: TerminalSize) -> Result<State, Error> {
        Ok(self.resize(size)?)
    }

    fn notify(&self, on: &Trigger) -> Result<String, Error> {
        Ok(self.notify(on)?)
    }

    fn listening(&self, timeout: Duration) -> Result<Vec<ListeningPort>, Error> {
        Ok(self.listening(milliseconds(timeout))?)
    }
}

impl From<wit::Error> for Error {
    fn from(error: wit::Error) -> Self {
        match error {
            wit::Error::Denied(text) => Self::Denied(text),
            wit::Error::NotFound => Self::NotFound,
            wit::Error::Invalid(text) => Self::Invalid(text),
            wit::Error::Workdir(text) => Self::Workdir(text),
            wit::Error::Limit(text) => Self::Limit(text),
            wit::Error::Unavailable(text) => Self::Unavailable(text),
            wit::Error::UnknownOutcome(text) => Self::UnknownOutcome(text),
            wit::Error::Failed(text) => Self::Failed(text),
        }
    }
}

/// Rounds up: half a millisecond is a wait, and not a look.
fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Off WebAssembly the generated functions panic.
fn present() -> Result<(), Error> {
    if cfg!(target_family = "wasm") {
        Ok(())
    } else {
        Err(Error::Denied(
            "there is no host off WebAssembly; tests use testing::FakeProcesses".to_owned(),
        ))
    }
}
