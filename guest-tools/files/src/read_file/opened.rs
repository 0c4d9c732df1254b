//! What a file is: text in some encoding, or something else.

use toolhost_edit::encoding::{Encoding, NotText, Text};

use super::scan::Scan;
use super::{Kind, MAX_LINES, Page, Reader, page, raw};
use crate::refusal::Refusal;

/// How much of the start of a file is looked at for zero bytes, as Git does.
const LOOK: usize = 8_000;

/// The largest file that is read as a whole to know its encoding, which is the largest that can be edited.
const MAX_WHOLE: u32 = 4 << 20;

/// Reads a page of a file in this encoding.
type Read<'r> = dyn Fn(&mut Scan<'_>, Encoding) -> Result<(Page, bool), Refusal> + 'r;

/// The note on a file whose bytes are not all in the encoding that it seems to have.
const NOT_EDITED: &str =
    "edit_files cannot edit the file: some of its bytes would change outside of the edit";

const MARK: &[u8] = "\u{FEFF}".as_bytes();

/// What there is at a path.
#[derive(Debug)]
#[cfg_attr(
    target_pointer_width = "64",
    expect(
        clippy::large_enum_variant,
        reason = "there is one of it at a time, and it is taken apart at once"
    )
)]
pub(super) enum Opened<'a> {
    Text(OpenedText<'a>),
    Other(Page),
}

/// A file with text.
#[derive(Debug)]
pub(super) struct OpenedText<'a> {
    scan: Scan<'a>,
    /// The encoding of the lines that are scanned.
    lines: Encoding,
    /// The encoding of the file.
    encoding: Encoding,
    is_marked: bool,
    /// Whether its encoding is certain, or what the page shows of it is looked at first.
    is_certain: bool,
    /// Whether the caller gave the encoding, so that lines with zero bytes are text.
    is_given: bool,
    note: Option<&'static str>,
}

/// Looks at the beginning of a file and, if that is not plain UTF-8, at all of it.
pub(super) fn open<'a>(
    scan: Scan<'a>,
    path: &str,
    given: Option<Encoding>,
) -> Result<Opened<'a>, Refusal> {
    if given.is_none() && is_plain(scan.start()) {
        return Ok(Opened::Text(OpenedText::utf8(scan, false)));
    }
    look_at_all(scan, path, given)
}

fn look_at_all<'a>(
    scan: Scan<'a>,
    path: &str,
    given: Option<Encoding>,
) -> Result<Opened<'a>, Refusal> {
    let is_whole = scan.size() <= u64::from(MAX_WHOLE);
    let mut data = if is_whole {
        scan.all(MAX_WHOLE)
            .map_err(|error| Refusal::of(path, error))?
    } else {
        scan.start().to_vec()
    };
    if !is_whole {
        // Without the line that is cut.
        data.truncate(memchr::memrchr(b'\n', &data).map_or(data.len(), |end| end + 1));
    }
    let has_early_zero = memchr::memchr(0, data.get(..LOOK).unwrap_or(&data)).is_some();
    let (text, lossless) = match Text::decode(data, given) {
        Ok(decoded) => decoded,
        Err(NotText::Binary(None)) if !has_early_zero => {
            return Ok(Opened::Text(OpenedText::utf8(scan, true)));
        }
        Err(NotText::Binary(kind)) => {
            return Ok(Opened::Other(other(
                &scan,
                kind.unwrap_or("application/octet-stream"),
            )));
        }
        Err(NotText::Utf32) => {
            return Ok(Opened::Other(other(&scan, "text/plain; charset=utf-32")));
        }
        Err(NotText::Mixed(encoding)) => {
            return Ok(Opened::Text(OpenedText {
                scan,
                lines: encoding,
                encoding,
                is_marked: false,
                is_certain: true,
                is_given: false,
                note: Some(NOT_EDITED),
            }));
        }
        Err(problem) => return Err(Refusal::report(format!("{problem}: {path}"))),
    };
    let (encoding, is_marked) = (text.encoding, text.is_marked());
    let note = (!lossless).then_some(NOT_EDITED);
    let (scan, lines) = match encoding {
        Encoding::Utf8 => (scan, Encoding::Utf8),
        _ if is_whole => (scan.of_text(text.bytes), Encoding::Utf8),
        Encoding::Legacy(_) => (scan, encoding),
        Encoding::Utf16Le | Encoding::Utf16Be => {
            let kind = format!("text/plain; charset={}", encoding.name().to_lowercase());
            let mut page = other(&scan, &kind);
            let advice =
                "it is too large to be read in this encoding; convert it with iconv in execute";
            page.note = Some(advice.to_owned());
            return Ok(Opened::Other(page));
        }
    };
    Ok(Opened::Text(OpenedText {
        scan,
        lines,
        encoding,
        is_marked,
        is_certain: true,
        is_given: given.is_some(),
        note,
    }))
}

