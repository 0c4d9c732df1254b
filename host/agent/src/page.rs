//! Stretches of output as text, which is cut between characters only.

use serde::Serialize;

use toolhost_http::process_values::unfinished;
use toolhost_workspace::process::Chunk;

/// Bytes of an output that are no longer kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Gap {
    /// The cursor of the first of them.
    pub(super) from: u64,
    /// The cursor past the last of them.
    pub(super) to: u64,
    /// The number of these bytes.
    bytes: u64,
}

impl Gap {
    /// Returns the gap between a cursor and the chunk that was read there; `None` if no bytes are missing.
    pub(super) fn before(since: u64, chunk: &Chunk) -> Option<Self> {
        let bytes = chunk.offset.checked_sub(since).filter(|bytes| *bytes > 0)?;
        Some(Self {
            from: since,
            to: chunk.offset,
            bytes,
        })
    }
}

/// Text of an output, and where the next begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) text: String,
    /// The cursor past the text.
    pub(super) cursor: u64,
}

impl Page {
    /// Decodes a chunk. `live` says whether the process may write more: an incomplete character is then left to the next page.
    pub(super) fn of(chunk: &Chunk, live: bool) -> Self {
        let more = live && !chunk.end;
        let at_end = chunk.offset + chunk.data.len() as u64 == chunk.total;
        let is_unfinished = !chunk.data.is_empty() && unfinished(&chunk.data) == chunk.data.len();
        if more && at_end && is_unfinished {
            return Self {
                text: String::new(),
                cursor: chunk.offset,
            };
        }
        let page = toolhost_view::reference::page(&chunk.data, more || !at_end);
        Self {
            text: page.text,
            cursor: chunk.offset + page.used as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(data: &[u8], total: u64, end: bool) -> Chunk {
        Chunk {
            offset: 10,
            data: data.to_vec(),
            total,
            end,
        }
    }

    fn page(text: &str, cursor: u64) -> Page {
        Page {
            text: text.into(),
            cursor,
        }
    }

    #[test]
    fn characters_are_not_cut() {
        let half = "aä".as_bytes();
        let half = &half[..2];
        assert_eq!(Page::of(&chunk(half, 12, false), true), page("a", 11));
        assert_eq!(Page::of(&chunk(half, 50, false), true), page("a", 11));
        // Nothing will complete it.
        assert_eq!(
            Page::of(&chunk(half, 12, true), true),
            page("a\u{FFFD}", 12)
        );
        assert_eq!(
            Page::of(&chunk(half, 12, false), false),
            page("a\u{FFFD}", 12)
        );
    }

    #[test]
    fn half_a_character_is_waited_for_but_not_for_ever() {
        assert_eq!(Page::of(&chunk(b"\xc3", 11, false), true), page("", 10));
        // The other half is gone, or the reader wanted one byte.
        assert_eq!(
            Page::of(&chunk(b"\xc3", 50, false), true),
            page("\u{FFFD}", 11)
        );
        assert_eq!(
            Page::of(&chunk(b"\xff", 11, false), true),
            page("\u{FFFD}", 11)
        );
        assert_eq!(Page::of(&chunk(b"", 10, false), true), page("", 10));
    }

    #[test]
    fn gaps_are_exact() {
        let chunk = chunk(b"a", 50, false);
        assert_eq!(Gap::before(10, &chunk), None);
        assert_eq!(Gap::before(11, &chunk), None);
        let gap = Gap::before(3, &chunk).unwrap();
        assert_eq!((gap.from, gap.to, gap.bytes), (3, 10, 7));
    }
}
