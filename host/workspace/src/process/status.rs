//! The state of a process, and the cause of its end.

use std::fmt;
use std::str::FromStr;

/// The cause of the end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Cause {
    /// The process itself, or a program outside of this host.
    Itself,
    /// A signal that was sent through this host.
    Signalled,
    /// It wrote more than the limit of the workspace.
    OutputLimit,
    /// It used more memory than there was.
    OutOfMemory,
    /// The host or the chat ended, or the chat had no request for too long.
    Shutdown,
    /// The tool call that started it was cancelled, or failed before it replied.
    Cancelled,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 6] = [
        Self::Itself,
        Self::Signalled,
        Self::OutputLimit,
        Self::OutOfMemory,
        Self::Shutdown,
        Self::Cancelled,
    ];

    /// Returns the name by which replies and the journal know it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Itself => "itself",
            Self::Signalled => "signalled",
            Self::OutputLimit => "output_limit",
            Self::OutOfMemory => "out_of_memory",
            Self::Shutdown => "shutdown",
            Self::Cancelled => "cancelled",
        }
    }
}

/// How the shell of a process ended.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ExitStatus {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The name of the signal that ended it, such as `SIGKILL`; `None` if it exited.
    pub signal: Option<String>,
    /// The cause of its end.
    pub cause: Cause,
}

/// Where a process stands.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum State {
    /// The shell runs.
    Running,
    /// The shell has exited, and processes that it started still run or still hold its output open.
    Lingering(ExitStatus),
    /// Nothing of it is left.
    Exited(ExitStatus),
    /// It is unknown how the process ended. The text is the reason.
    Lost(String),
}

impl State {
    /// Returns how the shell ended, if it did.
    pub fn exit_status(&self) -> Option<&ExitStatus> {
        match self {
            Self::Lingering(status) | Self::Exited(status) => Some(status),
            Self::Running | Self::Lost(_) => None,
        }
    }

    /// Returns whether something of the process still runs.
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Running | Self::Lingering(_))
    }
}

/// A signal that a caller can send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Signal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM, which becomes [`Signal::Kill`] for the processes that are left after the grace.
    Terminate,
    /// SIGKILL.
    Kill,
    /// SIGHUP.
    Hangup,
    /// SIGQUIT.
    Quit,
    /// SIGUSR1.
    User1,
    /// SIGUSR2.
    User2,
}

impl Signal {
    /// Every signal with its name.
    pub const NAMES: [(Self, &'static str); 7] = [
        (Self::Interrupt, "interrupt"),
        (Self::Terminate, "terminate"),
        (Self::Kill, "kill"),
        (Self::Hangup, "hangup"),
        (Self::Quit, "quit"),
        (Self::User1, "user1"),
        (Self::User2, "user2"),
    ];
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES
            .iter()
            .find(|(signal, _)| signal == self)
            .map_or("", |(_, name)| name);
        formatter.write_str(name)
    }
}

impl FromStr for Signal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::NAMES.iter().find(|(_, name)| *name == text);
        known
            .map(|(signal, _)| *signal)
            .ok_or_else(|| format!("there is no signal {text:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_has_a_name_that_reads_back() {
        for (signal, name) in Signal::NAMES {
            assert_eq!(signal.to_string(), name);
            assert_eq!(name.parse(), Ok(signal));
        }
        assert!("SIGFOO".parse::<Signal>().is_err());
    }
}
