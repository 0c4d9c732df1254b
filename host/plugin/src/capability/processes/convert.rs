//! From the domain's types to the contract's, and back.

use super::wit;
use crate::convert::{same_fields, same_variants};
use toolhost_call::notice::Trigger;
use toolhost_state::unix_time;
use toolhost_workspace::process;

same_variants!(wit::Signal => process::Signal { Interrupt, Terminate, Kill, Hangup, Quit, User1, User2 });
same_variants!(process::Shell => wit::Shell { Bash, Sh });
same_variants!(process::Cause => wit::Cause { Itself, Signalled, OutputLimit, OutOfMemory, Shutdown, Cancelled });
same_variants!(process::Wake => wit::Wake { Ended, Matched, Output, TimedOut });
same_fields!(process::ExitStatus => wit::ExitStatus { code, signal, cause });
same_fields!(process::Waited => wit::Waited { wake, state, total, match_end });
same_fields!(process::Size => wit::TerminalSize { rows, columns });
same_fields!(wit::TerminalSize => process::Size { rows, columns });
same_fields!(process::Screen => wit::Screen { size, text, cursor, title, alternate, application_keys });
same_fields!(process::Chunk => wit::Chunk { offset, data, total, end });

impl From<process::Error> for wit::Error {
    fn from(error: process::Error) -> Self {
        use process::Error;
        let text = error.to_string();
        match error {
            Error::NotFound(_) => Self::NotFound,
            Error::Invalid(_) | Error::KeyReused(_) | Error::NotListening(_) => Self::Invalid(text),
            Error::Workdir { .. } => Self::Workdir(text),
            Error::Limit(_) | Error::Busy(_) => Self::Limit(text),
            Error::Closed | Error::Unavailable(_) => Self::Unavailable(text),
            Error::Interrupted | Error::UnknownOutcome(_) => Self::UnknownOutcome(text),
            Error::Failed(_) => Self::Failed(text),
        }
    }
}

impl From<wit::Stdin> for process::Stdin {
    fn from(stdin: wit::Stdin) -> Self {
        match stdin {
            wit::Stdin::None => Self::None,
            wit::Stdin::Bytes(bytes) => Self::Bytes(bytes),
            wit::Stdin::Pipe => Self::Pipe,
            wit::Stdin::Terminal(size) => Self::Terminal(size.into()),
        }
    }
}

impl From<wit::Trigger> for Trigger {
    fn from(trigger: wit::Trigger) -> Self {
        match trigger {
            wit::Trigger::Exit => Self::Exit,
            wit::Trigger::Output(wit::ExpectedOutput { pattern, since }) => {
                Self::Output { pattern, since }
            }
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
            denials: snapshot.denials,
            takes_input: snapshot.takes_input,
            screen: snapshot.screen.map(Into::into),
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

impl From<process::Info> for wit::Info {
    fn from(info: process::Info) -> Self {
        Self {
            id: info.id,
            command: info.command,
            workdir: info.workdir.to_string_lossy().into_owned(),
            background: info.background,
            state: info.state.into(),
            started_ms: unix_time::to_ms(info.started),
            exited_ms: info.exited.map(unix_time::to_ms),
            last_output_ms: info.last_output.map(unix_time::to_ms),
            total: info.total,
        }
    }
}
