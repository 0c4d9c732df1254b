//! The file of the trail: appends whole lines, and rotates the file by its size.
//!
//! Any number of hosts may share a directory. Each line is one write at the end of the file, and a lock is held while the files
//! get other names.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::Config;
use toolhost_state::state_dir::StateDir;

/// The name of the current file. Older files have a number after it, the newest of them 1.
pub(super) const NAME: &str = "audit.jsonl";

/// The lock file that is held while files are renamed.
const LOCK: &str = "audit.lock";

/// The file of a trail.
#[derive(Debug)]
pub(super) struct LogFile {
    directory: StateDir,
    file: File,
    /// Whether the file may end within a line: its writer failed, or was killed.
    torn: bool,
    /// The size of the file in bytes, at the last look and with the lines since.
    size: u64,
    max_size: u64,
    keep: u32,
}

impl LogFile {
    /// Opens the file, making it if it is not there.
    ///
    /// # Errors
    ///
    /// If it is a link, no regular file of this user, or cannot be opened.
    pub(super) fn open(directory: StateDir, config: &Config) -> io::Result<Self> {
        let file = directory.append_file(NAME)?;
        let torn = is_torn(&file)?;
        Ok(Self {
            directory,
            size: file.metadata()?.len(),
            file,
            torn,
            max_size: config.max_size,
            keep: config.keep,
        })
    }

    /// Looks at what others did to the file: another host has added lines to it, or another host or a program that rotates logs has
    /// renamed or removed it. Then begins a new one.
    pub(super) fn look(&mut self) {
        let Ok(metadata) = self.file.metadata() else {
            return;
        };
        self.size = metadata.len();
        let found = self.directory.inode(NAME);
        if found.is_ok_and(|found| found != Some(metadata.ino())) {
            self.begin_another();
        }
    }

    /// Appends a line. If the file has become too large, rotates it first.
    ///
    /// # Errors
    ///
    /// If it could not be written as a whole.
    pub(super) fn append(&mut self, line: &str) -> io::Result<()> {
        if self.size >= self.max_size {
            self.begin_another();
        }
        let mut bytes = Vec::with_capacity(line.len() + 2);
        if self.torn {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        let written = self.file.write_all(&bytes);
        self.size += bytes.len() as u64;
        // A failed write may have written an unknown part of the line.
        self.torn = match &written {
            Ok(()) => false,
            Err(_) => is_torn(&self.file).unwrap_or(true),
        };
        written
    }

    /// Waits until all written lines are on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn begin_another(&mut self) {
        // A file that is too large is better than an event that is lost.
        if let Err(error) = self.rotate() {
            tracing::warn!(%error, "the audit trail cannot be rotated, and grows on");
        }
    }

    /// Renames each file to its next number, the oldest first, and begins a new one. A crash in between leaves a gap in the
    /// numbers, which the next rotation fills. Only the oldest file is ever replaced.
    fn rotate(&mut self) -> io::Result<()> {
        let lock = self.directory.append_file(LOCK)?;
        let _lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, errno)| errno)?;
        // Another host may have rotated the file first.
        if self.directory.inode(NAME)? == Some(self.file.metadata()?.ino()) {
            _ = self.file.sync_all();
            let name = |number: u32| format!("{NAME}.{number}");
            let mut free = 1;
            while free < self.keep && self.directory.inode(&name(free))?.is_some() {
                free += 1;
            }
            for number in (1..free).rev() {
                self.directory
                    .rename_file(&name(number), &name(number + 1))?;
            }
            self.directory.rename_file(NAME, &name(1))?;
        }
        self.file = self.directory.append_file(NAME)?;
        self.size = self.file.metadata()?.len();
        self.torn = is_torn(&self.file)?;
        Ok(())
    }
}

