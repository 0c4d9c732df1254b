//! One page of a text file.

use toolhost_edit::encoding::Encoding;
use toolhost_sdk::files::Error;
use toolhost_view::hidden;

use super::scan::{Line, Scan};
use super::{Page, TruncatedBy};
use crate::refusal::Refusal;

/// The most bytes of a page, with the numbers of its lines.
pub(super) const MAX_BYTES: usize = 32 << 10;

/// The most bytes of a line that are shown.
const MAX_LINE: usize = 1 << 10;

/// What is put in the place of the rest of a line.
const CUT: &str = "... [truncated]";

/// The largest file whose lines are counted when a page does not reach its end.
const MAX_COUNTED: u64 = 64 << 20;

/// Reads the lines from `offset` on, at most `limit` of them. A line with zero bytes is shown if `shows_zeros`. Also returns whether some
/// bytes of the lines are no text.
pub(super) fn read(
    scan: &mut Scan<'_>,
    path: &str,
    offset: u64,
    limit: u64,
    encoding: Encoding,
    shows_zeros: bool,
) -> Result<(Page, bool), Refusal> {
    let refused = |error: Error| Refusal::of(path, error);
    begin(scan, path, offset)?;
    let mut text = Text::new(encoding, shows_zeros);
    while text.lines < limit {
        let position = scan.position();
        let Some(line) = scan.next(MAX_LINE + 4).map_err(refused)? else {
            break;
        };
        if !text.push(offset + text.lines, &line) {
            scan.go_to(position);
            text.full = true;
            break;
        }
    }
    let next = offset + text.lines;
    let at_end = scan.is_at_end();
    let total = total(scan, next, at_end).map_err(refused)?;
    let line_endings = match text.crlf {
        0 => None,
        _ => {
            let has_open = at_end && !ends_with_line_feed(scan).map_err(refused)?;
            let is_mixed = text.crlf + u64::from(has_open) < text.lines;
            Some(if is_mixed { "CRLF and LF" } else { "CRLF" })
        }
    };
    let truncated_by = match text.full {
        true => TruncatedBy::Bytes,
        false => TruncatedBy::Lines,
    };
    let page = Page {
        note: text.note(),
        content: Some(text.content),
        file_size: Some(scan.file_size()),
        total_lines: total,
        lines_read: Some(text.lines),
        line_endings,
        next_offset: (!at_end).then_some(next),
        truncated_by: (!at_end).then_some(truncated_by),
        version: Some(scan.version().to_owned()),
        ..Page::default()
    };
    Ok((page, text.replaced))
}

/// Goes to the line `offset`.
pub(super) fn begin(scan: &mut Scan<'_>, path: &str, offset: u64) -> Result<(), Refusal> {
    let refused = |error: Error| Refusal::of(path, error);
    if offset <= 1 {
        return Ok(());
    }
    let before = scan.skip(offset - 1).map_err(refused)?;
    if scan.is_at_end() {
        // Nothing is where the line would begin: count what there is.
        let open = u64::from(!ends_with_line_feed(scan).map_err(refused)?);
        let total = before + open;
        let lines = if total == 1 { "line" } else { "lines" };
        return Err(Refusal::report(format!(
            "offset {offset} is beyond the file length of {total} {lines}"
        )));
    }
    Ok(())
}

/// Returns how many lines the file has, unless that would take too long. The next line to read is `next`.
pub(super) fn total(scan: &mut Scan<'_>, next: u64, at_end: bool) -> Result<Option<u64>, Error> {
    Ok(if at_end {
        Some(next - 1)
    } else if scan.size() <= MAX_COUNTED {
        Some(next - 1 + scan.count_rest()?)
    } else {
        None
    })
}

/// Returns the note about bytes that were replaced, because they are no text.
pub(super) fn replaced(encoding: Encoding) -> String {
    let name = encoding.name();
    format!(
        "some bytes are not {name} and are shown as U+FFFD; edit_files keeps them, and cannot match them"
    )
}

fn ends_with_line_feed(scan: &Scan<'_>) -> Result<bool, Error> {
    Ok(scan.size() == 0 || scan.last()? == Some(b'\n'))
}

