//! Copies of configuration whose owner a program checks.
//!
//! An ordinary user has only itself in its user namespace, so the files of root seem to belong to nobody. ssh refuses to read such a file.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, mkdirat, openat};

use super::mounts::{EMPTY, Mount};

/// The most bytes of a file, and the most directories below each other, that are copied. What is beyond is left out.
const MOST_BYTES: u64 = 64 << 10;
pub(super) const MOST_DEEP: usize = 2;

/// Makes a file system with copies of the files in a directory that this user may read. Links are replaced by what they lead to.
pub(super) fn of(directory: &Path) -> io::Result<Mount> {
    let mount = Mount::new(&EMPTY)?;
    copy(directory, &mount, Path::new("."), MOST_DEEP)?;
    mount.make_itself_read_only()?;
    Ok(mount)
}

fn copy(from: &Path, to: &Mount, below: &Path, deep: usize) -> io::Result<()> {
    // What this user may not read is left out.
    let entries = fs::read_dir(from).into_iter().flatten().flatten();
    for entry in entries {
        let (path, below) = (entry.path(), below.join(entry.file_name()));
        let Ok(found) = fs::metadata(&path) else {
            continue;
        };
        if found.is_dir() && deep > 0 {
            mkdirat(to, &below, Mode::from_raw_mode(0o755))?;
            copy(&path, to, &below, deep - 1)?;
        } else if found.is_file()
            && found.len() <= MOST_BYTES
            && let Ok(content) = fs::read(&path)
        {
            write(to, &below, &content)?;
        }
    }
    Ok(())
}

fn write(to: &Mount, below: &Path, content: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = openat(to.as_fd(), below, flags, Mode::from_raw_mode(0o644))?;
    io::Write::write_all(&mut fs::File::from(file), content)
}
