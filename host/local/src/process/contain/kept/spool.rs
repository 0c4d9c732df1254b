//! The spool of a kept command: the file through which its output passes.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, SpliceFFlags, fallocate, splice};
use nix::unistd::{Whence, lseek};

use super::Outlet;
use crate::process::WINDOW;

/// The ranges that are freed begin and end at multiples of this number of bytes, so that whole blocks of the file system are freed.
const BLOCK: u64 = 64 << 10;

/// The mode of a spool that the disk has refused bytes of. To set it takes no space on the disk.
const LACKS_BYTES: u32 = 0o400;

/// The smallest range that is worth freeing, in bytes.
const WORTHWHILE: u64 = 16 * BLOCK;

/// The file through which the output of a kept command passes. Its length is the number of bytes that were read from the pipe.
///
/// Only bytes that are needed stay on the disk: those at both ends, and those that no host has saved yet.
#[derive(Debug)]
pub(in crate::process) struct Spool {
    file: File,
    /// The end of the range that was freed by this process.
    freed: AtomicU64,
    /// Whether a refusal of the disk was logged.
    refused: AtomicBool,
}

/// The result of reading the pipe.
#[derive(Debug)]
pub(in crate::process) enum Moved {
    /// The pipe is empty for now.
    Nothing,
    /// These bytes were moved.
    Bytes(Bytes),
    /// The end of the pipe.
    End,
}

impl Spool {
    pub(in crate::process::contain) fn new(file: impl Into<File>) -> Self {
        Self {
            file: file.into(),
            freed: AtomicU64::new(BLOCK),
            refused: AtomicBool::new(false),
        }
    }

    pub(in crate::process::contain) fn descriptor(&self) -> io::Result<OwnedFd> {
        self.file.as_fd().try_clone_to_owned()
    }

    /// Returns how many bytes were read from the pipe.
    pub(in crate::process) fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Moves bytes from the pipe to the offset `at`, which must be the length, and does not wait for any. Returns their number, which is
    /// 0 at the end of the pipe.
    ///
    /// A process that is killed meanwhile has moved a byte or left it in the pipe.
    ///
    /// # Errors
    ///
    /// `EAGAIN` if the pipe is empty. With any other error, the file does not take more; the bytes stay in the pipe.
    pub(in crate::process::contain) fn fill(
        &self,
        outlet: &Outlet,
        at: u64,
        most: usize,
    ) -> Result<usize, Errno> {
        let mut at = i64::try_from(at).map_err(|_| Errno::EFBIG)?;
        let flags = SpliceFFlags::SPLICE_F_NONBLOCK;
        outlet.with_bytes(most, |pipe| {
            loop {
                match splice(pipe, None, &self.file, Some(&mut at), most, flags) {
                    Err(Errno::EINTR) => {}
                    result => return result,
                }
            }
        })
    }

    /// As [`Spool::fill`], and returns the bytes. If the disk is full, takes them from the pipe all the same: then they are lost if this
    /// host is killed. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// If the pipe or the file cannot be read.
    pub(in crate::process) fn take(
        &self,
        outlet: &Outlet,
        at: u64,
        most: usize,
    ) -> io::Result<Moved> {
        let mut buffer = Vec::new();
        let count = match self.fill(outlet, at, most) {
            Ok(0) => return Ok(Moved::End),
            Ok(count) => {
                buffer.resize(count, 0);
                self.file.read_exact_at(&mut buffer, at)?;
                return Ok(Moved::Bytes(buffer.into()));
            }
            Err(Errno::EAGAIN) => return Ok(Moved::Nothing),
            Err(errno) => {
                if !self.refused.swap(true, Ordering::Relaxed) {
                    tracing::warn!(error = %errno, "the output of a kept command cannot be written: bytes that are read now are lost if this host is killed");
                }
                buffer.resize(most, 0);
                match outlet.with_bytes(most, |pipe| nix::unistd::read(pipe, &mut buffer)) {
                    Ok(0) => return Ok(Moved::End),
                    Err(Errno::EAGAIN) => return Ok(Moved::Nothing),
                    result => result?,
                }
            }
        };
        // The length counts them. The file has zeros in their place, of which no later host must make output.
        self.file
            .set_permissions(Permissions::from_mode(LACKS_BYTES))?;
        self.file.set_len(at + count as u64)?;
        buffer.truncate(count);
        Ok(Moved::Bytes(buffer.into()))
    }