/// The lines of a page.
#[derive(Debug)]
struct Text {
    encoding: Encoding,
    /// Whether a line with zero bytes is shown.
    shows_zeros: bool,
    /// Whether a line has zero bytes.
    has_zeros: bool,
    content: String,
    lines: u64,
    /// Whether the next line did not fit.
    full: bool,
    /// Whether bytes were replaced that are no text.
    replaced: bool,
    /// How many characters are shown by their numbers.
    escaped: u64,
    /// How many lines end with a carriage return and a line feed.
    crlf: u64,
}

/// What is shown of a line.
struct Shown {
    text: String,
    /// Whether some of it is no text.
    replaced: bool,
    /// How many characters are shown by their numbers.
    escaped: u64,
    is_crlf: bool,
}

impl Text {
    fn new(encoding: Encoding, shows_zeros: bool) -> Self {
        Self {
            encoding,
            shows_zeros,
            has_zeros: false,
            content: String::new(),
            lines: 0,
            full: false,
            replaced: false,
            escaped: 0,
            crlf: 0,
        }
    }

    /// Adds a line, unless it does not fit. The first one always does.
    fn push(&mut self, number: u64, line: &Line) -> bool {
        let has_zeros = memchr::memchr(0, &line.start).is_some();
        let shown = match has_zeros && !self.shows_zeros {
            true => Shown {
                text: format!("[{} bytes that are not text]", line.length),
                replaced: false,
                escaped: 0,
                is_crlf: false,
            },
            false => shown(line, number == 1, self.encoding),
        };
        let separator = if self.lines == 0 { "" } else { "\n" };
        let line = format!("{separator}{number}\t{}", shown.text);
        if self.content.len() + line.len() > MAX_BYTES {
            return false;
        }
        self.content.push_str(&line);
        self.lines += 1;
        self.replaced |= shown.replaced;
        self.has_zeros |= has_zeros;
        self.escaped += shown.escaped;
        self.crlf += u64::from(shown.is_crlf);
        true
    }

    fn note(&self) -> Option<String> {
        let replaced = self.replaced.then(|| replaced(self.encoding));
        let characters = match self.escaped {
            1 => "character without ink is",
            _ => "characters without ink are",
        };
        let escaped = (self.escaped > 0).then(|| {
            let count = self.escaped;
            let (example, edits) = match self.has_zeros && self.shows_zeros {
                true => ("<U+0000>", "edit_files cannot edit a file with zero bytes"),
                false => ("<U+200B>", "edit_files takes that for the character"),
            };
            format!("{count} {characters} shown by number, such as {example}; {edits}")
        });
        let notes: Vec<_> = replaced.into_iter().chain(escaped).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

/// Returns what is shown of a line. A byte order mark at the beginning of the file is none of its text.
fn shown(line: &Line, is_first: bool, encoding: Encoding) -> Shown {
    let is_cut = line.length > MAX_LINE as u64;
    let end = if is_cut {
        cut(&line.start)
    } else {
        line.start.len()
    };
    let start = line.start.get(..end).unwrap_or_default();
    let (text, replaced) = encoding.decode_lossy(start);
    let text = match text.strip_prefix('\u{FEFF}') {
        Some(text) if is_first => text,
        _ => &text,
    };
    // A carriage return at the end is a line ending.
    let (text, is_crlf) = match text.strip_suffix('\r') {
        Some(text) if !is_cut => (text, true),
        _ => (text, false),
    };
    let (text, escaped) = hidden::escape(text);
    let cut = if is_cut { CUT } else { "" };
    Shown {
        text: format!("{text}{cut}"),
        replaced,
        escaped,
        is_crlf,
    }
}

/// Returns where a long line is cut: within no character.
fn cut(start: &[u8]) -> usize {
    let is_boundary = |&end: &usize| start.get(end).is_none_or(|byte| byte & 0xc0 != 0x80);
    // A character has four bytes at most; what has no boundary there is no text.
    let first = MAX_LINE.saturating_sub(3);
    (first..=MAX_LINE)
        .rev()
        .find(is_boundary)
        .unwrap_or(MAX_LINE)
}
