//! A page of numbered lines, out of a file that comes in pieces.

use toolhost_http::process_values::unfinished;

/// The text that replaces the rest of a line that is too long.
const CUT: &str = "... [truncated]";

/// The lines to read, and the limits of their size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The number of the first line, from 1 on.
    pub(super) first: u64,
    /// The most lines to read.
    pub(super) lines: u64,
    /// The most bytes of a line; the rest of it is left out.
    pub(super) max_line_bytes: usize,
    /// The most lines of a page. More are an error, not a shorter page.
    pub(super) max_lines: u64,
    /// The most bytes of a page, with the numbers of its lines. More are an error as well.
    pub(super) max_bytes: usize,
}

/// A page, when the whole file has been seen.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) content: String,
    pub(super) lines_read: u64,
    pub(super) total_lines: u64,
}

/// A page under way.
#[derive(Debug)]
pub(super) struct Page {
    window: Window,
    content: String,
    /// The size of the content, in bytes of the file. Bytes that are not UTF-8 take more room in `content`.
    bytes: usize,
    lines_read: u64,
    /// The number of lines that have ended.
    ended: u64,
    /// Whether a line has begun that has not ended.
    begun: bool,
    /// The first bytes of that line. One byte more than is shown tells that the line is longer.
    line: Vec<u8>,
}

impl Page {
    pub(super) fn new(window: Window) -> Self {
        Self {
            window,
            content: String::new(),
            bytes: 0,
            lines_read: 0,
            ended: 0,
            begun: false,
            line: Vec::new(),
        }
    }

    /// Goes over the next bytes of the file. Fails as soon as the page is larger than it may be.
    pub(super) fn feed(&mut self, data: &[u8]) -> Result<(), String> {
        let mut rest = data;
        while !rest.is_empty() {
            if self.lines_read == self.window.lines {
                // Behind the page, lines are only counted.
                self.ended += memchr::memchr_iter(b'\n', rest).count() as u64;
                self.begun = !rest.ends_with(b"\n");
                break;
            }
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (line, behind) = rest.split_at(end);
            self.extend(line);
            self.begun = true;
            rest = match behind.split_first() {
                Some((_, behind)) => {
                    self.end_line()?;
                    behind
                }
                None => behind,
            };
        }
        Ok(())
    }

    /// Ends the file, and returns the page.
    pub(super) fn finish(mut self) -> Result<Read, String> {
        // The last line may have no line feed; if it has one, there is no empty line behind it.
        if self.begun {
            self.end_line()?;
        }
        let (first, total) = (self.window.first, self.ended);
        if total > 0 && first > total {
            return Err(format!(
                "offset {first} is beyond the file length of {total} lines"
            ));
        }
        Ok(Read {
            content: self.content,
            lines_read: self.lines_read,
            total_lines: total,
        })
    }

