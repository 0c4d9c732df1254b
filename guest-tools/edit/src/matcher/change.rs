//! The change that an edit makes to the lines that its search string matches.

use super::Edit;
use super::alignment::{self, Lead, NewLine, Origin};
use super::endings::{self, Endings};
use super::hunk::{HunkLine, Sign};
use super::lines::{Ending, Line, Lines};

/// An edit, line by line.
#[derive(Debug)]
pub(super) struct Change<'a> {
    /// The lines of the search string. There is at least one, unless it is a hunk that only adds.
    search: Vec<Line<'a>>,
    /// The lines of the replacement. There is at least one, unless it is a hunk that only removes: an empty text is an empty line without an
    /// ending.
    replace: Vec<NewLine<'a>>,
    changes_endings: bool,
    /// The lines of the search string that are not blank, by their number, and what indents them. None if it does not matter.
    leads: Vec<(usize, &'a [u8])>,
    inserts: bool,
    /// What a new line ends with, if it ends at all; `None`: with what the edit says.
    new_ending: Option<Ending>,
}

impl<'a> Change<'a> {
    /// Makes the change that an edit is to this text.
    pub(super) fn new(text: &[u8], edit: &Edit<'a>) -> Self {
        let search: Vec<_> = Lines(edit.search.as_bytes()).collect();
        let mut replace: Vec<_> = Lines(edit.replace.as_bytes()).collect();
        if replace.is_empty() {
            replace.push(Line::EMPTY);
        }
        let replace = alignment::align(&search, &replace);
        Self::aligned(|| endings::dominant(text), search, replace)
    }

    /// Makes the change that the lines of a hunk are to a text most of whose lines end in this way.
    pub(super) fn of_hunk(dominant: Option<Ending>, lines: &[HunkLine<'a>]) -> Self {
        let old = lines.iter().filter(|line| line.sign != Sign::Added);
        let search = old.map(|line| line.line).collect();
        Self::aligned(|| dominant, search, alignment::align_hunk(lines))
    }

    fn aligned(
        dominant: impl FnOnce() -> Option<Ending>,
        search: Vec<Line<'a>>,
        replace: Vec<NewLine<'a>>,
    ) -> Self {
        let endings = Endings::of(replace.iter().map(|new| new.line.ending));
        let changes_endings = match Endings::of(search.iter().map(|old| old.ending)) {
            Endings::Absent => false,
            searched => endings != Endings::Absent && endings != searched,
        };
        let new_ending = match endings {
            Endings::All(_) if !changes_endings => dominant(),
            _ => None,
        };
        let inserts = replace.iter().any(|new| new.origin.is_placed());
        let lines = search
            .iter()
            .enumerate()
            .filter(|(_, line)| inserts && !line.is_blank());
        Self {
            leads: lines.map(|(index, line)| (index, line.lead())).collect(),
            inserts,
            replace,
            search,
            changes_endings,
            new_ending,
        }
    }

    /// Returns the lines of the search string.
    pub(super) fn search(&self) -> &[Line<'a>] {
        &self.search
    }

    /// Returns the lines of the replacement.
    pub(super) fn replace(&self) -> &[NewLine<'a>] {
        &self.replace
    }

    /// Returns whether it is one of lines, so that what it does depends on where the first of them begins.
    ///
    /// A line that becomes another one is none, nor is an edit that changes the indentation of its first line, as it is taken to
    /// know what is there. White space is not lines.
    pub(super) fn is_of_lines(&self) -> bool {
        let (Some(old), Some(new)) = (self.search.first(), self.replace.first()) else {
            return false;
        };
        let becomes_other = self.search.len() == 1 && self.replace.len() == 1;
        let moves = match new.origin {
            Origin::Changed { lead, .. } => lead != Lead::Files,
            Origin::Kept(_) | Origin::Blank | Origin::Inserted => false,
        };
        matches!(old.text, [b' ' | b'\t', ..])
            && (new.body.is_empty() || !becomes_other)
            && (old.is_blank() || !moves)
            && !self.search.iter().all(|line| line.is_blank())
    }

    /// Returns whether nothing takes the place of the search string but, at most, a blank line.
    pub(super) fn is_removal(&self) -> bool {
        self.replace.len() == 1 && self.replace.iter().all(|new| new.body.is_empty())
    }

    /// Returns whether there are lines in the replacement that stand for none of the search string.
    pub(super) fn inserts(&self) -> bool {
        self.inserts
    }

    /// Returns what indents the lines of the search string that are not blank, with the numbers of these lines. There are none
    /// if nothing is inserted.
    pub(super) fn leads(&self) -> &[(usize, &'a [u8])] {
        &self.leads
    }

    /// Returns whether the replacement has other line endings than the search string, so that the endings are meant.
    pub(super) fn changes_endings(&self) -> bool {
        self.changes_endings
    }

    /// Returns how a line of the replacement ends where the lines of the search string match lines with these endings.
    pub(super) fn ending(
        &self,
        new: &NewLine<'_>,
        matched: impl FnOnce(usize) -> Ending,
    ) -> Ending {
        let own = new.line.ending;
        let old = new
            .ends_like
            .and_then(|line| Some((line, self.search.get(line)?)));
        let (agrees, file) = match old {
            Some((line, old)) => (old.ending == own, matched(line)),
            None => (false, Ending::None),
        };
        // The last line of a file may have none. If others follow there, it needs one.
        let fits = file != Ending::None || new.is_last;
        match self.new_ending {
            _ if agrees && fits => file,
            _ if own == Ending::None => own,
            Some(_) if file != Ending::None => file,
            Some(dominant) => dominant,
            None => own,
        }
    }
}
