//! The content of files: a stretch that was read, where lines end, and files to write.

/// A stretch of a file.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Chunk {
    /// The bytes from the offset that was asked for; fewer than were asked for only at the end of the file.
    #[serde(with = "crate::base64")]
    #[schemars(with = "String")]
    pub data: Vec<u8>,
    /// The size of the whole file in bytes.
    pub size: u64,
    /// The version of the file that the bytes are from.
    pub version: String,
    /// Its identity: equal for two paths of one file.
    pub identity: String,
}

/// Where a number of lines ends.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Skipped {
    /// The offset behind the last of them, or the end of the file if it has fewer.
    pub offset: u64,
    /// How many line feeds were gone over.
    pub lines: u64,
    /// The size of the whole file in bytes.
    pub size: u64,
}

/// A precondition of a write.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub enum Precondition {
    /// Nothing.
    Any,
    /// There is no file at the path.
    Absent,
    /// The file at the path has this version.
    Version(String),
}

/// One file to remove. A path that is a link names the link, and not the file that it leads to.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Removal {
    /// The file or link.
    pub path: String,
    /// The version that the file must have, or the file that the link leads to. `None`: any.
    pub version: Option<String>,
    /// The index of the write that moves the file: where that makes a new file, this one's mode and owner are kept.
    pub moved_to: Option<u32>,
}

/// One file to write.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Write {
    /// Where to write it. Directories that are missing above it are made, with mode 0755.
    pub path: String,
    /// Its whole new content.
    #[serde(with = "crate::base64")]
    #[schemars(with = "String")]
    pub data: Vec<u8>,
    /// The precondition, which must hold first.
    pub when: Precondition,
}
