//! Lines: which of them fit, and the clipping of the long ones.

use std::ops::Range;

/// Returns what stands in place of the bytes that are left out between the beginning and the end.
pub(crate) fn marker(omitted: u64) -> String {
    format!("\n\n... [omitted {omitted} bytes] ...\n\n")
}

/// What stands in place of the middle of a long line. Clients look for `... [truncated]`.
pub(crate) const CLIP: &str = " ... [truncated] ... ";

/// How far a cut may move to fall between two lines, in bytes.
const TO_A_LINE: usize = 256;

/// Which part of a line is not shown because the line is too long; `None`: it is not too long.
fn clip(line: &str, limit: usize) -> Option<Range<usize>> {
    let length = line.strip_suffix('\n').unwrap_or(line).len();
    if length <= limit {
        return None;
    }
    let room = limit.saturating_sub(CLIP.len());
    let start = line.floor_char_boundary(room / 2);
    let end = line.ceil_char_boundary(length - (room - room / 2));
    Some(start..end)
}

/// Returns how long a line is when it is shown. It is never longer than the line.
fn line_length(line: &str, limit: usize) -> usize {
    clip(line, limit).map_or(line.len(), |hidden| line.len() - hidden.len() + CLIP.len())
}

/// Returns how long a text is when its long lines are clipped.
pub(crate) fn shown_length(text: &str, limit: usize) -> usize {
    Lines(text).map(|line| line_length(line, limit)).sum()
}

/// Adds a text with its long lines clipped, and returns which parts of it are not shown.
pub(crate) fn push_clipped(output: &mut String, text: &str, limit: usize) -> Vec<Range<usize>> {
    let mut hidden = Vec::new();
    let (mut start, mut shown) = (0, 0);
    for line in Lines(text) {
        if let Some(clip) = clip(line, limit) {
            let clip = start + clip.start..start + clip.end;
            output.extend([text.get(shown..clip.start).unwrap_or_default(), CLIP]);
            shown = clip.end;
            hidden.push(clip);
        }
        start += line.len();
    }
    output.push_str(text.get(shown..).unwrap_or_default());
    hidden
}

/// Returns the end of the beginning that is shown, so that it has at most `room` bytes when its lines are clipped.
///
/// If the text is `open`, more of its last line follows that is not here: no more than so much of that is shown.
pub(crate) fn head_end(text: &str, open: Option<usize>, room: usize, limit: usize) -> usize {
    let closed = if open.is_some() {
        last_line(text)
    } else {
        text.len()
    };
    let lines = text.get(..closed).unwrap_or_default();
    let (used, left) = fit(Lines(lines), room, limit);
    let rest = text.get(used..).unwrap_or_default();
    let next = Lines(rest).next().unwrap_or_default();
    let limit = open.filter(|_| used == closed).unwrap_or(limit);
    let part = next.floor_char_boundary(left.min(limit));
    used + worth(part, used, room)
}

/// Returns the start of the end that is shown, so that it has at most `room` bytes when its lines are clipped.
///
/// If the text is `open`, its first line began before it: no more than so much of that is shown.
pub(crate) fn tail_start(text: &str, open: Option<usize>, room: usize, limit: usize) -> usize {
    let closed = if open.is_some() { second_line(text) } else { 0 };
    let lines = text.get(closed..).unwrap_or_default();
    let (used, left) = fit(Lines(lines).rev(), room, limit);
    let end = text.len() - used;
    let rest = text.get(..end).unwrap_or_default();
    let next = Lines(rest).next_back().unwrap_or_default();
    let limit = open.filter(|_| end == closed).unwrap_or(limit);
    let start = next.ceil_char_boundary(next.len().saturating_sub(left.min(limit)));
    end - worth(next.len() - start, used, room)
}

/// Returns where the last line begins.
pub(crate) fn last_line(text: &str) -> usize {
    memchr::memrchr(b'\n', text.as_bytes()).map_or(0, |at| at + 1)
}

