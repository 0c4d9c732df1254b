//! How a workspace holds commands together.

use std::fmt;

/// The kind of containment of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A supervisor for each command, and a cgroup around the processes that it starts.
    Cgroup,
    /// A supervisor for each command.
    Supervisor,
    /// A process group for each command, which its processes can leave.
    ProcessGroup,
}

/// The containment of commands, and why there is no better one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Containment {
    /// The kind that is in force.
    pub kind: Kind,
    /// Why no better kind is in force; `None` if there is no better one.
    pub reason: Option<String>,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Cgroup => "a supervisor and a cgroup per command",
            Self::Supervisor => "a supervisor per command",
            Self::ProcessGroup => "a process group per command",
        })
    }
}
