//! One line, as a terminal of endless width shows it.

use super::sequence::Effect;
use crate::text::Text;

/// What stands in the columns of a line, and where the cursor is.
#[derive(Debug, Default)]
pub(super) struct Line {
    cells: Vec<Cell>,
    /// The column of the cursor, never beyond the end.
    at: usize,
    /// How many more columns may be blanked.
    budget: usize,
}

/// One column. Characters that are wider or that have no width take one all the same.
#[derive(Debug, Clone, Copy)]
struct Cell {
    char: char,
    raw_start: usize,
    /// How many raw bytes it stands for; 0: it was erased.
    raw: u8,
}

impl Cell {
    /// Returns whether both are plain, and the other one follows this one in the raw bytes.
    fn is_before(self, next: Self) -> bool {
        let plain = |cell: Self| usize::from(cell.raw) == cell.char.len_utf8();
        plain(self) && plain(next) && self.raw_start + usize::from(self.raw) == next.raw_start
    }

    fn erase(&mut self) {
        (self.char, self.raw) = (' ', 0);
    }
}

impl Line {
    /// Makes a line for an output of this length.
    ///
    /// Who blanks a line has written it, once for each time; only a hostile output would blank more than there is, and would
    /// take a time that grows with its square.
    pub(super) fn new(length: usize) -> Self {
        Self {
            budget: length.saturating_mul(4),
            ..Self::default()
        }
    }

    /// Writes a character at the cursor.
    pub(super) fn put(&mut self, char: char, raw_start: usize, raw: usize) {
        let cell = Cell {
            char,
            raw_start,
            raw: u8::try_from(raw).unwrap_or(u8::MAX),
        };
        match self.cells.get_mut(self.at) {
            Some(old) => *old = cell,
            None => self.cells.push(cell),
        }
        self.at += 1;
    }

    /// Writes characters at the cursor, each of one byte.
    pub(super) fn put_ascii(&mut self, bytes: &[u8], raw_start: usize) {
        let over = bytes.len().min(self.cells.len() - self.at);
        let (over, more) = bytes.split_at(over);
        let old = self.cells.get_mut(self.at..).unwrap_or_default();
        for (old, new) in old.iter_mut().zip(ascii(over, raw_start)) {
            *old = new;
        }
        self.cells.extend(ascii(more, raw_start + over.len()));
        self.at += bytes.len();
    }

    pub(super) fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Nothing | Effect::Print | Effect::Control => {}
            Effect::Column(column) => self.go_to(column),
            Effect::Left(columns) => self.at = self.at.saturating_sub(columns),
            Effect::Right(columns) => self.go_to(self.at.saturating_add(columns)),
            Effect::EraseToEnd => self.cells.truncate(self.at),
            Effect::EraseToStart => self.blank(self.at.saturating_add(1)),
            Effect::Erase => {
                self.cells.truncate(self.at);
                self.blank(self.at);
            }
        }
    }

    /// Goes to a column. One beyond the end is taken for the next but one, or a few bytes could make a line of any length:
    /// what stands there is still apart from what stands before it.
    fn go_to(&mut self, column: usize) {
        if let Some(&last) = self.cells.last()
            && last.raw > 0
            && column > self.cells.len()
        {
            self.cells.push(Cell {
                char: ' ',
                raw_start: last.raw_start + usize::from(last.raw),
                raw: 0,
            });
        }
        self.at = column.min(self.cells.len());
    }

    fn blank(&mut self, columns: usize) {
        let columns = columns.min(self.cells.len()).min(self.budget);
        self.budget -= columns;
        self.cells.iter_mut().take(columns).for_each(Cell::erase);
    }

    /// Adds the line to the text, and begins a new one.
    pub(super) fn flush(&mut self, text: &mut Text) {
        let shown = self.cells.iter().rposition(|cell| cell.raw > 0);
        let shown = shown.map_or(0, |last| last + 1);
        let cells = self.cells.get(..shown).unwrap_or_default();
        for run in cells.chunk_by(|one, next| one.is_before(*next)) {
            match run {
                [first, _, ..] => {
                    text.push_plain_chars(run.iter().map(|cell| cell.char), first.raw_start)
                }
                [cell] => text.push_char(cell.char, cell.raw_start, usize::from(cell.raw)),
                [] => {}
            }
        }
        self.cells.clear();
        self.at = 0;
    }
}

fn ascii(bytes: &[u8], raw_start: usize) -> impl Iterator<Item = Cell> {
    bytes.iter().enumerate().map(move |(index, &byte)| Cell {
        char: char::from(byte),
        raw_start: raw_start + index,
        raw: 1,
    })
}
