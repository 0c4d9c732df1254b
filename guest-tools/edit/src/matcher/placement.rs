//! The indentation that the file would give to the lines that an edit inserts.

use super::change::Change;
use super::indent::{FileUnit, Seen};
use super::lines::{Line, Lines};
use super::translation::{Anchor, Indentation};

/// What is wider is no indentation, and is not translated.
const WIDEST: usize = 256;

/// How many different indentations of an edit are known. No code has so many.
const MOST: usize = 32;

/// What is known, at one place of a file, of how the edit and the file indent the same lines.
///
/// What one line tells is used for those after it, until another one tells more.
#[derive(Debug)]
pub(super) struct Placement<'a> {
    unit: FileUnit<'a>,
    /// What is before the place.
    before: &'a [u8],
    /// How the edit and the file indent the same lines, those that were met last at the end.
    known: Vec<Anchor<'a>>,
    /// The line by which others are placed, unless the edit and the file just begin it at the margin.
    base: Option<Base<'a>>,
    /// The lines of the replacement that enclose the one that comes next, the outermost first: how wide the indentation of each
    /// is, and what was seen of indentation from the first one to it.
    enclosing: Vec<(usize, Seen)>,
    is_needed: bool,
    has_begun: bool,
}

/// A line by which others are placed.
#[derive(Debug, Clone, Copy)]
struct Base<'a> {
    /// Its number among those that match.
    line: usize,
    anchor: Anchor<'a>,
    /// What was seen of indentation in the edit, in this line and those that enclose it.
    seen: Seen,
}

impl<'a> Placement<'a> {
    /// Makes the placement for an edit of a text.
    pub(super) fn new(text: &'a [u8], change: &Change<'a>) -> Self {
        Self {
            unit: FileUnit::new(text),
            before: b"",
            known: Vec::new(),
            base: None,
            enclosing: Vec::new(),
            is_needed: change.inserts(),
            has_begun: false,
        }
    }

    /// Goes to a place: what is before it, and the lines that match there.
    pub(super) fn go_to(&mut self, before: &'a [u8], matched: &[Line<'a>], change: &Change<'a>) {
        self.before = before;
        self.known.clear();
        self.base = None;
        self.enclosing.clear();
        self.has_begun = false;
        // The first line that tells something counts until the replacement has come to one.
        for &(line, edit) in change.leads().iter().rev() {
            if let Some(matched) = matched.get(line) {
                let anchor = Anchor {
                    edit,
                    file: matched.lead(),
                };
                self.tell(line, anchor, Seen::default().with(edit));
            }
        }
    }

    /// Notes that the edit and the file indent the next line of the replacement, which is this line of the place, in these ways.
    pub(super) fn note(&mut self, line: usize, edit: &'a [u8], file: &'a [u8]) {
        if self.is_needed {
            self.has_begun = true;
            let seen = self.enter(edit);
            self.tell(line, Anchor { edit, file }, seen);
        }
    }

    /// Returns whether the replacement has come to a line that is not blank: one that is in the file, or that was placed.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Notes that the edit changes the indentation of the next line of the replacement, which is this line of the place, to
    /// this. It is taken to know what it does, until there is a line that it does not change.
    pub(super) fn note_change(&mut self, line: usize, edit: &'a [u8]) {
        self.known.clear();
        self.note(line, edit, edit);
    }

    /// Returns how the file would indent the next line of the replacement, which the edit indents in this way.
    pub(super) fn place(&mut self, edit: &'a [u8], matched: &[Line<'a>]) -> Indentation<'a> {
        self.has_begun = true;
        let seen = self.enter(edit);
        if let Some(known) = self.known.iter().find(|known| known.edit == edit) {
            return Indentation::of(known.file);
        }
        let placed = self
            .base
            .and_then(|base| self.place_by(base, edit, seen, matched));
        placed.unwrap_or(Indentation::of(edit))
    }

    /// Returns how deep the file would indent a line, going by another one.
    fn place_by(
        &mut self,
        Base {
            line,
            anchor,
            seen: seen_there,
        }: Base<'a>,
        edit: &'a [u8],
        seen: Seen,
        matched: &[Line<'a>],
    ) -> Option<Indentation<'a>> {
        // If they agree on that line, the edit knows how the file is indented.
        if anchor.edit == anchor.file || anchor.edit.len().max(edit.len()) > WIDEST {
            return None;
        }
        let enclosing = matched.iter().take(line + 1).rev().copied();
        let enclosing = enclosing.chain(Lines(self.before).rev());
        let Some(file_unit) = self.unit.around(enclosing) else {
            return anchor.shift(edit);
        };
        let unit = |seen| anchor.unit_of_edit(seen, file_unit);
        let placed = if edit.len() < anchor.edit.len() {
            // What is less deep than all that was seen on the way says little of the unit. Other lines may say more.
            let known = self
                .known
                .iter()
                .map(|known| known.edit)
                .filter(|lead| lead.len() <= WIDEST);
            let seen = seen.and(seen_there);
            let unit = unit(known.fold(seen, Seen::with)).or_else(|| unit(seen));
            unit.and_then(|unit| anchor.translate_back(edit, unit, file_unit))
        } else {
            unit(seen.with(anchor.edit)).and_then(|unit| anchor.translate(edit, unit, file_unit))
        };
        placed.or_else(|| anchor.shift(edit))
    }

    fn tell(&mut self, line: usize, anchor: Anchor<'a>, seen: Seen) {
        if self.known.last() != Some(&anchor) {
            self.known.retain(|known| known.edit != anchor.edit);
            if self.known.len() == MOST {
                self.known.remove(0);
            }
            self.known.push(anchor);
        }
        if !anchor.edit.is_empty() || !anchor.file.is_empty() {
            self.base = Some(Base { line, anchor, seen });
        }
    }

    /// Goes to the next line, and returns what is seen of the indentation of those that enclose it, and of its own.
    fn enter(&mut self, lead: &[u8]) -> Seen {
        while self
            .enclosing
            .pop_if(|(width, _)| *width >= lead.len())
            .is_some()
        {}
        let outside = self.enclosing.last().map(|(_, seen)| *seen);
        let seen = outside.unwrap_or_default().with(lead);
        self.enclosing.push((lead.len(), seen));
        seen
    }
}
