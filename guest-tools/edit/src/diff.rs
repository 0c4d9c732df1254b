//! The difference between two versions of a file, in the unified format.

mod hunks;

use std::fmt::Write;
use std::ops::Range;

use hunks::{Hunk, hunks};

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

/// How many lines are shown before and after what differs.
const CONTEXT: usize = 3;

/// With less room than this beside its header, a diff says nothing.
const LEAST: usize = 64;

/// What is put in the place of the rest of a line.
const CUT: &str = "... [truncated]";

/// Returns the difference as a unified diff with three lines of context; an empty text if there is none. Bytes that are no
/// text are replaced.
///
/// It takes time and memory in proportion to the files. Where more than some thousand lines lie between the first and the last
/// that differ, it may show more than the least that differs.
#[must_use]
pub fn diff(path: &str, old: &[u8], new: &[u8], bounds: Bounds) -> String {
    if old == new {
        return String::new();
    }
    if bounds.bytes < path.len().saturating_mul(2) + LEAST {
        return "... [the diff is left out]".to_owned();
    }
    let mut output = Output {
        text: format!("--- {path}\n+++ {path}\n"),
        bounds,
        left_out: 0,
    };
    let (mut old, mut new) = (Lines::of(old), Lines::of(new));
    let hunks = hunks(old.rest, new.rest);
    let mut rest = hunks.as_slice();
    while let Some(first) = rest.first() {
        // Hunks that are near each other are shown together.
        let near = |pair: &[Hunk]| match pair {
            [one, next] => next.old.start - one.old.end <= 2 * CONTEXT,
            _ => false,
        };
        let together = 1 + rest.windows(2).take_while(|pair| near(pair)).count();
        let (group, behind) = rest.split_at(together);
        let last = group.last().unwrap_or(first);
        output.group(group, first, last, &mut old, &mut new);
        rest = behind;
    }
    output.finish()
}

/// Returns which lines of the new version differ, such as `lines 3-5 and 9`.
pub(crate) fn changed_lines(old: &[u8], new: &[u8]) -> String {
    const NAMED: usize = 5;
    let hunks = hunks(old, new);
    let named = hunks.iter().take(NAMED).map(|hunk| {
        let (first, last) = (hunk.new.start + 1, hunk.new.end);
        match last.checked_sub(first) {
            // Lines are gone that were before this one.
            None | Some(0) => first.to_string(),
            Some(_) => format!("{first}-{last}"),
        }
    });
    let named: Vec<_> = named.collect();
    let more = match hunks.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more places"),
    };
    let is_one = named.len() == 1 && more.is_empty() && !named.iter().any(|one| one.contains('-'));
    let noun = if is_one { "line" } else { "lines" };
    format!("{noun} {}{more}", named.join(", "))
}

/// The lines of a text that were not gone over.
struct Lines<'a> {
    rest: &'a [u8],
    /// How many were.
    line: usize,
}

impl<'a> Lines<'a> {
    fn of(rest: &'a [u8]) -> Self {
        Self { rest, line: 0 }
    }

    /// Returns the next line with its line feed.
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(b'\n', self.rest).map_or(self.rest.len(), |end| end + 1);
        let (line, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        self.line += 1;
        (!line.is_empty()).then_some(line)
    }

    fn go_to(&mut self, line: usize) {
        while self.line < line && self.next().is_some() {}
    }
}

/// A text that takes whole lines until it is full, and counts the others.
struct Output {
    text: String,
    bounds: Bounds,
    left_out: usize,
}

impl Output {
    /// Adds hunks with the lines around them.
    fn group(
        &mut self,
        group: &[Hunk],
        first: &Hunk,
        last: &Hunk,
        old: &mut Lines<'_>,
        new: &mut Lines<'_>,
    ) {
        let before = first.old.start.min(CONTEXT);
        old.go_to(first.old.start - before);
        new.go_to(first.new.start - before);
        let behind = {
            let mut behind = Lines {
                rest: old.rest,
                line: old.line,
            };
            behind.go_to(last.old.end);
            (0..CONTEXT).take_while(|_| behind.next().is_some()).count()
        };
        let range = |start: usize, end: usize| range(start - before..end + behind);
        let (olds, news) = (
            range(first.old.start, last.old.end),
            range(first.new.start, last.new.end),
        );
        self.whole_line(&format!("@@ -{olds} +{news} @@\n"));
        for hunk in group {
            while old.line < hunk.old.start {
                self.line(' ', old.next());
            }
            new.go_to(hunk.new.start);
            while old.line < hunk.old.end {
                self.line('-', old.next());
            }
            while new.line < hunk.new.end {
                self.line('+', new.next());
            }
        }
        for _ in 0..behind {
            self.line(' ', old.next());
        }
    }

    fn line(&mut self, sign: char, line: Option<&[u8]>) {
        let line = line.unwrap_or_default();
        if self.left_out > 0 {
            self.left_out += 1;
            return;
        }
        let ended = line.strip_suffix(b"\n");
        let line = ended.unwrap_or(line);
        let mut whole = String::from(sign);
        match line.get(..self.bounds.line.saturating_add(3)) {
            None => whole.push_str(&String::from_utf8_lossy(line)),
            Some(start) => {
                let start = String::from_utf8_lossy(start);
                let end = start.floor_char_boundary(self.bounds.line);
                whole.push_str(start.get(..end).unwrap_or_default());
                whole.push_str(CUT);
            }
        }
        whole.push('\n');
        if ended.is_none() {
            whole.push_str("\\ No newline at end of file\n");
        }
        self.whole_line(&whole);
    }

