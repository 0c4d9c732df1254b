//! Containment: the way in which a workspace keeps track of all processes of a command.

/// The kind of containment of a command.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
    strum::Display,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A supervisor for each command, and a cgroup around the processes that it starts.
    #[strum(to_string = "a supervisor and a cgroup per command")]
    Cgroup,
    /// A supervisor for each command.
    #[strum(to_string = "a supervisor per command")]
    Supervisor,
    /// A process group for each command, which its processes can leave.
    #[strum(to_string = "a process group per command")]
    ProcessGroup,
}

/// The containment of commands, and the reason why it is no better.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Containment {
    /// The kind that is in force.
    pub kind: Kind,
    /// Why no better kind is in force; `None` if there is no better one.
    pub reason: Option<String>,
}