    /// Reads as many bytes from this offset on as the buffer takes and the file has. Freed bytes read as zeros.
    pub(in crate::process) fn read(&self, at: u64, most: usize) -> io::Result<Vec<u8>> {
        let left = self.length()?.saturating_sub(at);
        let mut buffer = vec![0; usize::try_from(left).unwrap_or(usize::MAX).min(most)];
        self.file.read_exact_at(&mut buffer, at)?;
        Ok(buffer)
    }

    /// Returns whether the file has all bytes that its length counts and that were not freed.
    pub(in crate::process) fn lacks_nothing(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.permissions().mode() & 0o777 != LACKS_BYTES)
    }

    /// Returns the end of the bytes that the file has without a gap from this offset on.
    pub(in crate::process) fn whole_until(&self, at: u64) -> io::Result<u64> {
        if at >= self.length()? {
            return Ok(at);
        }
        let from = i64::try_from(at).map_err(io::Error::other)?;
        let hole = lseek(&self.file, from, Whence::SeekHole)?;
        Ok(u64::try_from(hole).unwrap_or(at))
    }

    /// Frees the bytes before `until` that are at neither end. Does nothing if these are few. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// If the file system cannot free a part of a file.
    pub(in crate::process) fn free(&self, until: u64, length: u64) -> io::Result<()> {
        let until = until.min(length.saturating_sub(WINDOW as u64));
        self.free_from(0, until - until % BLOCK)
    }

    /// As [`Spool::free`], but keeps the bytes before `from`.
    pub(in crate::process::contain) fn free_after(&self, from: u64, length: u64) -> io::Result<()> {
        let until = length.saturating_sub(WINDOW as u64);
        self.free_from(from.next_multiple_of(BLOCK), until - until % BLOCK)
    }

    fn free_from(&self, from: u64, until: u64) -> io::Result<()> {
        let from = from.max(self.freed.load(Ordering::Relaxed));
        if until < from.saturating_add(WORTHWHILE) {
            return Ok(());
        }
        let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        let range = |number| i64::try_from(number).map_err(io::Error::other);
        fallocate(&self.file, flags, range(from)?, range(until - from)?)?;
        self.freed.store(until, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    #[test]
    fn its_length_counts_what_was_read_and_freed_bytes_are_gaps() {
        let spool = Spool::new(tempfile::tempfile().unwrap());
        let (reader, mut writer) = io::pipe().unwrap();
        let flags = nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK);
        nix::fcntl::fcntl(&reader, flags).unwrap();
        let pipe = Outlet::new(reader.into(), None);
        let mut at = 0;
        for round in 0..64_u8 {
            writer.write_all(&[round; 60_000]).unwrap();
            let Moved::Bytes(bytes) = spool.take(&pipe, at, 1 << 20).unwrap() else {
                panic!("round {round}");
            };
            assert_eq!(*bytes, [round; 60_000]);
            at += 60_000;
            assert_eq!(spool.length().unwrap(), at);
        }
        assert!(matches!(spool.take(&pipe, at, 10).unwrap(), Moved::Nothing));
        spool.free(2 << 20, at).unwrap();
        assert_eq!(spool.whole_until(0).unwrap(), BLOCK);
        assert_eq!(spool.whole_until(BLOCK).unwrap(), BLOCK);
        assert_eq!(spool.whole_until(2 << 20).unwrap(), at);
        spool.free_after(3 << 20, at).unwrap();
        assert_eq!(spool.whole_until(2 << 20).unwrap(), at, "too little");
        assert_eq!(spool.read(at - 5, 10).unwrap(), [63; 5]);
        drop(writer);
        // Another test may be starting a program: its child has a copy of the writer until it executes the program.
        let mut hang_up = [PollFd::new(pipe.pipe().as_fd(), PollFlags::empty())];
        poll(&mut hang_up, PollTimeout::NONE).unwrap();
        assert!(matches!(spool.take(&pipe, at, 10).unwrap(), Moved::End));
    }
}
