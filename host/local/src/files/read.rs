//! Reading a stretch of a file, and going over lines of it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;

use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::io::Errno;

use super::metadata::{identity, kind};
use super::resolved_path::ResolvedPath;
use super::{Chunk, Error, Files, Kind, MAX_READ, Skipped, Work, version};

/// How much is looked through at once.
const STEP: usize = 256 << 10;

impl Files {
    /// Returns at most `max` bytes of a file, from the byte `offset` on; never more than [`MAX_READ`].
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn read(&self, path: &str, offset: u64, max: usize) -> Result<Chunk, Error> {
        let file = self.open_file(path)?;
        let max = max.min(MAX_READ);
        let (content, found) = version::whole(&file)?;
        let Some(content) = content else {
            return Ok(Chunk {
                data: read_at(&file, offset, max)?,
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
    pub fn skip_lines(
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
        // What says that it is empty need not be.
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
            // What is appended meanwhile is not gone over, or there would be no end.
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
            // Counting is several times as fast as finding each.
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

    fn open_file(&self, path: &str) -> Result<File, Error> {
        match self.walk(path)? {
            ResolvedPath::Entry { parent, name, .. } => {
                let file = open(&parent, &name)?;
                // Again, for what took its place after the walk.
                self.roots.check_links(&Metadata::from_file(&file)?)?;
                Ok(file)
            }
            ResolvedPath::Directory { .. } => Err(Error::NotAFile),
            ResolvedPath::Missing { .. } => Err(Error::NotFound),
        }
    }
}

/// Opens a regular file by its name alone, and nothing else: opening a device may do something, and a pipe waits.
pub(super) fn open(parent: &Dir, name: &OsStr) -> Result<File, Error> {
    let regular = |found: &Metadata| match kind(found.file_type()) {
        Kind::File => Ok(()),
        _ => Err(Error::NotAFile),
    };
    regular(&parent.symlink_metadata(name)?)?;
    let mut options = OpenOptions::new();
    // For what took its place in between.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = match parent.open_with(name, &options) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            return Err(Error::NotAFile);
        }
        opened => opened?.into_std(),
    };
    regular(&Metadata::from_file(&file)?)?;
    Ok(file)
}

fn read_at(file: &File, offset: u64, max: usize) -> Result<Vec<u8>, Error> {
    // The kernel refuses what ends where it cannot count to.
    if offset > i64::MAX.unsigned_abs() - MAX_READ as u64 {
        return Ok(Vec::new());
    }
    let mut data = vec![0; max];
    let mut filled = 0;
    while let Some(rest) = data.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    data.truncate(filled);
    Ok(data)
}

/// Returns where the next byte is that is not in a hole.
fn next_data(file: &File, offset: u64, size: u64) -> u64 {
    match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => data,
        Err(Errno::NXIO) => size.max(offset),
        // The file system does not know.
        Err(_) => offset,
    }
}
