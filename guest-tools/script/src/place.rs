//! Places in scripts.

/// A place in a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The line, from 1.
    pub(crate) line: u32,
    /// The character of the line, from 1.
    pub(crate) column: u32,
}

impl Place {
    /// Returns the place of a byte.
    pub(crate) fn of(script: &str, offset: usize) -> Option<Self> {
        let before = script.get(..offset)?;
        let (lines, last) = before.rsplit_once('\n').unwrap_or(("", before));
        let line = match before.contains('\n') {
            true => lines.matches('\n').count() + 2,
            false => 1,
        };
        Some(Self {
            line: u32::try_from(line).ok()?,
            column: u32::try_from(last.chars().count() + 1).ok()?,
        })
    }

    /// Returns the byte of a place.
    pub(crate) fn offset(self, script: &str) -> Option<usize> {
        let before = script
            .split_inclusive('\n')
            .take(self.line.checked_sub(1)? as usize)
            .map(str::len)
            .sum::<usize>();
        let line = script.get(before..)?;
        let column = self.column.checked_sub(1)? as usize;
        let within = line.char_indices().nth(column);
        Some(before + within.map_or(line.len(), |(at, _)| at))
    }

    /// Returns the line of the script, cut where it is long.
    pub(crate) fn source(self, script: &str) -> Option<String> {
        /// The most characters of a line of the script that an error shows.
        const SHOWN: usize = 160;
        let line = script.lines().nth(self.line.checked_sub(1)? as usize)?;
        Some(line.trim().chars().take(SHOWN).collect())
    }
}
