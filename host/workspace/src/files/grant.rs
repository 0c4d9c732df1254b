//! Grants of access to the files of a workspace.

/// The access of a plugin, or of the agent API, to the files of a workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FilesGrant {
    /// Nothing: a plugin that imports them does not load.
    #[default]
    None,
    /// Read them, and list directories.
    Read,
    /// Read and write them.
    Write,
}