/// Returns whether a file ends within a line.
fn is_torn(file: &File) -> io::Result<bool> {
    let size = file.metadata()?.len();
    let Some(last) = size.checked_sub(1) else {
        return Ok(false);
    };
    let mut byte = [0];
    loop {
        match file.read_exact_at(&mut byte, last) {
            Err(error) if error.raw_os_error() == Some(Errno::EINTR as i32) => {}
            read => return read.map(|()| byte != *b"\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn open(path: &Path, max_size: u64) -> LogFile {
        let config = Config {
            max_size,
            keep: 3,
            ..Config::default()
        };
        LogFile::open(StateDir::open(path).unwrap(), &config).unwrap()
    }

    fn read(path: &Path, name: &str) -> String {
        std::fs::read_to_string(path.join(name)).unwrap_or_default()
    }

    #[test]
    fn rotation_keeps_as_many_files_as_it_should() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("audit");
        let mut file = open(&path, 5);
        for line in ["line 0", "line 1", "line 2", "line 3", "line 4"] {
            file.append(line).unwrap();
        }
        assert_eq!(read(&path, "audit.jsonl"), "line 4\n");
        assert_eq!(read(&path, "audit.jsonl.1"), "line 3\n");
        assert_eq!(read(&path, "audit.jsonl.2"), "line 2\n");
        assert_eq!(read(&path, "audit.jsonl.3"), "line 1\n");
        assert_eq!(read(&path, "audit.jsonl.4"), "");
    }

    /// Every state in which a crash can leave a rotation: after each of its renames.
    #[test]
    fn a_crash_within_a_rotation_loses_no_line() {
        for crashed_after in 0..3 {
            let base = tempfile::tempdir().unwrap();
            let path = base.path().join("audit");
            let mut file = open(&path, 5);
            for line in ["line 0", "line 1", "line 2"] {
                file.append(line).unwrap();
            }
            drop(file);
            let steps = [
                ("audit.jsonl.2", "audit.jsonl.3"),
                ("audit.jsonl.1", "audit.jsonl.2"),
                ("audit.jsonl", "audit.jsonl.1"),
            ];
            for (from, to) in &steps[..=crashed_after] {
                std::fs::rename(path.join(from), path.join(to)).unwrap();
            }
            let mut file = open(&path, 5);
            file.append("line 3").unwrap();
            let names = [
                "audit.jsonl.3",
                "audit.jsonl.2",
                "audit.jsonl.1",
                "audit.jsonl",
            ];
            let all: String = names.iter().map(|name| read(&path, name)).collect();
            assert_eq!(
                all, "line 0\nline 1\nline 2\nline 3\n",
                "after {crashed_after}"
            );
        }
    }

    #[test]
    fn a_torn_line_is_ended_first() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("audit");
        open(&path, 1000).append("one").unwrap();
        let name = path.join(NAME);
        let torn = read(&path, NAME) + r#"{"time":"2026"#;
        std::fs::write(&name, torn).unwrap();
        let mut file = open(&path, 1000);
        file.append("two").unwrap();
        file.append("three").unwrap();
        assert_eq!(read(&path, NAME), "one\n{\"time\":\"2026\ntwo\nthree\n");
    }

    #[test]
    fn two_hosts_share_a_directory_and_one_that_was_removed_is_made_anew() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("audit");
        let (mut one, mut other) = (open(&path, 5), open(&path, 5));
        one.append("line 0").unwrap();
        one.append("line 1").unwrap();
        // Its file is `audit.jsonl.1` by now.
        other.look();
        other.append("line 2").unwrap();
        // The file that has this name now is too large as well.
        assert_eq!(read(&path, "audit.jsonl"), "line 2\n");
        assert_eq!(read(&path, "audit.jsonl.1"), "line 1\n");
        assert_eq!(read(&path, "audit.jsonl.2"), "line 0\n");
        std::fs::remove_file(path.join(NAME)).unwrap();
        other.look();
        other.append("line 3").unwrap();
        assert_eq!(read(&path, "audit.jsonl"), "line 3\n");
    }

    #[test]
    fn no_link_is_followed() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("audit");
        let directory = StateDir::open(&path).unwrap();
        let target = base.path().join("target");
        std::fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, path.join(NAME)).unwrap();
        assert!(LogFile::open(directory, &Config::default()).is_err());
        assert_eq!(std::fs::read(&target).unwrap(), b"");
    }
}
