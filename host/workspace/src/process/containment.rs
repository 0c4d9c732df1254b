//! How a workspace holds commands together.

use std::fmt;

/// How commands are held together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A supervisor for each command, and a cgroup around what it starts.
    Cgroup,
    /// A supervisor for each command.
    Supervisor,
    /// A process group for each command, which commands can leave.
    ProcessGroup,
}

/// How commands are held together, and why not better.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Containment {
    /// What is in force.
    pub kind: Kind,
    /// Why nothing better is; `None` if there is nothing better.
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
