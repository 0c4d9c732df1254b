//! How captured output becomes what a model reads.
//!
//! Output arrives as raw bytes: its first and last ones, and how many there were in all. It leaves as text that fits a
//! cap, with exact numbers of what was left out. The stages are: decode ([`render`] and [`page`]), then cut
//! ([`render`]). Everything here is pure, and knows neither processes nor the contract. The API that is compatible with
//! the reference implementation renders in its own way, see [`reference`](mod@reference).

mod cut;
mod decode;
pub mod reference;

use cut::Cut;
use decode::Text;

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
    /// The text.
    pub text: String,
    /// What was left out; `None`: nothing.
    pub truncation: Option<Truncation>,
}

/// What a view leaves out, in bytes of the raw output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// How many bytes there were.
    pub original_bytes: u64,
    /// How many of them the text stands for.
    pub retained_bytes: u64,
    /// How many of them are left out, in one stretch. It is the number in the marker.
    pub omitted_bytes: u64,
    /// The offset of the first byte that is left out.
    pub omitted_from: u64,
    /// How many line feeds are left out; `None` if part of the stretch is in neither window.
    pub omitted_lines: Option<u64>,
    /// How it was done: always `head_tail`, which keeps the beginning and the end.
    pub strategy: &'static str,
}

/// Renders output so that the text has at most `cap` bytes (a cap below [`MIN_CAP`] counts as that).
///
/// If all of it fits, the text is all of it and nothing else. Otherwise the middle is replaced by a marker; both ends
/// stay, and they are cut between lines if that costs little. What is no UTF-8 becomes U+FFFD, except for a character
/// that the edge of a window cut in two: it counts as left out.
///
/// ```
/// use toolhost_view::{MIN_CAP, Windows, render};
///
/// let output = (1..=1000).map(|line| format!("{line}\n")).collect::<String>();
/// let view = render(Windows { head: output.as_bytes(), tail: b"", total: 3893 }, MIN_CAP);
/// assert!(view.text.starts_with("1\n2\n") && view.text.ends_with("999\n1000\n"));
/// assert_eq!(view.truncation.map(|truncation| truncation.omitted_bytes), Some(3673));
/// assert!(view.text.contains("\n\n... [omitted 3673 bytes] ...\n\n"));
/// ```
#[must_use]
pub fn render(output: Windows<'_>, cap: usize) -> View {
    let cap = cap.max(MIN_CAP);
    let joined = [output.head, output.tail].concat();
    let total = output.total.max(joined.len() as u64);
    if total == joined.len() as u64 {
        // A stage that cleans the text belongs here: it maps a `Text` to a `Text`, and keeps its offsets.
        let all = Text::decode(&joined, 0);
        if all.as_str().len() <= cap {
            return View {
                text: all.into_string(),
                truncation: None,
            };
        }
        let cut = Cut::new(&all, &all, total, cap);
        let omitted = joined
            .iter()
            .skip(offset(cut.from))
            .take(offset(cut.omitted()));
        let lines = omitted.filter(|&&byte| byte == b'\n').count() as u64;
        view(&cut, total, Some(lines))
    } else {
        let head = Text::decode_cut_at_end(output.head, 0);
        let tail = Text::decode_cut_at_start(output.tail, total - output.tail.len() as u64);
        view(&Cut::new(&head, &tail, total, cap), total, None)
    }
}

fn view(cut: &Cut<'_>, total: u64, omitted_lines: Option<u64>) -> View {
    let omitted_bytes = cut.omitted();
    let truncation = Truncation {
        original_bytes: total,
        retained_bytes: total - omitted_bytes,
        omitted_bytes,
        omitted_from: cut.from,
        omitted_lines,
        strategy: "head_tail",
    };
    let text = [cut.head, &cut::marker(omitted_bytes), cut.tail].concat();
    View {
        text,
        truncation: Some(truncation),
    }
}

/// A stretch of output as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The text.
    pub text: String,
    /// How many of the bytes it stands for. The next stretch begins after them.
    pub used: usize,
}

/// Decodes a stretch of output. If `more` follows, a character that is cut at the end is left to the next stretch.
#[must_use]
pub fn page(bytes: &[u8], more: bool) -> Page {
    let whole = bytes.len() - decode::cut_at_end(bytes);
    // A stretch too short for even one character would never end.
    let used = if more && whole > 0 {
        whole
    } else {
        bytes.len()
    };
    Page {
        text: String::from_utf8_lossy(bytes.get(..used).unwrap_or(bytes)).into_owned(),
        used,
    }
}

fn offset(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
