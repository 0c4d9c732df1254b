//! Which part of a text is left out, so that the rest and a marker fit a cap.

use crate::decode::Text;

/// How far a cut may move to fall between two lines, in bytes.
const TO_A_LINE: usize = 256;

/// Returns what stands in place of the bytes that are left out.
pub(crate) fn marker(omitted: u64) -> String {
    format!("\n\n... [omitted {omitted} bytes] ...\n\n")
}

/// The two ends that are kept, and the raw bytes that are not.
#[derive(Debug)]
pub(crate) struct Cut<'a> {
    /// The beginning of the text.
    pub(crate) head: &'a str,
    /// The end of the text.
    pub(crate) tail: &'a str,
    /// The offset of the first raw byte that is left out.
    pub(crate) from: u64,
    /// The offset of the first raw byte of the end.
    to: u64,
}

impl<'a> Cut<'a> {
    /// Takes the beginning of one text and the end of another, which may be the same if it is longer than the cap.
    pub(crate) fn new(head: &'a Text, tail: &'a Text, total: u64, cap: usize) -> Self {
        // No more bytes can be left out than there are, so that this marker is the longest.
        let room = cap.saturating_sub(marker(total).len());
        let (head_text, tail_text) = (head.as_str(), tail.as_str());
        // Each end gets half of the room, and what the other one does not need.
        let for_tail = room - head_text.len().min(room / 2);
        let for_head = room - tail_text.len().min(for_tail);

        let reach = TO_A_LINE.min(room / 4);
        let head_end = line_before(head_text, floor(head_text, for_head), reach);
        let tail_start = ceil(tail_text, tail_text.len().saturating_sub(for_tail));
        let tail_start = line_after(tail_text, tail_start, reach);
        Self {
            head: head_text.get(..head_end).unwrap_or_default(),
            tail: tail_text.get(tail_start..).unwrap_or_default(),
            from: head.raw_offset(head_end),
            to: tail.raw_offset(tail_start),
        }
    }

    /// Returns how many raw bytes are left out.
    pub(crate) fn omitted(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

/// Returns the end of the last line that ends at most `reach` bytes before a position, or else the position.
fn line_before(text: &str, position: usize, reach: usize) -> usize {
    let start = position.saturating_sub(reach);
    let near = text.as_bytes().get(start..position).unwrap_or_default();
    near.iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(position, |found| start + found + 1)
}

/// Returns the start of the first line that starts at most `reach` bytes after a position, or else the position.
fn line_after(text: &str, position: usize, reach: usize) -> usize {
    // The line feed before the position counts: a line starts right there.
    let start = position.saturating_sub(1);
    let near = text.as_bytes().iter().skip(start).take(reach);
    let next = near
        .take(text.len().saturating_sub(start + 1))
        .position(|&byte| byte == b'\n');
    next.map_or(position, |found| (start + found + 1).max(position))
}

fn floor(text: &str, position: usize) -> usize {
    text.floor_char_boundary(position.min(text.len()))
}

fn ceil(text: &str, position: usize) -> usize {
    text.ceil_char_boundary(position.min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_lines_near_a_position() {
        let text = "one\ntwo\nthree";
        assert_eq!(line_before(text, 6, 10), 4);
        assert_eq!(line_before(text, 8, 10), 8);
        assert_eq!(line_before(text, 6, 1), 6);
        assert_eq!(line_after(text, 5, 10), 8);
        assert_eq!(line_after(text, 4, 10), 4);
        assert_eq!(line_after(text, 5, 2), 5);
        assert_eq!(line_after(text, 9, 10), 9);
    }

    #[test]
    fn never_gives_up_the_end_for_a_line() {
        assert_eq!(line_after("aaaa\n", 2, 10), 2);
    }
}
