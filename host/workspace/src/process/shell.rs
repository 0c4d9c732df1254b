//! The shell that runs commands.

/// A shell that runs commands.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
    strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Shell {
    /// Bash, outside of its POSIX mode.
    Bash,
    /// A POSIX shell. An agent that names no shell has one.
    #[default]
    Sh,
}
