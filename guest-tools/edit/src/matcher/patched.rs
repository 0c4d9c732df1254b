//! Hunks applied to a file, each behind the one before.

use super::change::Change;
use super::endings::dominant;
use super::hunk::{Hunk, Sign};
use super::lines::Ending;
use super::misfit::Misfit;
use super::output::Output;
use super::seeker::{Place, Seeker};
use super::splice::Splicer;
use super::{BOM, Reason};

/// A file with its hunks applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Patched {
    pub(crate) bytes: Vec<u8>,
    /// The hunks that fit several places, counted from 1: how many these are, and the line that was taken.
    pub(crate) ambiguous: Vec<(usize, usize, usize)>,
}

/// Applies hunks to a file, each behind the one before.
///
/// # Errors
///
/// The index of the first hunk that does not fit, and why.
pub(crate) fn patch(content: &[u8], hunks: &[Hunk<'_>]) -> Result<Patched, (usize, Misfit)> {
    let (mark, text) = match content.strip_prefix(BOM) {
        Some(text) => (BOM, text),
        None => (&b""[..], content),
    };
    let mut seeker = Seeker::new(text);
    let mut ambiguous = Vec::new();
    let mut places = Vec::new();
    for (index, hunk) in hunks.iter().enumerate() {
        let place = seeker.place(hunk).map_err(|misfit| (index, misfit))?;
        if place.fits > 1 {
            ambiguous.push((index + 1, place.fits, place.line + 1));
        }
        places.push((index, place));
    }
    // Lines that are added at the end of the file are behind all other hunks, in whichever order these come.
    places.sort_by_key(|(_, place)| place.start);
    let new_ending = dominant(text);
    let mut output = Output::new(content.len(), mark);
    let mut done = 0;
    for (index, mut place) in places {
        if place.is_append {
            // The hunk before may have the empty last line, before which they would be.
            place.start = place.start.max(done);
            place.end = place.start;
        }
        let Some(before) = text.get(done..place.start) else {
            return Err((index, Misfit::Order(place.line + 1)));
        };
        output
            .push(before)
            .and_then(|()| apply(&place, text, new_ending, &mut output))
            .map_err(|reason| (index, Misfit::TooLong(reason)))?;
        done = place.end;
    }
    let last = hunks.len().saturating_sub(1);
    output
        .push(text.get(done..).unwrap_or_default())
        .map_err(|reason| (last, Misfit::TooLong(reason)))?;
    Ok(Patched {
        bytes: output.into_bytes(),
        ambiguous,
    })
}

/// Adds the lines to the output that take a place. `new_ending` is what most lines of the text end with.
fn apply(
    place: &Place<'_, '_>,
    text: &[u8],
    new_ending: Option<Ending>,
    output: &mut Output,
) -> Result<(), Reason> {
    let is_at_end = place.end == text.len();
    let mut lines = place.lines.to_vec();
    if !is_at_end {
        // Only the last line of a file can be without an end.
        for line in &mut lines {
            if line.line.ending == Ending::None {
                line.line.ending = Ending::Lf;
            }
        }
    }
    let adds = lines.iter().any(|line| line.sign == Sign::Added);
    if adds && place.start == place.end && output.is_within_line() {
        output.push(new_ending.unwrap_or(Ending::Lf).bytes())?;
    }
    let change = Change::of_hunk(new_ending, &lines);
    Splicer::new(text, &change).splice(place.start, place.end, output)
}
