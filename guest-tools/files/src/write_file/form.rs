//! What a file keeps when it is replaced: its encoding, its byte order mark and its line endings.

use toolhost_edit::encoding::{Encoding, NotText, Text};
use toolhost_sdk::files::Chunk;

const MARK: char = '\u{FEFF}';

/// A new content.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Formed {
    pub(super) data: Vec<u8>,
    /// What was kept or has changed besides the text.
    pub(super) note: Option<String>,
}

/// Gives a new text the form of the file that is there, unless another encoding is asked for.
pub(super) fn keep(
    old: Option<Chunk>,
    new: String,
    asked: Option<Encoding>,
) -> Result<Formed, String> {
    let mut notes = Notes::default();
    let old = match old.filter(|old| !old.data.is_empty()).map(text) {
        None => None,
        Some(Ok(old)) => Some(old),
        Some(Err(problem)) => {
            notes.add(format!("the old {problem}"));
            None
        }
    };
    let before = old.as_ref().map(|old| old.encoding);
    let encoding = asked.or(before).unwrap_or(Encoding::Utf8);
    if let Some(old) = &old {
        refuse_replaced(old, &new)?;
    }
    let mut new = new;
    if let Some(old) = &old {
        match (endings(&old.bytes), endings(new.as_bytes())) {
            (Endings::CrLf, Endings::Lf) => {
                new = new.replace('\n', "\r\n");
                notes.add("the CRLF line endings of the file were kept");
            }
            (Endings::Lf, Endings::CrLf) => notes.add("the line endings changed from LF to CRLF"),
            _ => {}
        }
    }
    let keeps = before == Some(encoding);
    let is_marked = match &old {
        Some(old) if keeps => old.is_marked(),
        _ => encoding.is_marked(),
    };
    if is_marked && !new.starts_with(MARK) {
        new.insert(0, MARK);
        if keeps {
            notes.add("the byte order mark of the file was kept");
        }
    }
    match before {
        Some(before) if !keeps => {
            notes.add(format!(
                "the encoding changed from {} to {}",
                before.name(),
                encoding.name()
            ));
        }
        Some(before) if before != Encoding::Utf8 => {
            notes.add(format!(
                "the encoding {} of the file was kept",
                before.name()
            ));
        }
        _ => {}
    }
    let data = encoding.encode(&new).map_err(|problem| {
        format!("{problem}; use other characters, or write all of the file in UTF-8 with encoding: \"utf-8\"")
    })?;
    Ok(Formed {
        data,
        note: notes.join(),
    })
}

/// Returns a file as text. Of a large file only its whole lines at the beginning are looked at.
fn text(old: Chunk) -> Result<Text, NotText> {
    let mut data = old.data;
    if old.size > data.len() as u64
        && let Some(end) = memchr::memrchr(b'\n', &data)
    {
        data.truncate(end + 1);
    }
    Text::decode(data, None).map(|(text, _)| text)
}

/// Refuses a text that was read from a file in which some bytes are no UTF-8: writing it would lose them.
fn refuse_replaced(old: &Text, new: &str) -> Result<(), String> {
    let is_replaced = old.encoding == Encoding::Utf8
        && std::str::from_utf8(&old.bytes).is_err()
        && memchr::memmem::find(&old.bytes, "\u{FFFD}".as_bytes()).is_none();
    match new.find('\u{FFFD}').filter(|_| is_replaced) {
        None => Ok(()),
        Some(at) => {
            let line = new.split_at(at).0.matches('\n').count() + 1;
            Err(format!(
                "line {line} of content has U+FFFD, which stands for bytes of the file that are not UTF-8: they would be lost. Use \
                 edit_files, which keeps them"
            ))
        }
    }
}

/// The line endings of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endings {
    None,
    Lf,
    CrLf,
    Mixed,
}

fn endings(text: &[u8]) -> Endings {
    let (mut lf, mut crlf) = (false, false);
    for end in memchr::memchr_iter(b'\n', text) {
        let before = end.checked_sub(1).and_then(|before| text.get(before));
        match before {
            Some(b'\r') => crlf = true,
            _ => lf = true,
        }
    }
    match (lf, crlf) {
        (false, false) => Endings::None,
        (true, false) => Endings::Lf,
        (false, true) => Endings::CrLf,
        (true, true) => Endings::Mixed,
    }
}

/// What there is to tell.
#[derive(Debug, Default)]
struct Notes(Vec<String>);

impl Notes {
    fn add(&mut self, note: impl Into<String>) {
        self.0.push(note.into());
    }

    fn join(self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.join("; "))
    }
}
