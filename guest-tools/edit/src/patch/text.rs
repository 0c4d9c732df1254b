//! The lines of a patch, without what is around it.

/// A line of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Its number, counted from 1.
    pub(super) number: usize,
    /// The line without its ending.
    pub(super) text: &'a str,
    /// Whether a carriage return is before its line feed, and not before that of every line.
    pub(super) has_return: bool,
}

/// Lines of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lines<'a> {
    all: Vec<Line<'a>>,
    /// The number of the line behind the last one.
    end: usize,
}

impl<'a> Lines<'a> {
    /// Returns the lines of a text, without empty ones at both ends and a fence of Markdown around them.
    pub(super) fn of(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let mut all: Vec<_> = (1..)
            .zip(text.strip_suffix('\n').unwrap_or(text).split('\n'))
            .map(|(number, line)| Line {
                number,
                text: line.strip_suffix('\r').unwrap_or(line),
                has_return: line.ends_with('\r'),
            })
            .collect();
        // A patch whose own lines end so says nothing of those of the files. The last one may have lost its ending.
        let (_, before) = all.split_last().unzip();
        if before.is_some_and(|before: &[Line<'_>]| before.iter().all(|line| line.has_return)) {
            all.iter_mut().for_each(|line| line.has_return = false);
        }
        let end = all.len() + 1;
        let mut lines = Self { all, end };
        lines.trim();
        if let [first, .., last] = lines.all.as_slice()
            && first.text.trim_start().starts_with("```")
            && last.text.trim() == "```"
        {
            lines = lines.within(1, 1);
            lines.trim();
        }
        lines
    }

    fn trim(&mut self) {
        while self
            .all
            .pop_if(|line| line.text.trim().is_empty())
            .is_some()
        {}
        let is_empty = |line: &&Line<'_>| line.text.trim().is_empty();
        let empty = self.all.iter().take_while(is_empty).count();
        self.all.drain(..empty);
    }

    /// Returns these lines without so many at the beginning and at the end.
    pub(super) fn within(&self, before: usize, behind: usize) -> Self {
        let end = self.all.len().saturating_sub(behind);
        let all = self.all.get(before..end).unwrap_or_default().to_vec();
        let end = self.get(end).map_or(self.end, |line| line.number);
        Self { all, end }
    }

    /// Returns a line by its index.
    pub(super) fn get(&self, index: usize) -> Option<Line<'a>> {
        self.all.get(index).copied()
    }

    /// Returns the text of a line by its index; an empty one behind the last line.
    pub(super) fn text(&self, index: usize) -> &'a str {
        self.get(index).map_or("", |line| line.text)
    }

    /// Returns the number of a line; behind the last one, that of the end.
    pub(super) fn number(&self, index: usize) -> usize {
        self.get(index).map_or(self.end, |line| line.number)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}