impl Opened<'_> {
    /// Reads a page of lines for a model, or the text as it is for a program. A limit of 0 is none.
    pub(super) fn read(
        self,
        path: &str,
        offset: u64,
        limit: u64,
        reader: Reader,
    ) -> Result<Page, Refusal> {
        match self {
            Self::Other(page) => Ok(page),
            Self::Text(text) if reader == Reader::Program => {
                text.raw(path, offset, (limit > 0).then_some(limit))
            }
            Self::Text(text) => {
                let limit = match limit {
                    0 => MAX_LINES,
                    limit => limit.min(MAX_LINES),
                };
                text.page(path, offset, limit)
            }
        }
    }
}

impl<'a> OpenedText<'a> {
    pub(super) fn utf8(scan: Scan<'a>, is_certain: bool) -> Self {
        Self {
            is_marked: scan.start().starts_with(MARK),
            scan,
            lines: Encoding::Utf8,
            encoding: Encoding::Utf8,
            is_certain,
            is_given: false,
            note: None,
        }
    }

    /// Reads a page of the lines for a model.
    fn page(self, path: &str, offset: u64, limit: u64) -> Result<Page, Refusal> {
        let shows_zeros = self.is_given;
        self.read(path, &|scan, encoding| {
            page::read(scan, path, offset, limit, encoding, shows_zeros)
        })
    }

    /// Reads the text as it is for a program.
    fn raw(self, path: &str, offset: u64, limit: Option<u64>) -> Result<Page, Refusal> {
        self.read(path, &|scan, encoding| {
            raw::read(scan, path, offset, limit, encoding)
        })
    }

    /// Reads a page, and says what is to know of the encoding. `read` also returns whether some bytes were no text.
    fn read(mut self, path: &str, read: &Read<'_>) -> Result<Page, Refusal> {
        let (mut page, is_replaced) = read(&mut self.scan, self.lines)?;
        if is_replaced && !self.is_certain && self.scan.size() <= u64::from(MAX_WHOLE) {
            // The encoding shows only here.
            let scan = Scan::begin(self.scan.files(), self.scan.path())
                .map_err(|error| Refusal::of(path, error))?;
            return match look_at_all(scan, path, None)? {
                Opened::Text(text) if text.encoding == Encoding::Utf8 => Ok(page),
                Opened::Text(text) => text.read(path, read),
                Opened::Other(page) => Ok(page),
            };
        }
        let name = self.encoding.name();
        page.encoding = match (self.encoding, self.is_marked) {
            (Encoding::Utf8, false) => None,
            (_, true) => Some(format!("{name} with a byte order mark")),
            (_, false) => Some(name.to_owned()),
        };
        if let Some(note) = self.note {
            let notes: Vec<_> = page.note.iter().map(String::as_str).chain([note]).collect();
            page.note = Some(notes.join("; "));
        }
        Ok(page)
    }
}

/// Returns whether a file with this start is plain UTF-8.
pub(super) fn is_plain(start: &[u8]) -> bool {
    let look = start.get(..LOOK).unwrap_or(start);
    memchr::memchr(0, look).is_none() && is_utf8(start)
}

/// Returns whether the start of a file is UTF-8, but for a character that is cut.
fn is_utf8(start: &[u8]) -> bool {
    std::str::from_utf8(start)
        .err()
        .is_none_or(|error| error.error_len().is_none() && start.len() > usize::from(u8::MAX))
}

pub(super) fn other(scan: &Scan<'_>, media_type: &str) -> Page {
    Page {
        note: note(media_type).map(str::to_owned),
        kind: Some(Kind::Binary),
        file_size: Some(scan.file_size()),
        media_type: Some(media_type.to_owned()),
        version: Some(scan.version().to_owned()),
        ..Page::default()
    }
}

/// Returns what can be done with a file that is not shown.
fn note(media_type: &str) -> Option<&'static str> {
    const IMAGE: &str = "images of this format cannot be shown here; use execute to make a PNG of it, and read that";
    const PACKED: &str = "archives of this format are not listed here; use execute to list it";
    const PACKERS: [&str; 4] = [
        "application/x-bzip2",
        "application/x-xz",
        "application/x-7z-compressed",
        "application/vnd.rar",
    ];
    match media_type {
        _ if media_type.starts_with("image/") => Some(IMAGE),
        _ if PACKERS.contains(&media_type) => Some(PACKED),
        _ => None,
    }
}
