//! PDF files, as the text of their pages.

mod interpret;
mod layout;
mod selection;

use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};

use interpret::Interpreter;
pub(super) use selection::{Selection, written};

/// The largest file, in bytes.
pub(super) const MAX_FILE: u64 = 64 << 20;

/// The most bytes of text that are read of one file.
pub(super) const MAX_TEXT: usize = 4 << 20;

/// The text of some pages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pages {
    /// The lines, with a heading for each page.
    pub(super) text: String,
    /// The pages that are in the text.
    pub(super) shown: Vec<u32>,
    /// The pages that were asked for, and are not in the text.
    pub(super) rest: Vec<u32>,
    /// How many pages the file has.
    pub(super) total: u32,
    pub(super) note: Option<String>,
}

/// How much text a reply has room for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// How many lines at the beginning are not shown.
    pub(super) skipped: u64,
    /// How many lines are shown at most.
    pub(super) lines: u64,
    /// How many bytes they have at most.
    pub(super) bytes: usize,
}

impl Room {
    /// Returns the room that is left behind a text; `None` if it does not fit.
    fn without(mut self, text: &str) -> Option<Self> {
        /// The text in front of a line: its number.
        const NUMBER: usize = 8;
        for line in text.split_inclusive('\n') {
            if self.skipped > 0 {
                self.skipped -= 1;
                continue;
            }
            self.lines = self.lines.checked_sub(1)?;
            self.bytes = self.bytes.checked_sub(line.len() + NUMBER)?;
        }
        Some(self)
    }
}

/// Reads the pages that are selected, as long as there is room: at least the first one.
///
/// # Errors
///
/// A sentence that says why they cannot be read.
pub(super) fn read(file: Vec<u8>, selection: &Selection, mut room: Room) -> Result<Pages, String> {
    let pdf = Pdf::new(file).map_err(reason)?;
    let total = u32::try_from(pdf.pages().len()).unwrap_or(u32::MAX);
    if total == 0 {
        return Err("it has no pages, or is damaged".to_owned());
    }
    let mut selected = selection.of(total)?.into_iter().peekable();
    let mut interpreter = Interpreter::new();
    let mut pages = Pages {
        total,
        ..Pages::default()
    };
    let (mut empty, mut unknown) = (0, 0);
    while let Some(number) = selected.peek().copied() {
        let index = usize::try_from(number).unwrap_or(usize::MAX) - 1;
        let Some(page) = pdf.pages().get(index) else {
            break;
        };
        let mut text = format!("--- page {number} of {total} ---\n");
        let read = interpreter.page(page);
        text += &read.text;
        let is_empty = read.text.trim().is_empty();
        if is_empty {
            text += if read.has_images {
                "[no text, but images]\n"
            } else {
                "[no text]\n"
            };
        }
        let left = room.without(&text);
        // The next call reads the page, with all that a call can read.
        if (left.is_none() || interpreter.is_exhausted()) && !pages.shown.is_empty() {
            break;
        }
        selected.next();
        empty += usize::from(is_empty);
        unknown += usize::from(read.is_unknown);
        pages.shown.push(number);
        pages.text += &text;
        if interpreter.is_exhausted() {
            pages.note = Some(format!("page {number} has too much to be read as a whole"));
            break;
        }
        if pages.text.len() > MAX_TEXT {
            break;
        }
        match left {
            Some(left) => room = left,
            None => break,
        }
    }
    pages.rest = selected.collect();
    if unknown > 0 {
        let note = "the fonts of some pages do not say which characters they have, so their text is not right";
        pages.note.get_or_insert_with(|| note.to_owned());
    } else if empty == pages.shown.len() {
        let note = "there is no text on these pages; if they are scans, make images of them in execute, for example with pdftoppm, \
            and read those";
        pages.note.get_or_insert_with(|| note.to_owned());
    }
    Ok(pages)
}

fn reason(error: LoadPdfError) -> String {
    match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => {
            "it is encrypted and needs a password; if you know it, decrypt the file in execute, for example with qpdf".to_owned()
        }
        LoadPdfError::Decryption(_) => "it is encrypted in a way that is not known".to_owned(),
        LoadPdfError::Invalid => "it is damaged".to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests;
