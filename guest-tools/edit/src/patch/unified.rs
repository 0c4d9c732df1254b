//! Unified diffs, as `diff -u` and `git diff` write them and as models do.
//!
//! The numbers and counts of models are often wrong. So a count is believed only if it leads to the end of the hunk, and a number says only
//! which of several places is meant.

use std::borrow::Cow;

use super::Malformed;
use super::body::{fill, is_unended, sign};
use super::quoted::{self, NONE};
use super::section::{Action, Destination, Section};
use super::text::Lines;
use crate::matcher::{Hunk, Sign};

/// The fence of Markdown, behind which a model goes on in its own words.
const FENCE: &str = "```";

/// Returns whether lines begin with the header of a file.
pub(super) fn is_begun(lines: &Lines<'_>) -> bool {
    lines.text(0).starts_with("diff --git ") || is_header(lines, 0)
}

/// Returns whether the names of a file are at this line and the next one.
fn is_header(lines: &Lines<'_>, at: usize) -> bool {
    lines.text(at).starts_with("--- ") && lines.text(at + 1).starts_with("+++ ")
}

/// Returns whether a hunk can end before this line: something else begins there.
fn is_boundary(lines: &Lines<'_>, at: usize) -> bool {
    const BEGINNINGS: [&str; 7] = ["@@", "diff ", "Index: ", "Only in ", "From ", "====", FENCE];
    let text = lines.text(at);
    at >= lines.len()
        || BEGINNINGS.iter().any(|begin| text.starts_with(begin))
        || is_header(lines, at)
        || is_signature(lines, at)
}

/// Returns whether the line is that behind which `git format-patch` writes its version.
fn is_signature(lines: &Lines<'_>, at: usize) -> bool {
    let next = lines.text(at + 1);
    lines.text(at).trim_end() == "--"
        && (at + 1 >= lines.len() || next.starts_with(|char: char| char.is_ascii_digit()))
}

/// Reads a diff of several files. Text before the first one is left out, and so is a signature.
pub(super) fn parse<'a>(lines: &Lines<'a>) -> Result<Vec<Section<'a>>, Malformed> {
    let mut sections = Vec::new();
    let mut at = 0;
    // Whether any text may follow, because no hunk was read since.
    let mut is_text = true;
    while let Some(line) = lines.get(at) {
        if line.text.starts_with("diff --git ") || is_header(lines, at) {
            sections.push(file(lines, &mut at)?);
            is_text = false;
        } else if line.text.starts_with("@@") && !sections.is_empty() {
            return Err(Malformed::new(
                line.number,
                "a hunk without the names of its file before it",
            ));
        } else if line.text.starts_with("Binary files ") {
            return Err(binary(line.number));
        } else if is_text || line.text.trim().is_empty() || is_boundary(lines, at) {
            is_text |= is_signature(lines, at)
                || ["From ", FENCE]
                    .iter()
                    .any(|begin| line.text.starts_with(begin));
            at += 1;
        } else {
            return Err(Malformed::new(
                line.number,
                format!(
                    "'{}' is no line of a hunk. Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)",
                    line.text
                ),
            ));
        }
    }
    if sections.is_empty() {
        return Err(Malformed::new(
            lines.number(0),
            "it is neither of the formats. The first line of the patch must be '*** Begin Patch', or a unified diff must name each file with \
             '--- ' and '+++ '",
        ));
    }
    Ok(sections)
}

fn binary(line: usize) -> Malformed {
    Malformed::new(
        line,
        "binary patches are not applied; write the file with execute, or leave it out of the patch",
    )
}

/// The lines before the hunks of a file.
#[derive(Debug, Default)]
struct Header<'a> {
    old: Option<Cow<'a, str>>,
    new: Option<Cow<'a, str>>,
    moved: Option<Cow<'a, str>>,
    moved_to: Option<Cow<'a, str>>,
    is_copy: bool,
    is_new: bool,
    is_deleted: bool,
    mode: Option<&'a str>,
}

fn file<'a>(lines: &Lines<'a>, at: &mut usize) -> Result<Section<'a>, Malformed> {
    let begin = lines.number(*at);
    let mut header = Header::default();
    if let Some(names) = lines.text(*at).strip_prefix("diff --git ") {
        if let Some((old, new)) = quoted::of_git(names) {
            let (old, new) = quoted::without_prefixes(old, new);
            (header.old, header.new) = (Some(old), Some(new));
        }
        *at += 1;
        extended(lines, at, &mut header)?;
    }
    if is_header(lines, *at) {
        let name = |at: usize| quoted::name(lines.text(at).get(4..).unwrap_or_default());
        let (old, new) = quoted::without_prefixes(name(*at), name(*at + 1));
        header.is_new |= old == NONE;
        header.is_deleted |= new == NONE;
        (header.old, header.new) = (Some(old), Some(new));
        *at += 2;
    }
    let mut hunks = Vec::new();
    while lines.text(*at).starts_with("@@") {
        hunks.push(hunk(lines, at)?);
    }
    section(begin, header, hunks)
}