    /// Returns whether the line under way is one of the page.
    fn is_wanted(&self) -> bool {
        self.ended + 1 >= self.window.first && self.lines_read < self.window.lines
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.is_wanted() {
            let room = (self.window.max_line_bytes + 1).saturating_sub(self.line.len());
            self.line
                .extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
    }

    fn end_line(&mut self) -> Result<(), String> {
        let wanted = self.is_wanted();
        self.ended += 1;
        self.begun = false;
        if !wanted {
            return Ok(());
        }
        if self.lines_read == self.window.max_lines {
            return Err(too_large(self.window.max_lines, "lines"));
        }
        let (shown, cut) = match self.line.get(..self.window.max_line_bytes) {
            Some(start) if start.len() < self.line.len() => {
                let (whole, _) = start.split_at(start.len() - unfinished(start));
                (whole, CUT)
            }
            _ => (self.line.as_slice(), ""),
        };
        let separator = if self.lines_read > 0 { "\n" } else { "" };
        let number = format!("{separator}{}\t", self.ended);
        self.bytes += number.len() + shown.len() + cut.len();
        if self.bytes > self.window.max_bytes {
            return Err(too_large(self.window.max_bytes as u64, "bytes"));
        }
        self.content.push_str(&number);
        self.content.push_str(&String::from_utf8_lossy(shown));
        self.content.push_str(cut);
        self.lines_read += 1;
        self.line.clear();
        Ok(())
    }
}

fn too_large(most: u64, what: &str) -> String {
    format!(
        "output would exceed {most} {what}. Read less at a time using offset and limit parameters."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window {
        first: 1,
        lines: 2_000,
        max_line_bytes: 1_024,
        max_lines: 2_000,
        max_bytes: 32 << 10,
    };

    fn page(window: Window, text: &[u8], piece: usize) -> Result<Read, String> {
        let mut page = Page::new(window);
        for piece in text.chunks(piece) {
            page.feed(piece)?;
        }
        page.finish()
    }

    fn content(window: Window, text: &str) -> Result<String, String> {
        let whole = page(window, text.as_bytes(), usize::MAX);
        // However the file is cut into pieces, the page is the same.
        for piece in 1..=text.len().min(7) {
            assert_eq!(page(window, text.as_bytes(), piece), whole, "{piece}");
        }
        whole.map(|page| page.content)
    }

    fn counts(window: Window, text: &str) -> (u64, u64) {
        let page = page(window, text.as_bytes(), 3).unwrap();
        (page.lines_read, page.total_lines)
    }

    #[test]
    fn lines_are_numbered() {
        assert_eq!(content(WINDOW, "a\nb\nc").unwrap(), "1\ta\n2\tb\n3\tc");
        assert_eq!(content(WINDOW, "a\r\nb").unwrap(), "1\ta\r\n2\tb");
        assert_eq!(content(WINDOW, "\n\n").unwrap(), "1\t\n2\t");
        assert_eq!(content(WINDOW, "").unwrap(), "");
        assert_eq!(counts(WINDOW, ""), (0, 0));
        assert_eq!(counts(WINDOW, "a\nb\n"), (2, 2));
        assert_eq!(counts(WINDOW, "a\nb"), (2, 2));
    }

    #[test]
    fn a_window_is_a_part_and_all_is_counted() {
        let window = Window {
            first: 2,
            lines: 2,
            ..WINDOW
        };
        for text in ["a\nb\nc\nd", "a\nb\nc\nd\n"] {
            assert_eq!(content(window, text).unwrap(), "2\tb\n3\tc");
            assert_eq!(counts(window, text), (2, 4));
        }
        let beyond = content(window, "a\n").unwrap_err();
        assert_eq!(beyond, "offset 2 is beyond the file length of 1 lines");
        assert_eq!(content(window, "").unwrap(), "");
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let window = Window {
            max_line_bytes: 4,
            ..WINDOW
        };
        for (line, shown) in [
            ("abcd", "abcd"),
            ("abcde", "abcd... [truncated]"),
            ("abcä", "abc... [truncated]"),
            ("abää", "abä... [truncated]"),
            ("a日本", "a日... [truncated]"),
            ("ab日本", "ab... [truncated]"),
            ("x🦀", "x... [truncated]"),
            ("🦀", "🦀"),
        ] {
            let text = format!("{line}\nnext");
            let expected = format!("1\t{shown}\n2\tnext");
            assert_eq!(content(window, &text).unwrap(), expected, "{line}");
        }
        // Bytes that are no text are cut anywhere.
        let bytes = page(window, b"\xff\xff\xff\xff\xff", 2).unwrap();
        assert_eq!(
            bytes.content,
            "1\t\u{fffd}\u{fffd}\u{fffd}\u{fffd}... [truncated]"
        );
    }

    #[test]
    fn more_than_may_be_shown_is_an_error() {
        let window = Window {
            max_lines: 2,
            max_bytes: 9,
            ..WINDOW
        };
        assert_eq!(content(window, "ab\ncd").unwrap(), "1\tab\n2\tcd");
        let lines = content(window, "a\nb\nc").unwrap_err();
        assert_eq!(
            lines,
            "output would exceed 2 lines. Read less at a time using offset and limit parameters."
        );
        let bytes = content(window, "ab\ncde").unwrap_err();
        assert_eq!(
            bytes,
            "output would exceed 9 bytes. Read less at a time using offset and limit parameters."
        );
        let few = Window { lines: 2, ..window };
        assert_eq!(content(few, "a\nb\nc").unwrap(), "1\ta\n2\tb");
    }
}
