//! A file of the workspace as a stream that can be searched, with a bound on what the host reads for it.

use std::io::{self, Read, Seek, SeekFrom};

use toolhost_sdk::files::Files;

/// The most that is read at once. The host reads a file of up to this size as a whole to know its version, whatever is asked for.
pub(super) const STEP: u32 = 4 << 20;

/// How much of a larger file is read behind a jump. What follows without a jump is read in steps that double.
const FIRST: u32 = 16 << 10;

/// How much the host reads of one file in all, in bytes.
pub(super) const MAX_READ: u64 = 256 << 20;

/// A file that is read where it is asked for.
#[derive(Debug)]
pub(super) struct Source<'a> {
    files: &'a dyn Files,
    path: &'a str,
    size: u64,
    position: u64,
    /// Bytes of the file, from `begin` on.
    buffer: Vec<u8>,
    begin: u64,
    step: u32,
    /// How many bytes the host may still read.
    left: u64,
    is_spent: bool,
}

impl<'a> Source<'a> {
    pub(super) fn new(files: &'a dyn Files, path: &'a str, size: u64) -> Self {
        Self {
            files,
            path,
            size,
            position: 0,
            buffer: Vec::new(),
            begin: 0,
            step: FIRST,
            left: MAX_READ,
            is_spent: false,
        }
    }

    /// Returns whether the stream ended because the host had read enough of the file.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// Returns the bytes at the position that are in the buffer.
    fn buffered(&self) -> &[u8] {
        let within = self.position.checked_sub(self.begin);
        let within = within.and_then(|within| usize::try_from(within).ok());
        within
            .and_then(|within| self.buffer.get(within..))
            .unwrap_or_default()
    }

    /// Reads the bytes around the position, which are not in the buffer.
    fn fill(&mut self) -> io::Result<()> {
        let follows = self.position == self.begin + self.buffer.len() as u64;
        self.step = match follows && !self.buffer.is_empty() {
            _ if self.size <= u64::from(STEP) => STEP,
            true => (self.step * 2).min(STEP),
            false => FIRST,
        };
        // From a multiple on, so that a search backwards finds the bytes before in the buffer.
        let begin = match follows {
            true => self.position,
            false => self.position - self.position % u64::from(self.step),
        };
        let Some(left) = self.left.checked_sub(u64::from(self.step)) else {
            self.is_spent = true;
            return Err(io::Error::other("too much of the file is read"));
        };
        self.left = left;
        let chunk = self.files.read(self.path, begin, self.step);
        let chunk = chunk.map_err(|error| io::Error::other(error.to_string()))?;
        (self.begin, self.buffer) = (begin, chunk.data);
        Ok(())
    }
}

impl Read for Source<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.buffered().is_empty() {
            if self.position >= self.size {
                return Ok(0);
            }
            self.fill()?;
        }
        let count = self.buffered().read(to)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for Source<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (base, offset) = match to {
            SeekFrom::Start(position) => (position, 0),
            SeekFrom::End(offset) => (self.size, offset),
            SeekFrom::Current(offset) => (self.position, offset),
        };
        let position = base.checked_add_signed(offset);
        self.position = position.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}
