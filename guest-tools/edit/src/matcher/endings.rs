//! Line endings of whole texts: which kinds a text has, and which of them prevails.

use super::lines::Ending;

/// Which endings a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endings {
    /// It has at most one line, without an ending.
    Absent,
    /// All are the same.
    All(Ending),
    /// It has both.
    Mixed,
}

impl Endings {
    /// Returns which of these endings of lines there are. The last may be none.
    pub(super) fn of(lines: impl Iterator<Item = Ending>) -> Self {
        let mut endings = Self::Absent;
        for ending in lines.filter(|ending| *ending != Ending::None) {
            match endings {
                Self::Absent => endings = Self::All(ending),
                Self::All(first) if first == ending => {}
                _ => return Self::Mixed,
            }
        }
        endings
    }
}

/// Returns the ending that most lines of a text have, LF if both are as frequent; `None` if there are none.
pub(super) fn dominant(text: &[u8]) -> Option<Ending> {
    let (mut all, mut crlf) = (0_usize, 0);
    for ending in iter(text) {
        all += 1;
        crlf += usize::from(ending == Ending::CrLf);
    }
    let is_crlf = crlf > all - crlf;
    (all > 0).then_some(if is_crlf { Ending::CrLf } else { Ending::Lf })
}

fn iter(text: &[u8]) -> impl Iterator<Item = Ending> {
    memchr::memchr_iter(b'\n', text).map(|at| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        match before {
            Some(b'\r') => Ending::CrLf,
            _ => Ending::Lf,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_which_endings_there_are_and_which_prevails() {
        for (text, endings, prevailing) in [
            ("", Endings::Absent, None),
            ("a\r", Endings::Absent, None),
            ("\n", Endings::All(Ending::Lf), Some(Ending::Lf)),
            ("\r\n", Endings::All(Ending::CrLf), Some(Ending::CrLf)),
            ("a\nb\nc", Endings::All(Ending::Lf), Some(Ending::Lf)),
            (
                "a\r\nb\r\nc",
                Endings::All(Ending::CrLf),
                Some(Ending::CrLf),
            ),
            ("a\r\nb\n", Endings::Mixed, Some(Ending::Lf)),
            ("a\r\nb\nc\r\n", Endings::Mixed, Some(Ending::CrLf)),
        ] {
            assert_eq!(Endings::of(iter(text.as_bytes())), endings, "{text:?}");
            assert_eq!(dominant(text.as_bytes()), prevailing, "{text:?}");
        }
    }
}
