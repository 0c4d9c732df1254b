//! The format that GPT models are trained on, between `*** Begin Patch` and `*** End Patch`.
//!
//! The accepted forms and the words of the errors are those of the original (openai/codex, codex-rs/apply-patch/src/parser.rs).

use super::Malformed;
use super::body::{fill, is_unended, sign};
use super::section::{Action, Destination, Section};
use super::text::Lines;
use super::unified;
use crate::matcher::Hunk;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

/// Returns the lines between the markers; `None` if the patch does not begin with one.
pub(super) fn inside<'a>(lines: &Lines<'a>) -> Result<Option<Lines<'a>>, Malformed> {
    let unwrapped = unwrap(lines);
    let lines = unwrapped.as_ref().unwrap_or(lines);
    if lines.text(0).trim() != BEGIN {
        return Ok(None);
    }
    let last = lines.len().saturating_sub(1);
    if last == 0 || lines.text(last).trim() != END {
        return Err(Malformed::new(
            lines.number(last),
            format!("The last line of the patch must be '{END}'"),
        ));
    }
    Ok(Some(lines.within(1, 1)))
}

/// Returns the lines within a here document of a shell, in which models sometimes write a patch.
fn unwrap<'a>(lines: &Lines<'a>) -> Option<Lines<'a>> {
    let first = lines.text(0).trim();
    let document = first
        .strip_prefix("apply_patch")
        .or_else(|| first.strip_prefix("applypatch"))
        .unwrap_or(first);
    let word = document.trim_start().strip_prefix("<<")?;
    let word = word.trim_matches(|char| matches!(char, '-' | '\'' | '"' | ' '));
    let last = lines.len().checked_sub(1)?;
    (!word.is_empty() && lines.text(last).trim() == word).then(|| lines.within(1, 1))
}

/// Reads the sections between the markers.
pub(super) fn parse<'a>(lines: &Lines<'a>) -> Result<Vec<Section<'a>>, Malformed> {
    let mut sections = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let header = lines.text(at).trim();
        if header.is_empty() {
            at += 1;
            continue;
        }
        let number = lines.number(at);
        let path_of = |marker: &str| header.strip_prefix(marker).map(str::trim);
        let (path, action) = if let Some(path) = path_of(ADD) {
            (path, add(lines, &mut at))
        } else if let Some(path) = path_of(DELETE) {
            at += 1;
            (path, Action::Delete { hunks: Vec::new() })
        } else if let Some(path) = path_of(UPDATE) {
            (path, update(path, lines, &mut at)?)
        } else {
            return Err(Malformed::new(
                number,
                format!(
                    "'{header}' is not a valid hunk header. Valid hunk headers: '{ADD} {{path}}', '{DELETE} {{path}}', '{UPDATE} {{path}}'"
                ),
            ));
        };
        if path.is_empty() {
            return Err(Malformed::new(number, format!("'{header}' names no file")));
        }
        sections.push(Section {
            path: path.into(),
            action,
            note: None,
        });
    }
    Ok(sections)
}

/// Reads the lines of a new file. Empty lines between those with `+` count as well.
fn add<'a>(lines: &Lines<'a>, at: &mut usize) -> Action<'a> {
    let (mut content, mut empty) = (String::new(), 0);
    *at += 1;
    let mut next = *at;
    while let Some(line) = lines.get(next) {
        next += 1;
        let Some(text) = line.text.strip_prefix('+') else {
            if line.text.is_empty() {
                empty += 1;
                continue;
            }
            break;
        };
        content.push_str(&"\n".repeat(std::mem::take(&mut empty)));
        content.push_str(text);
        content.push_str(if line.has_return { "\r\n" } else { "\n" });
        *at = next;
    }
    Action::Add {
        content,
        replaces: true,
    }
}

fn update<'a>(path: &str, lines: &Lines<'a>, at: &mut usize) -> Result<Action<'a>, Malformed> {
    let header = lines.number(*at);
    *at += 1;
    let to = lines.text(*at).trim().strip_prefix(MOVE).map(str::trim);
    if let Some(to) = to {
        if to.is_empty() {
            return Err(Malformed::new(
                lines.number(*at),
                format!("'{MOVE}' names no file"),
            ));
        }
        *at += 1;
    }
    let mut hunks = Vec::new();
    while let Some(line) = lines.get(*at) {
        if line.text.trim().is_empty() {
            *at += 1;
        } else if line.text.starts_with('*') {
            break;
        } else {
            hunks.push(hunk(lines, at, hunks.is_empty())?);
        }
    }
    if hunks.is_empty() && to.is_none() {
        let text = format!("Update file hunk for path '{path}' is empty");
        return Err(Malformed::new(header, text));
    }
    Ok(Action::Update {
        hunks,
        to: to.map(|to| Destination {
            path: to.into(),
            is_copy: false,
            replaces: true,
        }),
        other: None,
    })
}

/// Reads a hunk: lines with `@@`, of which the first hunk needs none, then those of the file.
fn hunk<'a>(lines: &Lines<'a>, at: &mut usize, is_first: bool) -> Result<Hunk<'a>, Malformed> {
    let mut hunk = Hunk::default();
    let (begin, mut old) = (*at, None);
    while let Some(head) = lines.text(*at).strip_prefix("@@") {
        old = unified::head(head, &mut hunk).old().or(old);
        *at += 1;
    }
    if *at == begin && !is_first {
        let text = lines.text(*at);
        return Err(Malformed::new(
            lines.number(*at),
            format!("Expected update hunk to start with a @@ context marker, got: '{text}'"),
        ));
    }
    let body = *at;
    while let Some(line) = lines.get(*at) {
        if sign(line.text).is_none() && !is_unended(line.text) {
            break;
        }
        *at += 1;
    }
    let end = *at;
    let used = body..without_space(lines, body, end);
    fill(&mut hunk, old, used.filter_map(|index| lines.get(index)));
    if lines.text(end).trim_end() == END_OF_FILE {
        hunk.is_at_end = true;
        *at += 1;
    }
    if hunk.lines.is_empty() {
        let text = match lines.get(end) {
            Some(line) if !line.text.starts_with('*') => format!(
                "Unexpected line found in update hunk: '{}'. Every line should start with ' ' (context line), '+' (added line), or '-' \
                 (removed line)",
                line.text
            ),
            _ => "Update hunk does not contain any lines".to_owned(),
        };
        return Err(Malformed::new(lines.number(end), text));
    }
    Ok(hunk)
}

/// Returns the end of the lines of a hunk. If it only adds, empty lines at its end are the space to what follows: as lines of the file, they
/// would say where it adds.
fn without_space(lines: &Lines<'_>, begin: usize, end: usize) -> usize {
    let mut last = end;
    while last > begin && lines.text(last - 1).is_empty() {
        last -= 1;
    }
    let adds = |index| lines.text(index).starts_with('+') || is_unended(lines.text(index));
    match last > begin && (begin..last).all(adds) {
        true => last,
        false => end,
    }
}