    fn whole_line(&mut self, line: &str) {
        if self.left_out == 0 && self.text.len() + line.len() <= self.bounds.bytes {
            self.text.push_str(line);
        } else {
            self.left_out += 1;
        }
    }

    fn finish(mut self) -> String {
        if self.left_out > 0 {
            let lines = self.left_out;
            _ = write!(self.text, "... [{lines} more lines of the diff]");
        }
        self.text
    }
}

/// Returns a range of lines as the format has it: counted from 1, but where there are none, from the line before.
fn range(lines: Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        len => format!("{},{len}", lines.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(old: &str, new: &str) -> String {
        diff("p", old.as_bytes(), new.as_bytes(), Bounds::NONE)
    }

    #[test]
    fn the_lines_that_differ_are_named() {
        for (new, expected) in [
            ("a\nB\nc\n", "line 2"),
            ("a\nc\n", "line 2"),
            ("x\na\nb\nc\ny\nz\n", "lines 1, 5-6"),
        ] {
            assert_eq!(changed_lines(b"a\nb\nc\n", new.as_bytes()), expected);
        }
        let old: String = (0..30).map(|line| format!("{line}\n")).collect();
        let new: String = (0..30)
            .map(|line| format!("{}\n", line * (line % 3)))
            .collect();
        let lines = changed_lines(old.as_bytes(), new.as_bytes());
        assert!(
            lines.starts_with("lines 3") && lines.ends_with(" more places"),
            "{lines}"
        );
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
        assert_eq!(
            diff(&"p".repeat(50), b"a", b"b", bounds),
            "... [the diff is left out]"
        );
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

    #[test]
    fn lines_around_what_differs() {
        let lines: Vec<String> = (1..=14).map(|line| format!("{line}\n")).collect();
        let old = lines.concat();
        for changed in 0..lines.len() {
            let mut new = lines.clone();
            new[changed] = "new\n".into();
            let from = changed.saturating_sub(3);
            let to = (changed + 4).min(lines.len());
            let start = format!(
                "--- p\n+++ p\n@@ -{0},{1} +{0},{1} @@\n",
                from + 1,
                to - from
            );
            let mut expected = start;
            for (index, line) in lines.iter().enumerate().take(to).skip(from) {
                if index == changed {
                    expected += &format!("-{line}+new\n");
                } else {
                    expected += &format!(" {line}");
                }
            }
            assert_eq!(all(&old, &new.concat()), expected, "{changed}");
        }
    }

    /// Large files with nothing in common, with changes everywhere, and with changes that any line could be part of: each
    /// would take a simple algorithm minutes, or more memory than a guest has.
    #[test]
    fn large_files() {
        let lines = |word: &str| {
            (0..100_000)
                .map(|line| format!("{word} {line}\n"))
                .collect::<String>()
        };
        let shown = all(&lines("old"), &lines("new"));
        assert_eq!(shown.lines().count(), 200_003);
        let same = "a\nb\n".repeat(200_000);
        let shown = all(&same, &same.replace('a', "bb"));
        assert_eq!(shown.lines().filter(|line| *line == "-a").count(), 200_000);
        let empty = "\n".repeat(1 << 20);
        let shown = all(&empty, &(empty.clone() + "x\n"));
        assert_eq!(
            shown,
            "--- p\n+++ p\n@@ -1048574,3 +1048574,4 @@\n \n \n \n+x\n"
        );
        let shown = all(&same, &(same.clone() + &same));
        assert!(shown.ends_with("+b\n"));
    }

    /// Applies a unified diff, and insists on every line and every number of it.
    fn patched(old: &str, diff: &str) -> String {
        let mut old = old.split_inclusive('\n');
        let (mut taken, mut new) = (0, String::new());
        let mut lines = diff.split_inclusive('\n').skip(2).peekable();
        while let Some(header) = lines.next() {
            let numbers: Vec<usize> = header
                .split(|other: char| !other.is_ascii_digit())
                .filter_map(|number| number.parse().ok())
                .collect();
            let (olds, _) = header.split_once(" +").unwrap();
            let (start, len) = match (olds.contains(','), numbers.as_slice()) {
                (true, [start, len, ..]) => (*start, *len),
                (_, [start, ..]) => (*start, 1),
                _ => panic!("{header}"),
            };
            let first = if len == 0 { start } else { start - 1 };
            while taken < first {
                new += old.next().unwrap();
                taken += 1;
            }
            let until = taken + len;
            while let Some(line) = lines.next_if(|line| !line.starts_with("@@")) {
                let (sign, line) = line.split_at(1);
                let unended = lines.next_if(|line| line.starts_with('\\')).is_some();
                let line = if unended {
                    line.trim_end_matches('\n')
                } else {
                    line
                };
                if sign != "+" {
                    assert_eq!(old.next(), Some(line));
                    taken += 1;
                }
                if sign != "-" {
                    new += line;
                }
            }
            assert_eq!(taken, until, "{header}");
        }
        old.for_each(|line| new += line);
        new
    }

    proptest! {
        #[test]
        fn a_diff_leads_from_the_one_to_the_other(
            old in prop::collection::vec("[abc]\n", 0..40),
            new in prop::collection::vec("[abc]\n", 0..40),
            unended in any::<(bool, bool)>(),
        ) {
            let text = |lines: Vec<String>, unended| {
                let text = lines.concat();
                if unended { text.trim_end_matches('\n').to_owned() } else { text }
            };
            let (old, new) = (text(old, unended.0), text(new, unended.1));
            let diff = all(&old, &new);
            prop_assert_eq!(patched(&old, &diff), new);
        }
    }
}
