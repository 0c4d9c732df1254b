//! Putting the lines of a replacement in the place of the lines that match.

use super::Reason;
use super::alignment::{Lead, Origin};
use super::change::Change;
use super::lines::{Line, Lines};
use super::output::Output;
use super::placement::Placement;
use super::translation::Indentation;
use super::windows::Windows;

/// Adds the text with the windows replaced to the output. Those that overlap another before them are left.
pub(super) fn replace<'a>(
    text: &'a [u8],
    windows: &Windows<'a>,
    change: &Change<'a>,
    output: &mut Output,
) -> Result<(), Reason> {
    let mut splicer = Splicer::new(text, change);
    let mut done = 0;
    for (start, end) in windows.disjoint() {
        output.push(text.get(done..start).unwrap_or_default())?;
        splicer.splice(start, end, output)?;
        done = end;
    }
    let (_, rest) = text.split_at(done);
    output.push(rest)
}

/// Puts the lines of a replacement in the place of others, at one place of a text after the other.
#[derive(Debug)]
pub(super) struct Splicer<'c, 'a> {
    text: &'a [u8],
    change: &'c Change<'a>,
    placement: Placement<'a>,
    /// The lines that match at the place.
    matched: Vec<Line<'a>>,
}

impl<'c, 'a> Splicer<'c, 'a> {
    pub(super) fn new(text: &'a [u8], change: &'c Change<'a>) -> Self {
        Self {
            text,
            change,
            placement: Placement::new(text, change),
            matched: Vec::new(),
        }
    }

    /// Adds the lines that take the place of those from the beginning of a line to this end, which may be within a line.
    pub(super) fn splice(
        &mut self,
        start: usize,
        end: usize,
        output: &mut Output,
    ) -> Result<(), Reason> {
        let (before, _) = self.text.split_at(start);
        let window = self.text.get(start..end).unwrap_or_default();
        self.matched.clear();
        self.matched.extend(Lines(window));
        self.placement.go_to(before, &self.matched, self.change);
        splice(&self.matched, self.change, &mut self.placement, output)
    }
}

/// Adds the lines that take the place of those that match.
fn splice<'a>(
    matched: &[Line<'a>],
    change: &Change<'a>,
    placement: &mut Placement<'a>,
    output: &mut Output,
) -> Result<(), Reason> {
    let file = |line: usize| matched.get(line).copied().unwrap_or(Line::EMPTY);
    for new in change.replace() {
        let (indentation, trail) = match new.origin {
            Origin::Kept(line) => {
                if !new.body.is_empty() {
                    placement.note(line, new.lead, file(line).lead());
                }
                output.push(file(line).text)?;
                output.push(change.ending(new, |line| file(line).ending).bytes())?;
                continue;
            }
            Origin::Blank => (Indentation::of(new.lead), new.trail),
            Origin::Changed {
                line,
                lead,
                keeps_trail,
            } => {
                let file = file(line);
                let indentation = match lead {
                    Lead::Files => {
                        placement.note(line, new.lead, file.lead());
                        Indentation::of(file.lead())
                    }
                    // An edit that begins with the indentation of the file needs no translation.
                    Lead::Translated if placement.has_begun() || file.lead() != new.lead => {
                        placement.place(new.lead, matched)
                    }
                    Lead::Edits | Lead::Translated => {
                        placement.note_change(line, new.lead);
                        Indentation::of(new.lead)
                    }
                };
                (
                    indentation,
                    if keeps_trail { file.trail() } else { new.trail },
                )
            }
            Origin::Inserted => (placement.place(new.lead, matched), new.trail),
        };
        for part in indentation.parts() {
            output.push(part)?;
        }
        output.push(new.body)?;
        output.push(trail)?;
        output.push(change.ending(new, |line| file(line).ending).bytes())?;
    }
    Ok(())
}
