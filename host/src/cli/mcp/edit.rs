//! Edits of a client's configuration: adding an entry, and taking it out again.
//!
//! An edit inserts or removes a few texts and copies all other bytes, so that comments, order and formatting stay. The inserted texts have
//! such a form that the file itself says what to remove: taking an entry out gives the bytes that the file had before.

use super::client::Format;
use super::entry::{EditError, Entry, Removed};
use super::{json, toml};

/// The mark at the beginning of some files in UTF-8.
const BOM: &str = "\u{feff}";

/// Returns the configuration with an entry. A configuration that has the entry already is returned as it is; `None` stands for a file that
/// does not exist.
pub(super) fn add(text: Option<&str>, format: &Format, entry: &Entry) -> Result<String, EditError> {
    let Some(text) = text else {
        return Ok(match format {
            Format::Json(dialect) => json::made(dialect, entry),
            Format::Toml => toml::table(entry, "\n"),
        });
    };
    let body = text.strip_prefix(BOM).unwrap_or(text);
    let body = match format {
        Format::Json(dialect) => json::add(body, dialect, entry)?,
        Format::Toml => toml::add(body, entry)?,
    };
    Ok(match text.starts_with(BOM) {
        true => format!("{BOM}{body}"),
        false => body,
    })
}

/// Returns the configuration without the entry of a name, which must start this program.
pub(super) fn remove(text: &str, format: &Format, name: &str) -> Result<Removed, EditError> {
    let body = text.strip_prefix(BOM).unwrap_or(text);
    let removed = match format {
        Format::Json(dialect) => json::remove(body, dialect, name)?,
        Format::Toml => toml::remove(body, name)?,
    };
    Ok(match removed {
        Removed::Rest(rest) if text.starts_with(BOM) => Removed::Rest(format!("{BOM}{rest}")),
        Removed::Nothing if text.starts_with(BOM) => Removed::Rest(BOM.to_owned()),
        removed => removed,
    })
}
