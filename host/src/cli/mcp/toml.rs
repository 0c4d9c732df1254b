//! Entries in configurations that are TOML: each a table of its own, at the end of the file.
//!
//! The form of the end says what the file had before. A blank line before the table stands for nothing, and a file without a line end at its
//! end had none before.

use std::ops::Range;
use std::str::FromStr as _;

use ::toml::de::{DeTable, DeValue};
use ::toml::{Spanned, Table};

use super::entry::{EditError, Entry, Removed, broken, check_ours, line_end, spliced};

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
        key(name),
        quoted(command),
        list(args)
    )
}

/// Returns a file with an entry. See [`super::edit::add`].
pub(super) fn add(text: &str, entry: &Entry) -> Result<String, EditError> {
    let parsed = parse(text)?;
    if let Some(found) = find(parsed.get_ref(), &entry.name)? {
        return updated(text, &found, entry);
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
    found.check(name)?;
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
    let servers = |table: &mut Table| {
        let servers = table.remove(SERVERS);
        servers
            .and_then(|servers| servers.try_into().ok())
            .unwrap_or_default()
    };
    let (Ok(mut text), Ok(mut rest)) = (Table::from_str(text), Table::from_str(rest)) else {
        return false;
    };
    let (mut before, after): (Table, Table) = (servers(&mut text), servers(&mut rest));
    before.remove(name).is_some() && before == after && text == rest
}

/// An entry in a file.
struct Found<'t> {
    /// Its name in the header of its table.
    key: Range<usize>,
    /// The end of its last value.
    end: usize,
    command: Option<(&'t str, Range<usize>)>,
    args: Option<(Vec<Option<&'t str>>, Range<usize>)>,
}

impl Found<'_> {
    /// Checks that the entry starts this program.
    fn check(&self, name: &str) -> Result<(), EditError> {
        let args = self.args.as_ref();
        let first = args.and_then(|(args, _)| args.first().copied().flatten());
        check_ours(name, self.command.as_ref().map(|(text, _)| *text), first)
    }
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
    let get = |key: &str| value.get_ref().as_table()?.get(key);
    let command = get("command").and_then(|value| Some((value.get_ref().as_str()?, value.span())));
    let args = get("args").and_then(|value| {
        let elements = value.get_ref().as_array()?.iter();
        let texts = elements.map(|element| element.get_ref().as_str()).collect();
        Some((texts, value.span()))
    });
    Ok(Some(Found {
        key: key.span(),
        end: end(key, value),
        command,
        args,
    }))
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

/// Returns a file in which an entry starts this program as it should; fails if it starts another one.
fn updated(text: &str, found: &Found, entry: &Entry) -> Result<String, EditError> {
    found.check(&entry.name)?;
    let mut splices = Vec::new();
    if let Some((command, range)) = &found.command
        && *command != entry.command
    {
        splices.push((range.clone(), quoted(&entry.command)));
    }
    if let Some((args, range)) = &found.args
        && !args
            .iter()
            .copied()
            .eq(entry.args.iter().map(|arg| Some(arg.as_str())))
    {
        splices.push((range.clone(), list(&entry.args)));
    }
    splices.sort_by_key(|(range, _)| range.start);
    Ok(spliced(text, &splices))
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

/// Returns a name as a key: bare if that is possible.
fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// Returns a text as a string. One of JSON is one of TOML, unless it has DEL, which JSON does not escape.
fn quoted(text: &str) -> String {
    let text = serde_json::Value::from(text).to_string();
    text.replace('\u{7f}', "\\u007F")
}

fn list(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

#[cfg(test)]
mod tests;
