//! From the domain's types to the contract's, and back.

use std::time::{SystemTime, UNIX_EPOCH};

use super::wit;
use toolhost_workspace::process;

impl From<process::Error> for wit::Error {
    fn from(error: process::Error) -> Self {
        use process::Error;
        let text = error.to_string();
        match error {
            Error::NotFound(_) => Self::NotFound,
            Error::Invalid(_) | Error::KeyReused(_) => Self::Invalid(text),
            Error::Workdir { .. } => Self::Workdir(text),
            Error::Limit(_) => Self::Limit(text),
            Error::Closed | Error::Unavailable(_) => Self::Unavailable(text),
            Error::Interrupted | Error::UnknownOutcome(_) => Self::UnknownOutcome(text),
            Error::Failed(_) => Self::Failed(text),
        }
    }
}

impl From<wit::Signal> for process::Signal {
    fn from(signal: wit::Signal) -> Self {
        match signal {
            wit::Signal::Interrupt => Self::Interrupt,
            wit::Signal::Terminate => Self::Terminate,
            wit::Signal::Kill => Self::Kill,
            wit::Signal::Hangup => Self::Hangup,
            wit::Signal::Quit => Self::Quit,
            wit::Signal::User1 => Self::User1,
            wit::Signal::User2 => Self::User2,
        }
    }
}

impl From<process::State> for wit::State {
    fn from(state: process::State) -> Self {
        match state {
            process::State::Running => Self::Running,
            process::State::Lingering(status) => Self::Lingering(status.into()),
            process::State::Exited(status) => Self::Exited(status.into()),
            process::State::Lost(text) => Self::Lost(text),
        }
    }
}

impl From<process::ExitStatus> for wit::ExitStatus {
    fn from(status: process::ExitStatus) -> Self {
        let cause = match status.cause {
            process::Cause::Itself => wit::Cause::Itself,
            process::Cause::Signalled => wit::Cause::Signalled,
            process::Cause::OutputLimit => wit::Cause::OutputLimit,
            process::Cause::OutOfMemory => wit::Cause::OutOfMemory,
            process::Cause::Shutdown => wit::Cause::Shutdown,
            process::Cause::Cancelled => wit::Cause::Cancelled,
        };
        Self {
            code: status.code,
            signal: status.signal,
            cause,
        }
    }
}

impl From<process::Waited> for wit::Waited {
    fn from(waited: process::Waited) -> Self {
        let wake = match waited.wake {
            process::Wake::Ended => wit::Wake::Ended,
            process::Wake::Matched => wit::Wake::Matched,
            process::Wake::Output => wit::Wake::Output,
            process::Wake::TimedOut => wit::Wake::TimedOut,
        };
        Self {
            wake,
            state: waited.state.into(),
            total: waited.total,
            match_end: waited.match_end,
        }
    }
}

impl From<process::Snapshot> for wit::Snapshot {
    fn from(snapshot: process::Snapshot) -> Self {
        let survivors = snapshot.survivors.into_iter();
        Self {
            state: snapshot.state.into(),
            total: snapshot.total,
            head: snapshot.head,
            tail: snapshot.tail,
            survivors: survivors
                .map(|process| wit::Survivor {
                    pid: process.pid,
                    command: process.command,
                })
                .collect(),
            saved: snapshot.saved.into(),
        }
    }
}

impl From<process::Saved> for wit::Saved {
    fn from(saved: process::Saved) -> Self {
        match saved {
            process::Saved::None => Self::None,
            process::Saved::Complete => Self::Complete,
            process::Saved::Partial(bytes) => Self::Partial(bytes),
            process::Saved::Failed(why) => Self::Failed(why),
        }
    }
}

impl From<process::Chunk> for wit::Chunk {
    fn from(chunk: process::Chunk) -> Self {
        Self {
            offset: chunk.offset,
            data: chunk.data,
            total: chunk.total,
            end: chunk.end,
        }
    }
}

impl From<process::Info> for wit::Info {
    fn from(info: process::Info) -> Self {
        Self {
            id: info.id,
            command: info.command,
            workdir: info.workdir.to_string_lossy().into_owned(),
            background: info.background,
            state: info.state.into(),
            started_ms: milliseconds(info.started),
            exited_ms: info.exited.map(milliseconds),
            last_output_ms: info.last_output.map(milliseconds),
            total: info.total,
        }
    }
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
