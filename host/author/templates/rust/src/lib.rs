//! {{name}}: a plugin for Toolhost.

{{#processes}}
mod disk_usage;
{{/processes}}
{{#files}}
mod first_line;
{{/files}}
{{#http}}
mod page_title;
{{/http}}
{{#grants}}

{{/grants}}
use serde::Serialize;
use toolhost_sdk::prelude::*;

/// What the model reads.
#[derive(Debug, Serialize)]
struct Words {
    words: usize,
}

/// Counts the words of a text.
#[tool(read_only)]
fn {{name}}(
    /// The text.
    text: String,
) -> Result<Reply, ToolError> {
    let words = text.split_whitespace().count();
    Reply::json(&Words { words })
}

export_tools!(
    {{name}},
{{#processes}}
    disk_usage::disk_usage,
{{/processes}}
{{#files}}
    first_line::first_line,
{{/files}}
{{#http}}
    page_title::page_title,
{{/http}}
);

#[cfg(test)]
mod tests {
    use super::*;
    use toolhost_sdk::testing;

    #[test]
    fn cases() {
        testing::cases("cases.json", toolhost_sdk::tools![{{name}}]);
    }

    #[test]
    fn line_ends_separate_words() -> Result<(), ToolError> {
        let reply = testing::call::<{{name}}>(r#"{"text": "one\ntwo three"}"#)?;
        assert_eq!(reply.content(), [Content::Json(r#"{"words":3}"#.into())]);
        Ok(())
    }
}
