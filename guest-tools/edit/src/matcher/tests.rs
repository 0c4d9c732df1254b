//! Edits of files: cases, and properties that hold for all.

mod bytes;
mod cases;
mod hostile;
mod nesting;
mod properties;
mod several;

use super::*;

fn one<'a>(search: &'a str, replace: &'a str) -> Edit<'a> {
    Edit {
        search,
        replace,
        replace_all: false,
    }
}

fn all<'a>(search: &'a str, replace: &'a str) -> Edit<'a> {
    Edit {
        replace_all: true,
        ..one(search, replace)
    }
}

/// Returns what is said of an edit that cannot be made.
fn refusal(content: &str, edit: Edit<'_>) -> String {
    apply(content.as_bytes(), &[edit]).unwrap_err().to_string()
}

const NOT_FOUND: &str = "search string not found in file. Verify the search string matches the file content exactly, including \
                         whitespace and indentation";
