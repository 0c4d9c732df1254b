//! Reading a stretch of a file, and going over lines of it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use cap_std::fs::{Metadata, MetadataExt};
use rustix::io::Errno;

use super::metadata::identity;
use super::resolved_path::ResolvedPath;
use super::{Chunk, Error, Files, MAX_READ, Skipped, Work, open, version};

/// The size of the buffer for counting lines, in bytes.
const STEP: usize = 256 << 10;

impl Files {
    /// Returns at most `max` bytes of a file, from the byte `offset` on; never more than [`MAX_READ`].
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub(crate) fn read(&self, path: &str, offset: u64, max: usize) -> Result<Chunk, Error> {
        let file = self.open_file(path)?;
        let max = max.min(MAX_READ);
        let (content, found) = version::whole(&file)?;
        let Some(content) = content else {
            let data = read_at(&file, offset, max)?;
            // A write before or during the read has changed the version, so that no caller mixes two versions.
            let found = Metadata::from_file(&file)?;
            return Ok(Chunk {
                data,
                size: found.len(),
                version: version::of_stat(&found),
                identity: identity(&found),
            });
        };
        let version = version::of_content(&content);
        let size = content.len() as u64;
        let begin = usize::try_from(offset).unwrap_or(usize::MAX);
        let mut data = content;
        data.drain(..begin.min(data.len()));
        data.truncate(max);
        Ok(Chunk {
            data,
            size,
            version,
            identity: identity(&found),
        })
    }

    /// Goes over at most `lines` lines of a file from the byte `offset` on, without returning them. Holes of a sparse file
    /// cost nothing. It ends early when its work is stopped.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub(crate) fn skip_lines(
        &self,
        path: &str,
        offset: u64,
        lines: u64,
        work: &Work,
    ) -> Result<Skipped, Error> {
        let file = self.open_file(path)?;
        let found = Metadata::from_file(&file)?;
        let size = found.len();
        // Blocks of 512 bytes, whatever the file system's are.
        let sparse = found.blocks().saturating_mul(512) < size;
        // A file that reports a size of 0 need not be empty.
        let begin = if size == 0 { offset } else { offset.min(size) };
        let mut at = Skipped {
            offset: begin,
            lines: 0,
            size,
        };
        let mut buffer = vec![0; STEP];
        while at.lines < lines {
            work.check()?;
            if sparse {
                at.offset = next_data(&file, at.offset, size);
            }
            // Bytes that are appended meanwhile are left out: otherwise a growing file would have no end.
            let left = size.saturating_sub(at.offset);
            let step = match usize::try_from(left) {
                _ if size == 0 => STEP,
                Ok(left) => left.min(STEP),
                Err(_) => STEP,
            };
            let room = buffer.get_mut(..step).unwrap_or_default();
            let read = file.read_at(room, at.offset)?;
            let data = buffer.get(..read).unwrap_or_default();
            if data.is_empty() {
                break;
            }
            let wanted = usize::try_from(lines - at.lines).unwrap_or(usize::MAX);
            let ends = || memchr::memchr_iter(b'\n', data);
            // Counting line feeds is several times as fast as finding each.
            let count = ends().count();
            let last = if count < wanted {
                None
            } else {
                ends().nth(wanted - 1)
            };
            match last {
                Some(end) => {
                    at.lines = lines;
                    at.offset += end as u64 + 1;
                }
                None => {
                    at.lines += count as u64;
                    at.offset += read as u64;
                }
            }
        }
        Ok(at)
    }

    pub(super) fn open_file(&self, path: &str) -> Result<File, Error> {
        match self.walk(path)? {
            ResolvedPath::Entry { parent, name, .. } => {
                let file = open::regular(&parent, &name)?;
                // Another file may have taken the name after the walk.
                self.roots.check_file(&Metadata::from_file(&file)?)?;
                Ok(file)
            }
            ResolvedPath::Directory { .. } => Err(Error::NotAFile),
            ResolvedPath::Missing { .. } => Err(Error::NotFound),
        }
    }
}

fn read_at(mut file: &File, offset: u64, max: usize) -> Result<Vec<u8>, Error> {
    // The kernel refuses offsets that end beyond the largest that it can count.
    if offset > i64::MAX.unsigned_abs() - MAX_READ as u64 {
        return Ok(Vec::new());
    }
    file.seek(SeekFrom::Start(offset))?;
    let mut data = Vec::with_capacity(max);
    file.take(max as u64).read_to_end(&mut data)?;
    Ok(data)
}

/// Returns the offset of the next byte that is not in a hole.
fn next_data(file: &File, offset: u64, size: u64) -> u64 {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
        Ok(data) => data,
        Err(Errno::NXIO) => size.max(offset),
        // The file system does not report holes.
        Err(_) => offset,
    }
}
