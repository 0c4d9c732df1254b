//! Tools that reach a limit, and the bug of one that does not.

use std::hint::black_box;

use toolhost_sdk::prelude::*;

/// Computes without end.
#[tool(read_only)]
pub(crate) fn spin() -> &'static str {
    let mut count = 0_u64;
    while black_box(true) {
        count = black_box(count.wrapping_add(1));
    }
    "never"
}

/// Takes memory without end.
#[tool(read_only)]
pub(crate) fn hoard() -> &'static str {
    let mut hoarded = Vec::new();
    while black_box(true) {
        hoarded.push(vec![1_u8; 100_000]);
    }
    "never"
}

/// Panics.
#[expect(clippy::panic, reason = "the table has a row for it")]
pub(crate) fn broken() -> Result<Reply, ToolError> {
    panic!("é broken")
}
