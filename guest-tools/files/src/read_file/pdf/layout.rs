//! Lines of text from where characters are drawn on a page.

/// How far apart characters are that a space is between, as a part of the size of the font.
const SPACE: f64 = 0.2;

/// How far a character may be above or below its line, as a part of the size of the font: numbers of footnotes are.
const SHIFT: f64 = 0.6;

/// From how many heights of a line on the next one begins a paragraph.
const PARAGRAPH: f64 = 1.9;

/// A character where it is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Where it begins, in points from the left bottom of the page.
    pub(super) x: f64,
    pub(super) y: f64,
    /// Where it ends.
    pub(super) end_x: f64,
    pub(super) end_y: f64,
    /// The size of the font.
    pub(super) size: f64,
}

/// The lines, in the order in which they are drawn: that is mostly the one in which they are read, also where there are columns.
#[derive(Debug, Default)]
pub(super) struct Layout {
    text: String,
    /// The last character, and where its line begins.
    last: Option<(Place, Place)>,
}

impl Layout {
    /// Adds what a character stands for.
    pub(super) fn add(&mut self, text: &str, place: Place) {
        let is_finite = [place.x, place.y, place.end_x, place.end_y, place.size]
            .iter()
            .all(|number| number.is_finite());
        if !is_finite {
            self.text += text;
            return;
        }
        let Some((last, begin)) = self.last.replace((place, place)) else {
            self.text += text;
            return;
        };
        let size = last.size.max(place.size).max(0.01);
        // Along the line, and across it.
        let (dx, dy) = (last.end_x - last.x, last.end_y - last.y);
        let length = dx.hypot(dy);
        let (ux, uy) = if length > 0.0 {
            (dx / length, dy / length)
        } else {
            (1.0, 0.0)
        };
        let (gap_x, gap_y) = (place.x - last.end_x, place.y - last.end_y);
        let along = gap_x * ux + gap_y * uy;
        let across = gap_y * ux - gap_x * uy;
        let is_same_line = across.abs() <= SHIFT * size && along > -size;
        let is_drawn_again = along < 0.0
            && (place.x - last.x).abs() + (place.y - last.y).abs() < 0.1 * size
            && self.text.ends_with(text);
        if is_drawn_again {
            // Bold, made of the same character twice.
            return;
        }
        if is_same_line {
            self.last = Some((place, begin));
            let is_apart = along > SPACE * size;
            if is_apart && !self.text.ends_with([' ', '\n']) && !text.starts_with(' ') {
                self.text.push(' ');
            }
        } else {
            self.end_line();
            let (down_x, down_y) = (place.x - begin.x, place.y - begin.y);
            let down = (down_y * ux - down_x * uy).abs();
            if down > PARAGRAPH * size && !self.text.ends_with("\n\n") {
                self.text.push('\n');
            }
        }
        self.text += text;
    }

    fn end_line(&mut self) {
        let trimmed = self.text.trim_end_matches(' ').len();
        self.text.truncate(trimmed);
        self.text.push('\n');
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the lines, each with its end.
    pub(super) fn finish(mut self) -> String {
        if !self.text.is_empty() {
            self.end_line();
        }
        self.text
    }
}
