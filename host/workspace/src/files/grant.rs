//! Grants of access to the files of a workspace.

/// The access of a plugin, or of the agent API, to the files of a workspace.
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
)]
pub enum FilesGrant {
    /// No access: a plugin that imports the interface does not load.
    #[default]
    None,
    /// Read them, and list directories.
    Read,
    /// Read and write them.
    Write,
}
