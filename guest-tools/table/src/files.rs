//! Files.

use serde_json::json;
use toolhost_sdk::files::{Error, Files, Host, Kind, Precondition, Write};
use toolhost_sdk::prelude::*;

/// Writes a file, and reads it again.
#[tool]
pub(crate) fn store(
    /// The path.
    path: String,
    /// The text.
    text: String,
) -> Result<Reply, ToolError> {
    let write = |data: String, when: Precondition| {
        let write = Write {
            path: path.clone(),
            data: data.into_bytes(),
            when,
        };
        let written = Host.write_all(&[write]).map_err(|(_, error)| error);
        written.map(|written| written.into_iter().next())
    };
    let version = write(text.clone(), Precondition::Absent)?.map(|written| written.version);
    let again = write(
        text + "\n",
        Precondition::Version(version.unwrap_or_default()),
    )?;
    let chunk = Host.read(&path, 0, 4096)?;
    let (names, _) = Host.read_directory(".", None, 100)?;
    let names: Vec<_> = names.into_iter().map(|entry| entry.name).collect();
    Reply::json(&json!({
        "size": again.map(|again| again.size),
        "text": String::from_utf8_lossy(&chunk.data),
        "lines": Host.skip_lines(&path, 0, 99)?.lines,
        "kind": (Host.metadata(&path)?.kind == Kind::File).then_some("file"),
        "names": names,
        "exists": Host.metadata("nowhere") != Err(Error::NotFound),
    }))
}
