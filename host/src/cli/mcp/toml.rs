//! Entries in configurations that are TOML: each a table of its own, at the end of the file.
//!
//! The form of the end says what the file had before. A blank line before the table stands for nothing, and a file without a line end at its
//! end had none before.

use std::ops::Range;
use std::str::FromStr as _;

use ::toml::de::{DeTable, DeValue};
use ::toml::{Spanned, Table, Value};

use super::entry::{EditError, Entry, Removed, Started, broken, line_end, ours, spliced};
use crate::cli::literal::{list, quoted};

/// The table of all servers.
const SERVERS: &str = "mcp_servers";

/// How long the client waits for the first answer, in seconds: the first start compiles plugins.
const STARTUP: u32 = 60;

/// Returns the table of an entry.
pub(super) fn table(entry: &Entry, line: &str) -> String {
    let Entry {
        name,
        command,
        args,
    } = entry;
    format!(
        "[{SERVERS}.{}]{line}command = {}{line}args = {}{line}startup_timeout_sec = {STARTUP}{line}",
        name,
        quoted(command),
        list(args.iter().map(String::as_str))
    )
}

/// Returns a file with an entry. See [`super::edit::add`].
pub(super) fn add(text: &str, entry: &Entry) -> Result<String, EditError> {
    let parsed = parse(text)?;
    if let Some(found) = find(parsed.get_ref(), &entry.name)? {
        return Ok(spliced(text, &entry.changes(found.started)?));
    }
    let line = line_end(text);
    let table = table(entry, line);
    let added = match text.ends_with('\n') || text.is_empty() {
        true => format!("{text}{line}{table}"),
        false => format!("{text}{line}{line}{}", table.trim_end()),
    };
    match DeTable::parse(&added) {
        Ok(_) => Ok(added),
        Err(_) => Err(EditError::Inline(SERVERS)),
    }
}

/// Returns a file without the entry of a name. See [`super::edit::remove`].
pub(super) fn remove(text: &str, name: &str) -> Result<Removed, EditError> {
    let parsed = parse(text)?;
    let Some(found) = find(parsed.get_ref(), name)? else {
        return Ok(Removed::Absent);
    };
    ours(name, found.started)?;
    let start = line_start(text, found.key.start);
    let header = text.get(start..found.key.start).unwrap_or_default();
    if !header.trim_start().starts_with('[') {
        return Err(EditError::Inline(SERVERS));
    }
    let end = line_behind(text, found.end);
    let (before, behind) = (
        text.get(..start).unwrap_or_default(),
        text.get(end..).unwrap_or_default(),
    );
    if before.is_empty() && behind.is_empty() {
        return Ok(Removed::Nothing);
    }
    let line = line_end(text);
    let has_end = text.get(..end).is_some_and(|text| text.ends_with('\n'));
    let one = before.strip_suffix(line);
    let before = match has_end {
        true => one.filter(|rest| rest.is_empty() || rest.ends_with('\n')),
        // The file had no line end.
        false => one.and_then(|rest| rest.strip_suffix(line)),
    }
    .unwrap_or(before);
    let rest = format!("{before}{behind}");
    match is_without(text, &rest, name) {
        true => Ok(Removed::Rest(rest)),
        false => Err(EditError::Inline(SERVERS)),
    }
}

/// Returns whether a file differs from another one by an entry alone, which it lacks.
fn is_without(text: &str, rest: &str, name: &str) -> bool {
    let (Ok(mut text), Ok(rest)) = (Table::from_str(text), Table::from_str(rest)) else {
        return false;
    };
    let servers = text.get_mut(SERVERS).and_then(Value::as_table_mut);
    let is_last = servers.is_some_and(|servers| {
        servers.remove(name);
        servers.is_empty()
    });
    if is_last && !rest.contains_key(SERVERS) {
        text.remove(SERVERS);
    }
    text == rest
}

/// An entry in a file.
struct Found<'t> {
    /// Its name in the header of its table.
    key: Range<usize>,
    /// The end of its last value.
    end: usize,
    started: Option<Started<'t>>,
}

/// Returns the entry of a name.
fn find<'t>(root: &'t DeTable<'t>, name: &str) -> Result<Option<Found<'t>>, EditError> {
    let Some(servers) = root.get(SERVERS) else {
        return Ok(None);
    };
    let servers = servers.get_ref().as_table();
    let servers = servers.ok_or_else(|| EditError::Shape {
        what: format!("`{SERVERS}`"),
        expected: "a table",
    })?;
    let Some((key, value)) = servers.get_key_value(name) else {
        return Ok(None);
    };
    Ok(Some(Found {
        key: key.span(),
        end: end(key, value),
        started: started(value.get_ref()),
    }))
}

/// Returns what an entry starts; `None` if it has no command or no arguments.
fn started<'t>(entry: &'t DeValue<'t>) -> Option<Started<'t>> {
    let (command, args) = (entry.get("command")?, entry.get("args")?);
    let texts = args.get_ref().as_array()?.iter();
    let texts = texts.map(|text| text.get_ref().as_str()).collect();
    Some(Started {
        command: (command.get_ref().as_str()?, command.span()),
        args: (texts, args.span()),
    })
}

/// Returns the end of the last value in a value, or that of its key.
fn end(key: &Spanned<std::borrow::Cow<str>>, value: &Spanned<DeValue>) -> usize {
    match value.get_ref() {
        DeValue::Table(table) => {
            let ends = table.iter().map(|(key, value)| end(key, value));
            ends.fold(key.span().end.max(value.span().end), usize::max)
        }
        _ => value.span().end,
    }
}

fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, EditError> {
    DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        broken(text, offset, error.message().to_owned())
    })
}

/// Returns the beginning of the line in which an offset is.
fn line_start(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or_default();
    before.rfind('\n').map_or(0, |end| end + 1)
}

/// Returns the offset behind the end of the line in which an offset is.
fn line_behind(text: &str, offset: usize) -> usize {
    let rest = text.get(offset..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |end| offset + end + 1)
}

#[cfg(test)]
mod tests;
