//! A tool that returns its text. The suite does not ask for it: benchmarks measure it next to the same tool of other hosts.

use toolhost_sdk::tool;

/// Returns its text.
#[tool(read_only, non_destructive, idempotent, closed_world)]
pub(crate) fn echo(
    /// The text to return.
    text: String,
) -> String {
    text
}
