//! Units of indentation: what one level is, in an edit and in a file.

use super::lines::{Line, Lines};

/// What one level of indentation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Tab,
    /// So many spaces.
    Spaces(usize),
}

/// More spaces than these are no unit.
pub(super) const WIDEST: usize = 8;

/// What was seen of indentation so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    tabs: bool,
    /// The greatest common divisor of the widths of those that are spaces; 0: there were none.
    spaces: usize,
    /// Whether there were others.
    other: bool,
}

impl Seen {
    pub(super) fn with(mut self, lead: &[u8]) -> Self {
        match lead {
            [] => {}
            _ if is_all(lead, b'\t') => self.tabs = true,
            _ if is_all(lead, b' ') => self.spaces = gcd(self.spaces, lead.len()),
            _ => self.other = true,
        }
        self
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            tabs: self.tabs || other.tabs,
            spaces: gcd(self.spaces, other.spaces),
            other: self.other || other.other,
        }
    }

    /// Returns the greatest width that all could be multiples of, if all were spaces.
    pub(super) fn spaces(self) -> Option<usize> {
        (!self.tabs && !self.other && self.spaces > 0).then_some(self.spaces)
    }

    /// Returns the unit of all that was seen; `None` if there was nothing, or tabs and spaces, or spaces that only align.
    pub(super) fn unit(self) -> Option<Unit> {
        match self.spaces() {
            Some(width) => (2..=WIDEST).contains(&width).then_some(Unit::Spaces(width)),
            None => (self.tabs && self.spaces == 0 && !self.other).then_some(Unit::Tab),
        }
    }
}

fn is_all(lead: &[u8], byte: u8) -> bool {
    lead.iter().all(|other| *other == byte)
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 {
        one
    } else {
        gcd(other, one % other)
    }
}

impl Unit {
    /// Returns the unit of these lines, of which those that are blank do not count.
    pub(super) fn of<'a>(lines: impl Iterator<Item = Line<'a>>) -> Option<Self> {
        let lines = lines.filter(|line| !line.is_blank());
        lines
            .fold(Seen::default(), |seen, line| seen.with(line.lead()))
            .unit()
    }

    pub(super) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Tab => b"\t",
            Self::Spaces(width) => b"        ".get(..width).unwrap_or_default(),
        }
    }

    /// Returns how many levels deep an indentation is; `None` if it is not made of this unit.
    pub(super) fn level(self, lead: &[u8]) -> Option<usize> {
        let width = self.bytes().len();
        let byte = *self.bytes().first()?;
        (is_all(lead, byte) && lead.len().is_multiple_of(width)).then_some(lead.len() / width)
    }
}

/// The unit of a file, found out once it is needed.
#[derive(Debug)]
pub(super) struct FileUnit<'a> {
    text: &'a [u8],
    known: Option<Option<Unit>>,
}

impl<'a> FileUnit<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, known: None }
    }

    /// Returns the unit of the lines that enclose one, which is the first of these; the others are those before it, the last
    /// of them first. If they have none, it is that of all lines. The first answer holds for the whole file.
    ///
    /// Elsewhere in the file lines may be aligned to something, as in comments and long calls. Such lines enclose nothing.
    pub(super) fn around(&mut self, lines: impl Iterator<Item = Line<'a>>) -> Option<Unit> {
        *self.known.get_or_insert_with(|| {
            let mut least = usize::MAX;
            let enclosing = lines
                .filter(|line| !line.is_blank())
                .take_while(|line| !line.lead().is_empty())
                .filter(move |line| {
                    let encloses = line.lead().len() < least;
                    least = least.min(line.lead().len());
                    encloses
                });
            Unit::of(enclosing).or_else(|| Unit::of(Lines(self.text)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &str) -> Option<Unit> {
        Unit::of(Lines(text.as_bytes()))
    }

    #[test]
    fn finds_the_unit() {
        for (name, text, expected) in [
            ("no lines", "", None),
            ("no indentation", "a\nb\n", None),
            ("tabs", "a\n\tb\n\t\tc\n", Some(Unit::Tab)),
            (
                "four spaces",
                "a\n    b\n        c\n",
                Some(Unit::Spaces(4)),
            ),
            ("two spaces", "a\n  b\n    c\n", Some(Unit::Spaces(2))),
            ("four and six", "    a\n      b\n", Some(Unit::Spaces(2))),
            ("tabs and spaces", "\ta\n    b\n", None),
            ("a tab, then spaces in a line", "\t  a\n", None),
            ("spaces, then a tab in a line", "  \ta\n", None),
            (
                "white space only is skipped",
                "   \n\ta\n  \t \n",
                Some(Unit::Tab),
            ),
            ("nothing but white space", "   \n\t\n", None),
            (
                "blank lines are ignored",
                "\n    a\n\n\n    b\n",
                Some(Unit::Spaces(4)),
            ),
        ] {
            assert_eq!(unit(text), expected, "{name}");
        }
    }

    #[test]
    fn what_aligns_is_no_unit() {
        assert_eq!(unit("/*\n * a\n */\n"), None);
        assert_eq!(unit("    a(b,\n           c)\n"), None);
        assert_eq!(unit("            a\n"), None);
    }

    #[test]
    fn finds_the_greatest_common_divisor() {
        for (one, other, expected) in [
            (0, 0, 0),
            (0, 4, 4),
            (4, 0, 4),
            (4, 4, 4),
            (3, 5, 1),
            (4, 6, 2),
            (8, 12, 4),
            (2, 4, 2),
        ] {
            assert_eq!(gcd(one, other), expected, "{one}, {other}");
        }
    }

    #[test]
    fn finds_the_level() {
        for (lead, unit, expected) in [
            ("", Unit::Spaces(4), Some(0)),
            ("", Unit::Tab, Some(0)),
            ("    ", Unit::Spaces(4), Some(1)),
            ("      ", Unit::Spaces(2), Some(3)),
            ("\t\t", Unit::Tab, Some(2)),
            ("   ", Unit::Spaces(4), None),
            ("\t  ", Unit::Spaces(2), None),
        ] {
            assert_eq!(unit.level(lead.as_bytes()), expected, "{lead:?}");
        }
    }
}
