//! The tool `word_count`.

use toolhost_sdk::prelude::*;

/// Counts the words of a text.
#[tool(read_only, closed_world, example("two words", r#"{"text": "a b"}"#))]
fn word_count(
    /// The text.
    text: String,
) -> Result<Reply, ToolError> {
    Reply::object([("words", text.split_whitespace().count())])
}

export_tools!(word_count);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases() {
        toolhost_sdk::testing::cases("cases.json", toolhost_sdk::tools![word_count]);
    }
}
