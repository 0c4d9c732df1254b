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
    let mut placement = Placement::new(text, change);
    let mut matched = Vec::new();
    let mut done = 0;
    for (start, end) in windows.disjoint() {
        let (before, rest) = text.split_at(start);
        let (window, _) = rest.split_at(end - start);
        let (_, unchanged) = before.split_at(done);
        output.push(unchanged)?;
        matched.clear();
        matched.extend(Lines(window));
        placement.go_to(before, &matched, change);
        splice(&matched, change, &mut placement, output)?;
        done = end;
    }
    let (_, rest) = text.split_at(done);
    output.push(rest)
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
