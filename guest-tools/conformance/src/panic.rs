//! A tool that panics. The suite does not ask for it: a test looks at what the operator is told.

use toolhost_sdk::tool;

/// Panics with its text.
#[tool(read_only, non_destructive, idempotent, closed_world)]
#[expect(clippy::panic, reason = "it is what the tool is for")]
pub(crate) fn panic(
    /// What it says.
    text: String,
) -> String {
    panic!("{text}")
}
