//! The first line of a file.

use toolhost_sdk::files::{Files, Host};
use toolhost_sdk::prelude::*;

/// The most bytes that are read of a file.
const MOST: u32 = 4096;

/// Returns the first line of a file of the workspace.
#[tool(read_only)]
pub(crate) fn first_line(
    /// The path: absolute, or relative to the workspace.
    path: String,
) -> Result<Reply, ToolError> {
    read(&Host, &path)
}

/// Reads the line. Tests give it a fake whose files are in memory.
fn read(files: &dyn Files, path: &str) -> Result<Reply, ToolError> {
    let chunk = files.read(path, 0, MOST)?;
    let text = String::from_utf8_lossy(&chunk.data);
    Ok(Reply::text(text.lines().next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhost_sdk::testing::FakeFiles;

    #[test]
    fn the_rest_of_the_file_is_left_out() -> Result<(), ToolError> {
        let files = FakeFiles::new().with("a.txt", "one\ntwo\n");
        assert_eq!(read(&files, "a.txt")?, Reply::text("one"));
        Ok(())
    }
}
