//! Captured output as text for a model, truncated to a cap.
//!
//! Output arrives as raw bytes: its first and last ones, and how many there were in all. It leaves as text that fits a
//! cap, with exact numbers of what was left out. The stages are: decode and clean (control sequences are removed, what
//! was written over is resolved per line, and what has no ink is shown by its number), clip long lines, cut out the middle. Everything here is pure, takes linear time,
//! and knows neither processes nor the contract. The API that is compatible with the reference implementation renders in its
//! own way, see [`reference`](mod@reference).

mod binary;
mod clean;
mod edge;
pub mod hidden;
mod layout;
mod lines;
pub mod reference;
mod text;

use clean::clean;
use layout::{Known, Layout};

/// How many bytes of text a model is shown of one output, the marker of what is left out included.
pub const CAP: usize = 32 * 1024;

/// The smallest cap. There is room for the marker and some text on both sides of it.
pub const MIN_CAP: usize = 256;

/// The ends of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows<'a> {
    /// The first bytes.
    pub head: &'a [u8],
    /// The last bytes that are not in `head`.
    pub tail: &'a [u8],
    /// How many bytes there are in all; those that are in neither window lie between the two.
    pub total: u64,
}

/// Output as a model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The text; empty if the output is binary.
    pub text: String,
    /// Whether the output is no text: more than a third of its bytes, and more than sixteen, are no UTF-8 or control characters
    /// that texts do not have.
    pub is_binary: bool,
    /// How many stretches of bytes were no UTF-8 and became U+FFFD, as far as they were seen.
    pub encoding_errors: u64,
    /// How many characters without ink are shown by their numbers, such as `<U+200B>`, as far as they were seen.
    pub escaped: u64,
    /// What was left out; `None`: nothing.
    pub truncation: Option<Truncation>,
}

/// What a view leaves out, in bytes of the raw output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// How many bytes there were.
    pub original_bytes: u64,
    /// How many of them are not left out. The text stands for them, without what was written over or controls.
    pub retained_bytes: u64,
    /// How many of them are left out: those between the beginning and the end, whose number is in the marker, and those in the
    /// middle of clipped lines.
    pub omitted_bytes: u64,
    /// The offset of the first byte that is left out.
    pub omitted_from: u64,
    /// How many line feeds are left out; `None` if part of the stretch is in neither window.
    pub omitted_lines: Option<u64>,
    /// How many of the lines that are shown lost their middle.
    pub clipped_lines: u64,
    /// How it was done: always `head_tail`, which keeps the beginning and the end, of all and of each line.
    pub strategy: &'static str,
}

const STRATEGY: &str = "head_tail";

/// Renders output so that the text has at most `cap` bytes (a cap below [`MIN_CAP`] counts as that).
///
/// If all of it fits once it is clean, the text is all of it and nothing else. Otherwise long lines lose their middle, no
/// more than it takes, and if that is not enough the middle of all is replaced by a marker; both ends stay, and they are cut
/// between lines if that costs little. What is no UTF-8 becomes U+FFFD, except for a character that the edge of a window cut
/// in two: it counts as left out.
///
/// ```
/// use toolhost_view::{MIN_CAP, Windows, render};
///
/// let output = (1..=1000).map(|line| format!("{line}\n")).collect::<String>();
/// let view = render(Windows { head: output.as_bytes(), tail: b"", total: 3893 }, MIN_CAP);
/// assert!(view.text.starts_with("1\n2\n") && view.text.ends_with("999\n1000\n"));
/// assert_eq!(view.truncation.map(|truncation| truncation.omitted_bytes), Some(3673));
/// assert!(view.text.contains("\n\n... [omitted 3673 bytes] ...\n\n"));
///
/// let bar = b" 10%\r 50%\r100%\n\x1B[32mdone\x1B[0m\n";
/// let view = render(Windows { head: bar, tail: b"", total: bar.len() as u64 }, MIN_CAP);
/// assert_eq!(view.text, "100%\ndone\n");
/// ```
#[must_use]
pub fn render(output: Windows<'_>, cap: usize) -> View {
    let cap = cap.max(MIN_CAP);
    let seen = (output.head.len() + output.tail.len()) as u64;
    let total = output.total.max(seen);
    if binary::is_binary(&[output.head, output.tail]) {
        return View {
            text: String::new(),
            is_binary: true,
            encoding_errors: 0,
            escaped: 0,
            truncation: None,
        };
    }
    let (layout, encoding_errors, escaped, omitted_lines) = if total == seen {
        let joined = [output.head, output.tail].concat();
        let all = clean(&joined, 0);
        let layout = Layout::new(Known::All(&all), total, cap);
        let (from, to) = layout.omitted_stretch.unwrap_or_default();
        let omitted = joined.get(offset(from)..offset(to)).unwrap_or_default();
        let lines = omitted.iter().filter(|&&byte| byte == b'\n').count();
        (layout, all.encoding_errors, all.escaped, Some(lines as u64))
    } else {
        let (head, _) = (output.head).split_at(output.head.len() - edge::cut_at_end(output.head));
        let cut = match edge::cut_at_start(output.tail) {
            0 => clean::cut_at_start(output.tail, output.head),
            character => character,
        };
        let (_, tail) = output.tail.split_at(cut);
        let head = clean(head, 0);
        let tail = clean(tail, total - tail.len() as u64);
        let layout = Layout::new(Known::Ends(&head, &tail), total, cap);
        let errors = head.encoding_errors + tail.encoding_errors;
        (layout, errors, head.escaped + tail.escaped, None)
    };
    View {
        truncation: layout.truncation(total, omitted_lines),
        text: layout.text,
        is_binary: false,
        encoding_errors,
        escaped,
    }
}

/// A stretch of output as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The text, cleaned; empty if the stretch is binary.
    pub text: String,
    /// Whether the stretch is no text; see [`View::is_binary`].
    pub is_binary: bool,
    /// How many stretches of bytes were no UTF-8 and became U+FFFD.
    pub encoding_errors: u64,
    /// How many characters without ink are shown by their numbers.
    pub escaped: u64,
    /// How many of the bytes it stands for. The next stretch begins after them.
    pub used: usize,
}

/// Decodes and cleans a stretch of output of at most `max` bytes. If `more` may follow, a character or a control sequence that
/// is cut at the end is left to the next stretch, unless nothing else fits into this one.
#[must_use]
pub fn page(bytes: &[u8], more: bool, max: usize) -> Page {
    let used = match bytes.len() - if more { incomplete(bytes) } else { 0 } {
        0 if bytes.len() >= max => bytes.len(),
        used => used,
    };
    let bytes = bytes.get(..used).unwrap_or(bytes);
    let is_binary = binary::is_binary(&[bytes]);
    let text = clean(if is_binary { b"" } else { bytes }, 0);
    Page {
        is_binary,
        encoding_errors: text.encoding_errors,
        escaped: text.escaped,
        text: text.into_string(),
        used,
    }
}

/// Returns how many bytes at the end are a character or a control sequence that is not complete: what is still being written.
#[must_use]
pub fn incomplete(bytes: &[u8]) -> usize {
    match edge::cut_at_end(bytes) {
        0 => clean::cut_at_end(bytes),
        character => character,
    }
}

fn offset(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
