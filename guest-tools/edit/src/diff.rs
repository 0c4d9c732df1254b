//! The difference between two versions of a file, in the unified format.

use std::fmt::{self, Write};

use imara_diff::{
    Algorithm, Diff, InternedInput, Interner, Token, UnifiedDiffConfig, UnifiedDiffPrinter,
};

/// How much of a difference is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most bytes of all.
    pub bytes: usize,
    /// The most bytes of one line.
    pub line: usize,
}

impl Bounds {
    /// Everything is shown.
    pub const NONE: Self = Self {
        bytes: usize::MAX,
        line: usize::MAX,
    };
}

/// What is put in the place of the rest of a line.
const CUT: &str = "... [truncated]";

/// Returns the difference as a unified diff with three lines of context; an empty text if there is none. Bytes that are no
/// text are replaced.
#[must_use]
pub fn diff(path: &str, old: &[u8], new: &[u8], bounds: Bounds) -> String {
    if old == new {
        return String::new();
    }
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let printer = Printer {
        lines: &input.interner,
        most: bounds.line,
    };
    let unified = diff.unified_diff(&printer, UnifiedDiffConfig::default(), &input);
    let mut text = Bounded {
        text: format!("--- {path}\n+++ {path}\n"),
        most: bounds.bytes,
        left_out: 0,
    };
    // Only a `Write` that fails makes this fail, and ours does not.
    _ = write!(text, "{unified}");
    text.finish()
}

/// A text that takes whole pieces until it is full, and counts the lines of the others.
struct Bounded {
    text: String,
    most: usize,
    left_out: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for line in text.split_inclusive('\n') {
            if self.left_out == 0 && self.text.len() + line.len() <= self.most {
                self.text.push_str(line);
            } else if line.ends_with('\n') {
                self.left_out += 1;
            } else {
                // The end of a line that is cut off; it is counted with its line feed.
                self.left_out = self.left_out.max(1);
            }
        }
        Ok(())
    }
}

impl Bounded {
    fn finish(mut self) -> String {
        if self.left_out > 0 {
            if !self.text.ends_with('\n') {
                self.text.push('\n');
            }
            let lines = self.left_out;
            _ = write!(self.text, "... [{lines} more lines of the diff]");
        }
        self.text
    }
}

struct Printer<'a> {
    lines: &'a Interner<&'a [u8]>,
    most: usize,
}

impl Printer<'_> {
    fn line(&self, f: &mut impl Write, sign: char, token: Token) -> fmt::Result {
        let line = self.lines[token];
        let (line, ended) = match line.strip_suffix(b"\n") {
            Some(line) => (line, true),
            None => (line, false),
        };
        let mut whole = String::with_capacity(line.len().min(4096) + 2);
        whole.push(sign);
        match line.get(..self.most.saturating_add(3)) {
            None => whole.push_str(&String::from_utf8_lossy(line)),
            Some(start) => {
                let start = String::from_utf8_lossy(start);
                let end = start.floor_char_boundary(self.most);
                whole.push_str(start.get(..end).unwrap_or_default());
                whole.push_str(CUT);
            }
        }
        whole.push('\n');
        f.write_str(&whole)?;
        if !ended {
            f.write_str("\\ No newline at end of file\n")?;
        }
        Ok(())
    }
}

impl UnifiedDiffPrinter for Printer<'_> {
    fn display_header(
        &self,
        mut f: impl Write,
        start_before: u32,
        start_after: u32,
        len_before: u32,
        len_after: u32,
    ) -> fmt::Result {
        // Lines are counted from 1, but where there are none, from the line before.
        let range = |start: u32, len: u32| match len {
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            _ => format!("{},{len}", start + 1),
        };
        let (before, after) = (
            range(start_before, len_before),
            range(start_after, len_after),
        );
        writeln!(f, "@@ -{before} +{after} @@")
    }

    fn display_context_token(&self, mut f: impl Write, token: Token) -> fmt::Result {
        self.line(&mut f, ' ', token)
    }

    fn display_hunk(&self, mut f: impl Write, before: &[Token], after: &[Token]) -> fmt::Result {
        for &token in before {
            self.line(&mut f, '-', token)?;
        }
        for &token in after {
            self.line(&mut f, '+', token)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(old: &str, new: &str) -> String {
        diff("p", old.as_bytes(), new.as_bytes(), Bounds::NONE)
    }

    #[test]
    fn the_unified_format() {
        assert_eq!(all("a\n", "a\n"), "");
        assert_eq!(all("a\n", "b\n"), "--- p\n+++ p\n@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(all("", "b\n"), "--- p\n+++ p\n@@ -0,0 +1 @@\n+b\n");
        assert_eq!(all("b\n", ""), "--- p\n+++ p\n@@ -1 +0,0 @@\n-b\n");
        let none = "\\ No newline at end of file";
        assert_eq!(
            all("a\nb", "a\nc"),
            format!("--- p\n+++ p\n@@ -1,2 +1,2 @@\n a\n-b\n{none}\n+c\n{none}\n")
        );
        assert_eq!(
            all("a\nb", "a\nb\n"),
            format!("--- p\n+++ p\n@@ -1,2 +1,2 @@\n a\n-b\n{none}\n+b\n")
        );
        let lines = |from: u32, to: u32| {
            (from..=to)
                .map(|line| format!("{line}\n"))
                .collect::<String>()
        };
        let new = lines(1, 9) + "new\n" + &lines(10, 30);
        assert_eq!(
            all(&lines(1, 30), &new),
            "--- p\n+++ p\n@@ -7,6 +7,7 @@\n 7\n 8\n 9\n+new\n 10\n 11\n 12\n"
        );
    }

    #[test]
    fn bytes_that_are_no_text_and_long_lines() {
        let shown = diff("p", b"\xff\n\xfe\n", b"\xff\nx\n", Bounds::NONE);
        assert!(shown.ends_with(" \u{fffd}\n-\u{fffd}\n+x\n"), "{shown}");
        let long = "ä".repeat(1000);
        let bounds = Bounds {
            line: 9,
            ..Bounds::NONE
        };
        let shown = diff("p", long.as_bytes(), b"short", bounds);
        assert!(shown.contains("-ääää... [truncated]\n"), "{shown}");
        assert!(shown.contains("+short\n"), "{shown}");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let old: String = (0..1000).map(|line| format!("old {line}\n")).collect();
        let bounds = Bounds {
            bytes: 100,
            ..Bounds::NONE
        };
        let shown = diff("p", old.as_bytes(), b"", bounds);
        let (lines, end) = shown.rsplit_once('\n').unwrap();
        assert!(
            lines.len() <= 100 && lines.ends_with(|last: char| last.is_ascii_digit()),
            "{shown}"
        );
        let kept = lines
            .lines()
            .filter(|line| line.starts_with("-old"))
            .count();
        assert_eq!(end, format!("... [{} more lines of the diff]", 1000 - kept));
    }

    /// Two large files with nothing in common would take a simple algorithm minutes.
    #[test]
    fn files_with_nothing_in_common() {
        let lines = |word: &str| {
            (0..200_000)
                .map(|line| format!("{word} {line}\n"))
                .collect::<String>()
        };
        let shown = all(&lines("old"), &lines("new"));
        assert_eq!(shown.lines().count(), 400_003);
    }
}
