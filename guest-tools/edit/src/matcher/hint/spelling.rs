//! Two lines that differ in how often they have one character.

/// A line, and what its characters add up to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spelling<'a> {
    line: &'a str,
    chars: i64,
    /// The sum of the numbers of all characters.
    sum: i64,
}

impl<'a> Spelling<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let (mut chars, mut sum) = (0, 0);
        for char in line.chars() {
            chars += 1;
            sum += i64::from(u32::from(char));
        }
        Self { line, chars, sum }
    }

    /// Returns the character of which one has more than the other, at least two, and how many each has, if the two are the same
    /// without it. What of them has to be compared is subtracted from the effort.
    pub(super) fn miscount(self, other: &Self, effort: &mut usize) -> Option<(char, usize, usize)> {
        let more = self.chars - other.chars;
        if more == 0 {
            return None;
        }
        // What the sums differ by can only be due to this character. It is rarely one.
        let difference = self.sum - other.sum;
        let code = difference
            .checked_div(more)
            .filter(|code| code * more == difference)?;
        // Of letters and blanks, one is most often another word, which the nearest line shows better.
        let char = char::from_u32(u32::try_from(code).ok()?)
            .filter(|char| !char.is_alphanumeric() && !char.is_whitespace())?;
        *effort = effort.saturating_sub(self.line.len() + other.line.len());
        let count = |line: &str| line.chars().filter(|other| *other == char).count();
        let (here, there) = (count(self.line), count(other.line));
        let [line, others] =
            [self.line, other.line].map(|line| line.chars().filter(|other| *other != char));
        (here.max(there) > 1 && line.eq(others)).then_some((char, here, there))
    }
}
