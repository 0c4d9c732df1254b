//! Captured output as `/api/v0/processes/{id}/output` shows it.
//!
//! It is compatible with the reference implementation: the first and the last 16 KiB as they are, nothing cleaned, long
//! lines clipped. Unlike there, the marker is part of the cap, nothing is inserted where nothing is left out, cuts fall
//! between characters (between lines, if that costs little), and a clipped line keeps both of its ends.
//!
//! The stages are: decode, clip lines, cut.

use crate::lines::{self, marker};
use crate::{Windows, edge};

/// The smallest limit of a line, in bytes: the text that replaces its middle, and a character on both sides of it.
pub const MIN_LINE: usize = 32;

/// How much of an output is shown, in bytes of text (a byte that is no UTF-8 is shown as U+FFFD, which has 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// How long the beginning may be, if something is left out.
    pub head: usize,
    /// How long the end may be, if something is left out.
    pub tail: usize,
    /// How long a line may be, without its line feed. A limit below [`MIN_LINE`] counts as that.
    pub line: usize,
    /// How long all of it may be, the marker of what is left out included. It wins over `head` and `tail`.
    pub cap: usize,
}

impl Default for Sizes {
    /// The reference's sizes: 16 KiB of the beginning and of the end, lines of 2 KiB, 32 KiB in all.
    fn default() -> Self {
        Self {
            head: 16 * 1024,
            tail: 16 * 1024,
            line: 2 * 1024,
            cap: 32 * 1024,
        }
    }
}

/// Output as a client of the API reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendering {
    /// The text.
    pub output: String,
    /// What is not in the text; `None`: it is all there.
    pub truncated: Option<Omitted>,
}

/// What a rendering does not show.
///
/// As in the reference, the bytes that clipped lines lost are counted nowhere, and `original_bytes` is not the sum of
/// the two other counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Omitted {
    /// How many raw bytes there were.
    pub original_bytes: u64,
    /// How many bytes the rendered text has, with the marker and what stands in clipped lines.
    pub retained_bytes: u64,
    /// How many raw bytes are left out between the beginning and the end that are shown. It is the number in the marker;
    /// 0: nothing is, there is no marker, and only lines were clipped.
    pub omitted_bytes: u64,
    /// How many of the lines that are shown lost their middle. A line that the marker interrupts is not one of them.
    pub clipped_lines: u64,
    /// How it was done: always `head_tail`, which keeps the beginning and the end.
    pub strategy: &'static str,
}

/// Renders output so that the text has at most [`Sizes::cap`] bytes.
///
/// If the text, with its long lines clipped, fits [`Sizes::head`] and [`Sizes::tail`] together as well as the cap, then
/// nothing is left out. Otherwise a marker replaces the middle. A line that the marker interrupts is shown up to the
/// limit of a line before the marker, and as much after it. A cap too small for the marker gives the marker alone.
///
/// What is no UTF-8 becomes U+FFFD, except for a character that the edge of a window cut in two: it counts as left out.
///
/// ```
/// use toolhost_view::{Windows, reference::{Sizes, render}};
///
/// let sizes = Sizes { head: 10, tail: 10, ..Sizes::default() };
/// let rendering = render(Windows { head: b"one\ntwo\nthree\n", tail: b"four\nfive\nsix\n", total: 28 }, sizes);
/// assert_eq!(rendering.output, "one\ntwo\n\n\n... [omitted 11 bytes] ...\n\nfive\nsix\n");
/// assert_eq!(rendering.truncated.map(|truncation| truncation.omitted_bytes), Some(11));
/// ```
#[must_use]
pub fn render(output: Windows<'_>, sizes: Sizes) -> Rendering {
    let line = sizes.line.max(MIN_LINE);
    let seen = output.head.len().saturating_add(output.tail.len());
    let total = output.total.max(seen as u64);
    if total == seen as u64 {
        render_all(&[output.head, output.tail].concat(), sizes, line)
    } else {
        // No more bytes can be left out than there are, so that this marker is the longest.
        let rooms = Rooms::new(sizes, total);
        let (head, _) = (output.head).split_at(output.head.len() - edge::cut_at_end(output.head));
        let (_, tail) = output.tail.split_at(edge::cut_at_start(output.tail));
        let head_text = String::from_utf8_lossy(head);
        let tail_text = String::from_utf8_lossy(tail);
        let (shown_head, _) =
            head_text.split_at(lines::head_end(&head_text, Some(line), rooms.head, line));
        let (hidden, shown_tail) =
            tail_text.split_at(lines::tail_start(&tail_text, Some(line), rooms.tail, line));
        let from = raw_offset(head, shown_head.len()) as u64;
        let to = total - tail.len() as u64 + raw_offset(tail, hidden.len()) as u64;
        join(shown_head, to.saturating_sub(from), shown_tail, total, line)
    }
}

