//! Searching an output that grows, piece by piece.

use regex::bytes::{Regex, RegexBuilder};

use super::Error;
use super::running::Process;

/// The most memory that a compiled expression may take, in bytes.
///
/// The time of a search grows with it: an expression of 1 MiB took 19 s for 64 KiB of output.
const MAX_EXPRESSION: usize = 16 << 10;

/// The most memory that its search may take, in bytes.
const MAX_SEARCH: usize = 1 << 20;

/// The longest text of such an expression, in bytes.
const MAX_EXPRESSION_TEXT: usize = 4096;

/// How much is searched at once, in bytes.
const PIECE: usize = 64 << 10;

/// How long a match across two pieces may be, in bytes.
const OVERLAP: usize = 4 << 10;

/// A search, and how far it has come.
#[derive(Debug)]
pub(super) struct Search {
    until: Regex,
    /// The first byte that was not searched.
    cursor: u64,
    /// The bytes before it in which a match may begin, and one byte before those, for `^`.
    before: Vec<u8>,
    /// Whether the first byte of `before` is there for `^` only.
    has_context: bool,
}

impl Search {
    pub(super) fn new(until: Regex, since: u64) -> Self {
        Self {
            until,
            cursor: since,
            before: Vec::new(),
            has_context: false,
        }
    }

    /// Searches new output, and returns the cursor past the first match. No match spans a gap.
    ///
    /// A search can take long, so it yields after every piece. If the future is dropped, the next search continues there.
    pub(super) async fn go_on(&mut self, process: &Process) -> Option<u64> {
        loop {
            let chunk = process.read(self.cursor, PIECE).await;
            if chunk.data.is_empty() {
                return None;
            }
            if chunk.offset > self.cursor {
                self.before.clear();
                self.has_context = false;
            }
            let start = chunk.offset - self.before.len() as u64;
            self.cursor = chunk.offset + chunk.data.len() as u64;
            self.before.extend(chunk.data);
            let from = usize::from(self.has_context);
            let more = chunk.total > self.cursor;
            if let Some(found) = self.until.find_at(&self.before, from)
                // A match at the end of a piece may depend on the next byte, as at the end of a word.
                && !(more && found.end() == self.before.len())
            {
                return Some(start + found.end() as u64);
            }
            let old = self.before.len().saturating_sub(OVERLAP + 1);
            self.before.drain(..old);
            self.has_context |= old > 0;
            tokio::task::yield_now().await;
        }
    }
}

/// Compiles an expression.
///
/// # Errors
///
/// [`Error::Invalid`] if the text is not a regular expression, or if it is too large.
pub(super) fn expression(text: &str) -> Result<Regex, Error> {
    if text.len() > MAX_EXPRESSION_TEXT {
        return Err(Error::Invalid(format!(
            "the expression is longer than {MAX_EXPRESSION_TEXT} bytes"
        )));
    }
    let built = RegexBuilder::new(text)
        .unicode(false)
        .multi_line(true)
        .crlf(true)
        .size_limit(MAX_EXPRESSION)
        .dfa_size_limit(MAX_SEARCH)
        .build();
    built.map_err(|error| Error::Invalid(format!("the expression is not valid: {error}")))
}
