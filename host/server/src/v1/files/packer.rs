//! Archives that are written as they are sent: what was packed is taken out again and again.

use std::io::{self, Write};
use std::mem;
use std::sync::Arc;
use std::time::SystemTime;

use flate2::Compression;
use flate2::write::GzEncoder;
use parking_lot::Mutex;
use tar::{Builder, EntryType, Header};
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::format::Format;

/// The size of the blocks of tar.
const BLOCK: u64 = 512;

/// The largest size of an entry of a zip archive without the extension for larger ones.
const SMALL: u64 = u32::MAX as u64 - (64 << 20);

/// What was packed and is not taken out yet.
#[derive(Clone, Debug, Default)]
struct Packed(Arc<Mutex<Vec<u8>>>);

impl Write for Packed {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file or a directory of an archive.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its path in the archive.
    pub(super) path: String,
    pub(super) is_directory: bool,
    pub(super) is_executable: bool,
    pub(super) size: u64,
    pub(super) modified: SystemTime,
}

/// An archive under way.
pub(super) struct Packer {
    packed: Packed,
    archive: Archive,
    /// How many bytes the file has that was begun last.
    size: u64,
}

enum Archive {
    Tar(Builder<Packed>),
    Gzip(Box<Builder<GzEncoder<Packed>>>),
    Zip(Box<ZipWriter<StreamWriter<Packed>>>),
}

impl Packer {
    pub(super) fn new(format: Format) -> Self {
        let packed = Packed::default();
        let into = packed.clone();
        let archive = match format {
            Format::Tar => Archive::Tar(Builder::new(into)),
            Format::Gzip => {
                let encoder = GzEncoder::new(into, Compression::default());
                Archive::Gzip(Box::new(Builder::new(encoder)))
            }
            Format::Zip => Archive::Zip(Box::new(ZipWriter::new_stream(into))),
        };
        Self {
            packed,
            archive,
            size: 0,
        }
    }

    /// Returns what was packed since the last time.
    pub(super) fn take(&self) -> Vec<u8> {
        mem::take(&mut *self.packed.0.lock())
    }

    /// Begins a file, or adds a directory.
    pub(super) fn begin(&mut self, entry: &Entry) -> io::Result<()> {
        self.size = entry.size;
        match &mut self.archive {
            Archive::Tar(tar) => begin_tar(tar, entry),
            Archive::Gzip(tar) => begin_tar(tar, entry),
            Archive::Zip(zip) => begin_zip(zip, entry),
        }
    }

    /// Adds bytes to the file.
    pub(super) fn add(&mut self, data: &[u8]) -> io::Result<()> {
        match &mut self.archive {
            Archive::Tar(tar) => tar.get_mut().write_all(data),
            Archive::Gzip(tar) => tar.get_mut().write_all(data),
            Archive::Zip(zip) => zip.write_all(data),
        }
    }

    /// Ends the file, of which all bytes were added.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let rest = [0; BLOCK as usize];
        let missing = usize::try_from(self.size.next_multiple_of(BLOCK) - self.size);
        let rest = rest.get(..missing.unwrap_or(0)).unwrap_or_default();
        match &mut self.archive {
            Archive::Tar(tar) => tar.get_mut().write_all(rest),
            Archive::Gzip(tar) => tar.get_mut().write_all(rest),
            Archive::Zip(_) => Ok(()),
        }
    }

    /// Ends the archive, and returns the last that was packed.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        match self.archive {
            Archive::Tar(tar) => drop(tar.into_inner()?),
            Archive::Gzip(tar) => drop(tar.into_inner()?.finish()?),
            Archive::Zip(zip) => drop(zip.finish()?),
        }
        Ok(mem::take(&mut *self.packed.0.lock()))
    }
}

fn mode(entry: &Entry) -> u32 {
    match entry.is_directory || entry.is_executable {
        true => 0o755,
        false => 0o644,
    }
}

fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// Writes the header of an entry alone; its bytes follow.
fn begin_tar(tar: &mut Builder<impl Write>, entry: &Entry) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(match entry.is_directory {
        true => EntryType::Directory,
        false => EntryType::Regular,
    });
    header.set_mode(mode(entry));
    header.set_mtime(seconds(entry.modified));
    header.set_size(entry.size);
    tar.append_data(&mut header, &entry.path, io::empty())
}

fn begin_zip(zip: &mut ZipWriter<StreamWriter<Packed>>, entry: &Entry) -> io::Result<()> {
    let modified = i64::try_from(seconds(entry.modified)).ok();
    let modified = modified.and_then(|seconds| chrono::DateTime::from_timestamp(seconds, 0));
    let modified = modified.and_then(|time| DateTime::try_from(time.naive_utc()).ok());
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .unix_permissions(mode(entry))
        .large_file(entry.size >= SMALL)
        // Zip has no times before 1980.
        .last_modified_time(modified.unwrap_or_default());
    // Windows takes it for a separator, so that such a name could lead out of the directory where it is unpacked.
    let path = entry.path.replace('\\', "_");
    match entry.is_directory {
        true => zip.add_directory(path, options)?,
        false => zip.start_file(path, options)?,
    }
    Ok(())
}