/// Reads the lines of git between `diff --git` and the names.
fn extended<'a>(
    lines: &Lines<'a>,
    at: &mut usize,
    header: &mut Header<'a>,
) -> Result<(), Malformed> {
    while let Some(line) = lines.get(*at) {
        let text = line.text;
        let mode = ["new file mode ", "deleted file mode ", "new mode "];
        if text.starts_with("GIT binary patch") || text.starts_with("Binary files ") {
            return Err(binary(line.number));
        } else if let Some(name) = text.strip_prefix("rename from ") {
            header.moved = Some(quoted::name(name));
        } else if let Some(name) = text.strip_prefix("rename to ") {
            header.moved_to = Some(quoted::name(name));
        } else if let Some(name) = text.strip_prefix("copy from ") {
            (header.moved, header.is_copy) = (Some(quoted::name(name)), true);
        } else if let Some(name) = text.strip_prefix("copy to ") {
            (header.moved_to, header.is_copy) = (Some(quoted::name(name)), true);
        } else if let Some(mode) = mode.iter().find_map(|begin| text.strip_prefix(begin)) {
            header.is_new |= text.starts_with("new file");
            header.is_deleted |= text.starts_with("deleted");
            header.mode = Some(mode.trim());
        } else if let Some(index) = text.strip_prefix("index ") {
            header.mode = header
                .mode
                .or(index.split_once(' ').map(|(_, mode)| mode.trim()));
        } else if !["old mode ", "similarity index ", "dissimilarity index "]
            .iter()
            .any(|begin| text.starts_with(begin))
        {
            break;
        }
        if header
            .mode
            .is_some_and(|mode| mode.starts_with("12") || mode.starts_with("16"))
        {
            return Err(Malformed::new(
                line.number,
                "links and submodules are not patched; make them with execute, or leave them out of the patch",
            ));
        }
        *at += 1;
    }
    Ok(())
}

fn section<'a>(
    line: usize,
    header: Header<'a>,
    hunks: Vec<Hunk<'a>>,
) -> Result<Section<'a>, Malformed> {
    let unnamed = || {
        Malformed::new(
            line,
            "the names of the file cannot be read; write '--- a/path' and '+++ b/path'",
        )
    };
    let note = match header.mode {
        Some("100755") if header.is_new => {
            Some("the file is not made executable; use execute with chmod +x".to_owned())
        }
        _ => None,
    };
    let (path, action) = match header {
        Header {
            is_new: true,
            is_deleted: true,
            ..
        } => return Err(unnamed()),
        Header {
            is_new: true, new, ..
        } => {
            let content = content(line, &hunks)?;
            (
                new.ok_or_else(unnamed)?,
                Action::Add {
                    content,
                    replaces: false,
                },
            )
        }
        Header {
            is_deleted: true,
            old,
            ..
        } => (old.ok_or_else(unnamed)?, Action::Delete { hunks }),
        Header {
            moved: Some(from),
            moved_to: Some(to),
            is_copy,
            ..
        } => {
            let to = Some(Destination {
                path: to,
                is_copy,
                replaces: false,
            });
            (
                from,
                Action::Update {
                    hunks,
                    to,
                    other: None,
                },
            )
        }
        Header {
            old: Some(old),
            new: Some(new),
            ..
        } => {
            let other = (old != new).then_some(old);
            (
                new,
                Action::Update {
                    hunks,
                    to: None,
                    other,
                },
            )
        }
        _ => return Err(unnamed()),
    };
    if path.is_empty() {
        return Err(unnamed());
    }
    let changes_mode = header.mode.is_some()
        && matches!(&action, Action::Update { hunks, to: None, .. } if hunks.is_empty());
    if let Action::Update {
        hunks, to: None, ..
    } = &action
        && hunks.is_empty()
        && !changes_mode
    {
        let text =
            format!("the section of '{path}' has no hunk. A hunk begins with '@@ -1,3 +1,3 @@'");
        return Err(Malformed::new(line, text));
    }
    let note = match changes_mode {
        true => Some("the mode is not changed; use execute with chmod".to_owned()),
        false => note,
    };
    Ok(Section { path, action, note })
}

