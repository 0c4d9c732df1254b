//! The state of a process, and the cause of its end.

use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};

/// The cause of the end of a process.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "snake_case")]
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
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name in replies and in the journal.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How the shell of a process ended.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct ExitStatus {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The name of the signal that ended it, such as `SIGKILL`; `None` if it exited.
    pub signal: Option<String>,
    /// The cause of its end.
    pub cause: Cause,
}

/// Where a process stands.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
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
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
    Display,
    EnumString,
    VariantNames,
)]
#[strum(serialize_all = "snake_case", parse_err_ty = String, parse_err_fn = no_signal)]
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
    /// The name of every signal.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;
}

fn no_signal(text: &str) -> String {
    let names = Signal::NAMES.join(", ");
    format!("there is no signal {text:?}: a signal is one of {names}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_has_a_name_that_reads_back() {
        assert_eq!(
            Signal::NAMES,
            [
                "interrupt",
                "terminate",
                "kill",
                "hangup",
                "quit",
                "user1",
                "user2"
            ]
        );
        for name in Signal::NAMES {
            assert_eq!(name.parse::<Signal>().unwrap().to_string(), *name);
        }
        assert!("SIGFOO".parse::<Signal>().is_err());
    }
}
