//! A file of the workspace as a stream that can be searched.

use std::io::{self, Read, Seek, SeekFrom};

use toolhost_sdk::files::Files;

/// How much is read at once. The host reads a file of up to this size as a whole to know its version, whatever is asked for.
const STEP: u32 = 4 << 20;

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
        }
    }

    /// Returns the bytes at the position that are in the buffer.
    fn buffered(&self) -> &[u8] {
        let within = self.position.checked_sub(self.begin);
        let within = within.and_then(|within| usize::try_from(within).ok());
        within
            .and_then(|within| self.buffer.get(within..))
            .unwrap_or_default()
    }
}

impl Read for Source<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.buffered().is_empty() {
            if self.position >= self.size {
                return Ok(0);
            }
            let chunk = self.files.read(self.path, self.position, STEP);
            let chunk = chunk.map_err(|error| io::Error::other(error.to_string()))?;
            (self.begin, self.buffer) = (self.position, chunk.data);
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
