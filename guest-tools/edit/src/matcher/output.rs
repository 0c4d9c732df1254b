//! The file as it becomes, within a limit.

use super::{MAX_RESULT, Reason};

/// The bytes of the file so far.
#[derive(Debug)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// How many of them are before the text.
    start: usize,
    limit: usize,
}

impl Output {
    /// Makes an output that begins with these bytes, for a file that had so many.
    pub(super) fn new(length: usize, start: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(start);
        Self {
            bytes,
            start: start.len(),
            limit: MAX_RESULT.max(length),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), Reason> {
        if bytes.len() > self.limit - self.bytes.len() {
            return Err(Reason::TooLong { limit: self.limit });
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns whether the text so far ends within a line.
    pub(super) fn is_within_line(&self) -> bool {
        self.bytes.len() > self.start && !self.bytes.ends_with(b"\n")
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