/// Returns where the second line begins.
pub(crate) fn second_line(text: &str) -> usize {
    memchr::memchr(b'\n', text.as_bytes()).map_or(text.len(), |at| at + 1)
}

/// The lines of a text, each with its line feed: what `split_inclusive` gives, in less time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<'a>(pub(crate) &'a str);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let (line, rest) = self.0.split_at(second_line(self.0));
        self.0 = rest;
        (!line.is_empty()).then_some(line)
    }
}

impl<'a> DoubleEndedIterator for Lines<'a> {
    fn next_back(&mut self) -> Option<&'a str> {
        let (rest, line) = self
            .0
            .split_at(last_line(self.0.strip_suffix('\n').unwrap_or(self.0)));
        self.0 = rest;
        (!line.is_empty()).then_some(line)
    }
}

/// Takes lines as long as they fit. Returns how long they are, and how much room is left.
fn fit<'a>(lines: impl Iterator<Item = &'a str>, room: usize, limit: usize) -> (usize, usize) {
    let (mut used, mut left) = (0, room);
    for line in lines {
        let Some(rest) = left.checked_sub(line_length(line, limit)) else {
            break;
        };
        used += line.len();
        left = rest;
    }
    (used, left)
}

/// Returns how much of a part of a line is shown: nothing, if the cut can fall between lines at little cost.
fn worth(part: usize, used: usize, room: usize) -> usize {
    let little = part <= TO_A_LINE.min(room / 4);
    if used > 0 && little { 0 } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clipped(text: &str, limit: usize) -> (String, usize) {
        let mut output = String::new();
        let hidden = push_clipped(&mut output, text, limit);
        assert_eq!(output.len(), shown_length(text, limit));
        (output, hidden.len())
    }

    #[test]
    fn a_long_line_keeps_both_ends_and_its_line_feed() {
        let long = "0123456789abcdefghijklmnopqrstuvwxyz";
        assert_eq!(clipped(long, 36), (long.to_owned(), 0));
        let text = format!("a\n{long}\r\nb\n{long}");
        let expected = "a\n01234 ... [truncated] ... vwxyz\r\nb\n01234 ... [truncated] ... uvwxyz";
        assert_eq!(clipped(&text, 32), (expected.to_owned(), 2));
    }

    #[test]
    fn splits_text_into_lines() {
        for text in ["", "a", "\n", "a\nb", "a\n\nb\n", "\n\n", "ä\n☃"] {
            let expected: Vec<_> = text.split_inclusive('\n').collect();
            assert_eq!(Lines(text).collect::<Vec<_>>(), expected);
            let backwards: Vec<_> = expected.into_iter().rev().collect();
            assert_eq!(Lines(text).rev().collect::<Vec<_>>(), backwards);
        }
    }

    #[test]
    fn clips_between_characters() {
        let (text, count) = clipped(&"☃".repeat(20), 32);
        assert_eq!((text.as_str(), count), ("☃ ... [truncated] ... ☃☃", 1));
    }

    #[test]
    fn cuts_between_lines_if_one_is_near() {
        let text = format!("{}\n{}\n", "a".repeat(1500), "b".repeat(1500));
        assert_eq!(head_end(&text, None, 1701, 2048), 1501);
        assert_eq!(head_end(&text, None, 1801, 2048), 1801);
        assert_eq!(tail_start(&text, None, 1701, 2048), 1501);
        assert_eq!(tail_start(&text, None, 1801, 2048), 1201);
        // A quarter of the room is too much.
        assert_eq!(head_end("aaa\nbbbb\n", None, 6, 2048), 6);
        assert_eq!(tail_start("aaaa\nbbb\n", None, 6, 2048), 3);
    }

    #[test]
    fn an_open_line_is_no_longer_than_the_limit() {
        let text = "x".repeat(9000);
        assert_eq!(head_end(&text, Some(2048), 8000, 2048), 2048);
        assert_eq!(tail_start(&text, Some(2048), 8000, 2048), 9000 - 2048);
    }
}
