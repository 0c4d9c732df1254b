//! Streams of which only the headers of entries are kept in memory.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};

/// The most bytes of all headers in front of one entry: its long name, and its attributes.
pub(super) const MAX_HEADERS: u64 = 1 << 20;

/// A stream whose reads between two entries are bounded. What is passed over does not count.
pub(super) struct Headers<'c, R> {
    pub(super) stream: R,
    /// How many bytes the headers of the next entry may still have.
    pub(super) left: &'c Cell<u64>,
}

impl<R: Read> Read for Headers<'_, R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(to)?;
        let left = self.left.get().checked_sub(count as u64);
        self.left
            .set(left.ok_or_else(|| io::Error::other("the headers of an entry are too large"))?);
        Ok(count)
    }
}

impl<R: Seek> Seek for Headers<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.stream.seek(to)
    }
}

/// A stream that can only go forward, as one that is unpacked.
pub(super) struct Forward<R> {
    stream: R,
    position: u64,
}

impl<R> Forward<R> {
    pub(super) fn new(stream: R) -> Self {
        Self {
            stream,
            position: 0,
        }
    }
}

impl<R: Read> Read for Forward<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(to)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl<R: Read> Seek for Forward<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let by = match to {
            SeekFrom::Current(by) => u64::try_from(by).ok(),
            SeekFrom::Start(position) => position.checked_sub(self.position),
            SeekFrom::End(_) => None,
        };
        let by = by.ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
        let passed = io::copy(&mut self.stream.by_ref().take(by), &mut io::sink())?;
        self.position += passed;
        if passed < by {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        Ok(self.position)
    }
}