/// Renders an output of which nothing is missing.
fn render_all(bytes: &[u8], sizes: Sizes, line: usize) -> Rendering {
    let total = bytes.len() as u64;
    let text = String::from_utf8_lossy(bytes);
    let fits = sizes.head.saturating_add(sizes.tail).min(sizes.cap);
    if lines::shown_length(&text, line) <= fits {
        return join(&text, 0, "", total, line);
    }
    // Both ends together have less room than the text needs, so that they cannot meet.
    let rooms = Rooms::new(sizes, total);
    let head_end = lines::head_end(&text, None, rooms.head, line);
    let tail_start = lines::tail_start(&text, None, rooms.tail, line);
    let (head, _) = text.split_at(head_end);
    let (_, tail) = text.split_at(tail_start);
    let omitted = raw_offset(bytes, tail_start).saturating_sub(raw_offset(bytes, head_end));
    join(head, omitted as u64, tail, total, line)
}

/// How much text both ends may have, so that the marker fits between them.
struct Rooms {
    head: usize,
    tail: usize,
}

impl Rooms {
    fn new(sizes: Sizes, total: u64) -> Self {
        let room = sizes.cap.saturating_sub(marker(total).len());
        let tail = sizes.tail.min(room - sizes.head.min(room / 2));
        let head = sizes.head.min(room - tail);
        Self { head, tail }
    }
}

/// Clips the lines of both ends, and puts the marker between them if something is left out.
fn join(head: &str, omitted_bytes: u64, tail: &str, total: u64, line: usize) -> Rendering {
    let mut output = String::new();
    let in_head = lines::push_clipped(&mut output, head, line).len();
    if omitted_bytes > 0 {
        output.push_str(&marker(omitted_bytes));
    }
    let in_tail = lines::push_clipped(&mut output, tail, line).len();
    let clipped_lines = (in_head + in_tail) as u64;
    let truncation = Omitted {
        original_bytes: total,
        retained_bytes: output.len() as u64,
        omitted_bytes,
        clipped_lines,
        strategy: "head_tail",
    };
    Rendering {
        output,
        truncated: (omitted_bytes > 0 || clipped_lines > 0).then_some(truncation),
    }
}

/// Returns how many of the bytes the decoded text stands for up to this position.
///
/// The bytes are decoded once more, because a table of offsets needs many times the memory of the text in the worst case.
fn raw_offset(bytes: &[u8], position: usize) -> usize {
    let (mut text, mut raw) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if position <= text + valid {
            return raw + (position - text);
        }
        text += valid + char::REPLACEMENT_CHARACTER.len_utf8();
        raw += valid + chunk.invalid().len();
    }
    raw
}

/// A stretch of output as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The text.
    pub text: String,
    /// How many of the bytes it stands for. The next stretch begins after them.
    pub used: usize,
}

/// Decodes a stretch of output, and cleans nothing. If `more` follows, a character that is cut at the end is left to the next
/// stretch.
#[must_use]
pub fn page(bytes: &[u8], more: bool) -> Page {
    let used = whole(bytes.len(), if more { edge::cut_at_end(bytes) } else { 0 });
    Page {
        text: String::from_utf8_lossy(bytes.get(..used).unwrap_or(bytes)).into_owned(),
        used,
    }
}

/// Returns how much of a stretch is used if this much at its end is incomplete. One that is too short for even one character
/// would never end, so that it is used all the same.
fn whole(length: usize, incomplete: usize) -> usize {
    match length - incomplete {
        0 => length,
        whole => whole,
    }
}

#[cfg(test)]
mod rows;
#[cfg(test)]
mod tests;