/// Returns the content of a new file.
fn content(line: usize, hunks: &[Hunk<'_>]) -> Result<String, Malformed> {
    let mut content = String::new();
    for line_of in hunks.iter().flat_map(|hunk| &hunk.lines) {
        let text = String::from_utf8_lossy(line_of.line.text);
        if line_of.sign != Sign::Added {
            return Err(Malformed::new(
                line,
                format!(
                    "the file is new, so all of its lines begin with '+'; this one does not: '{text}'"
                ),
            ));
        }
        content.push_str(&text);
        content.push_str(&String::from_utf8_lossy(line_of.line.ending.bytes()));
    }
    Ok(content)
}

/// Reads what stands behind `@@`: the numbers of a diff, or a line of the file.
pub(super) fn head<'a>(text: &'a str, hunk: &mut Hunk<'a>) -> Counts {
    let mut counts = Counts::default();
    let (numbers, _) = text.split_once("@@").unwrap_or((text, ""));
    let mut parts = numbers.split_whitespace();
    if let (Some(old), Some(new), None) = (parts.next(), parts.next(), parts.next())
        && let (Some(old), Some(new)) = (range(old, '-'), range(new, '+'))
    {
        hunk.number = Some(old.0);
        counts = Counts(Some((old.1, new.1)));
    } else {
        let line = text.strip_suffix("@@").unwrap_or(text);
        let line = line.strip_prefix(' ').unwrap_or(line);
        let says_nothing =
            |char: char| char.is_whitespace() || matches!(char, '.' | '@' | '-' | '+' | ',' | '…');
        if !line.chars().all(says_nothing) {
            hunk.anchors.push(line);
        }
    }
    counts
}

/// How many lines a hunk has of the old and of the new file, as it says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts(Option<(usize, usize)>);

impl Counts {
    pub(super) fn old(self) -> Option<usize> {
        self.0.map(|(old, _)| old)
    }
}

/// Reads `-1,2` or `-1`.
fn range(text: &str, sign: char) -> Option<(usize, usize)> {
    let numbers = text.strip_prefix(sign)?;
    let (start, count) = numbers.split_once(',').unwrap_or((numbers, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

fn hunk<'a>(lines: &Lines<'a>, at: &mut usize) -> Result<Hunk<'a>, Malformed> {
    let begin = *at;
    let mut hunk = Hunk::default();
    let counts = head(lines.text(*at).get(2..).unwrap_or_default(), &mut hunk);
    *at += 1;
    if counts.0.is_none() {
        while let Some(more) = lines.text(*at).strip_prefix("@@")
            && !more.trim_start().starts_with('-')
        {
            head(more, &mut hunk);
            *at += 1;
        }
    }
    let end = by_counts(lines, *at, counts).unwrap_or_else(|| by_looks(lines, *at));
    let body = (*at..end).filter_map(|index| lines.get(index));
    fill(&mut hunk, counts.old(), body);
    *at = end;
    if hunk.lines.is_empty() {
        let text = "the hunk does not contain any lines";
        return Err(Malformed::new(lines.number(begin), text));
    }
    Ok(hunk)
}

/// Returns the end of a hunk as its counts have it; `None` if they are wrong.
fn by_counts(lines: &Lines<'_>, mut at: usize, counts: Counts) -> Option<usize> {
    let (mut old, mut new) = counts.0?;
    while old > 0 || new > 0 {
        let text = lines.get(at)?.text;
        at += 1;
        if is_unended(text) {
            continue;
        }
        let (sign, _) = sign(text)?;
        if sign != Sign::Added {
            old = old.checked_sub(1)?;
        }
        if sign != Sign::Removed {
            new = new.checked_sub(1)?;
        }
    }
    while is_unended(lines.text(at)) {
        at += 1;
    }
    let mut next = at;
    while next < lines.len() && lines.text(next).is_empty() {
        next += 1;
    }
    is_boundary(lines, next).then_some(at)
}

/// Returns the end of a hunk as its lines look. Empty lines at the end are most likely the space to what follows.
fn by_looks(lines: &Lines<'_>, begin: usize) -> usize {
    let mut end = begin;
    let is_line = |text: &str| sign(text).is_some() || is_unended(text);
    while end < lines.len() && !is_boundary(lines, end) && is_line(lines.text(end)) {
        end += 1;
    }
    while end > begin && lines.text(end - 1).is_empty() {
        end -= 1;
    }
    end
}
