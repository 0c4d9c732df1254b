//! Which line of the search string each line of the replacement stands for.

use super::hunk::{HunkLine, Sign};
use super::lines::{Ending, Line};

/// A line of the replacement.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewLine<'a> {
    pub(super) line: Line<'a>,
    pub(super) lead: &'a [u8],
    pub(super) body: &'a [u8],
    pub(super) trail: &'a [u8],
    pub(super) origin: Origin,
    /// The line of the search string whose ending it has, unless the edit changes it.
    pub(super) ends_like: Option<usize>,
    /// Whether it is the last one of the replacement.
    pub(super) is_last: bool,
}

/// Where a line of the replacement comes from. Lines of the search string are named by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is this line, unchanged.
    Kept(usize),
    /// It is blank: nothing of the file applies to it.
    Blank,
    /// It is this line, changed.
    Changed {
        line: usize,
        lead: Lead,
        keeps_trail: bool,
    },
    /// It is new.
    Inserted,
}

impl Origin {
    /// Returns it with so many more lines of the search string before.
    fn behind(self, lines: usize) -> Self {
        match self {
            Self::Kept(line) => Self::Kept(line + lines),
            Self::Changed {
                line,
                lead,
                keeps_trail,
            } => Self::Changed {
                line: line + lines,
                lead,
                keeps_trail,
            },
            Self::Blank | Self::Inserted => self,
        }
    }

    /// Returns whether the file may say nothing of how the line is indented.
    pub(super) fn is_placed(self) -> bool {
        match self {
            Self::Inserted => true,
            Self::Changed { lead, .. } => lead == Lead::Translated,
            Self::Kept(_) | Self::Blank => false,
        }
    }
}

/// What a changed line is indented with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    /// What the file has: the edit does not change it.
    Files,
    /// What the edit says.
    Edits,
    /// What the edit says, put as the file would put it.
    Translated,
}

/// Returns the lines of the replacement with what they stand for.
///
/// The lines that are the same at the beginning of both, and those that are the same at the end, are kept. In between, lines
/// stand for each other by their position; those that are left over are inserted, or removed.
pub(super) fn align<'a>(search: &[Line<'a>], replace: &[Line<'a>]) -> Vec<NewLine<'a>> {
    let same = |(one, other): &(&Line<'_>, &Line<'_>)| one.text == other.text;
    let shorter = search.len().min(replace.len());
    let prefix = search.iter().zip(replace).take_while(same).count();
    let backwards = search.iter().rev().zip(replace.iter().rev());
    let suffix = backwards.take(shorter - prefix).take_while(same).count();
    let (old_end, new_end) = (search.len() - suffix, replace.len() - suffix);
    let is_expansion = new_end > old_end;

    let stands_for = |index: usize| match index {
        _ if index >= new_end => Some(old_end + (index - new_end)),
        _ if index < old_end => Some(index),
        _ => None,
    };
    let new_line = |(index, &line): (usize, &Line<'a>)| {
        let is_last = index + 1 == replace.len();
        let old = stands_for(index);
        NewLine {
            line,
            lead: line.lead(),
            body: line.body(),
            trail: line.trail(),
            origin: origin(
                old.and_then(|old| Some((old, *search.get(old)?))),
                line,
                is_expansion,
            ),
            // Where lines are removed, the last one ends like the last of them, or the next line would be joined to it.
            ends_like: if is_last {
                search.len().checked_sub(1)
            } else {
                old
            },
            is_last,
        }
    };
    replace.iter().enumerate().map(new_line).collect()
}

/// Returns the new lines of a hunk with what they stand for. Context is kept, and lines that are added stand for those that are removed at
/// the same place, as in [`align`].
pub(super) fn align_hunk<'a>(hunk: &[HunkLine<'a>]) -> Vec<NewLine<'a>> {
    let mut all = Vec::new();
    let mut old = 0;
    for run in hunk.chunk_by(|one, next| one.is_context() == next.is_context()) {
        let of = |sign| run.iter().filter(move |line| line.sign == sign);
        let removed: Vec<_> = of(Sign::Removed).map(|line| line.line).collect();
        let added: Vec<_> = of(Sign::Added).map(|line| line.line).collect();
        all.extend(align(&removed, &added).into_iter().map(|new| NewLine {
            origin: new.origin.behind(old),
            ends_like: new.ends_like.map(|line| line + old),
            // A line that is added ends as the hunk says, also as the last one of a file without an end.
            is_last: new.line.ending == Ending::None,
            ..new
        }));
        old += removed.len();
        for HunkLine { line, .. } in of(Sign::Context) {
            all.push(NewLine {
                line: *line,
                lead: line.lead(),
                body: line.body(),
                trail: line.trail(),
                origin: Origin::Kept(old),
                ends_like: Some(old),
                is_last: false,
            });
            old += 1;
        }
    }
    if let Some(last) = all.last_mut() {
        last.is_last |=
            matches!(last.origin, Origin::Kept(_)) && hunk.last().is_some_and(HunkLine::is_context);
    }
    all
}

fn origin(old: Option<(usize, Line<'_>)>, new: Line<'_>, is_expansion: bool) -> Origin {
    match old {
        Some((line, old)) if old.text == new.text => Origin::Kept(line),
        _ if new.is_blank() => Origin::Blank,
        None => Origin::Inserted,
        Some((line, old)) => {
            let lead = if old.lead() == new.lead() {
                Lead::Files
            } else if is_expansion && old.body() != new.body() {
                // Where lines are added, a position says little: most likely this is another line than the one there was,
                // not the same one with its indentation changed.
                Lead::Translated
            } else {
                Lead::Edits
            };
            Origin::Changed {
                line,
                lead,
                keeps_trail: lead != Lead::Translated && old.trail() == new.trail(),
            }
        }
    }
}
