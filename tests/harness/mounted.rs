//! File systems that a test mounts, which it says with `#[needs(mount)]`.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system at a place, unmounted when this is dropped.
pub(crate) struct Mounted(PathBuf);

impl Mounted {
    /// Mounts an empty file system in memory at a directory, which only its owner can use.
    pub(crate) fn in_memory(directory: &Path, options: &str) -> Self {
        let options = format!("mode=700,{options}");
        Self::mount(
            &["-t", "tmpfs", "-o", &options, "toolhost-test"],
            directory.to_owned(),
        )
    }

    /// Mounts an empty ext4 of 64 MiB at a directory, which only its owner can use. This needs `mkfs.ext4`.
    pub(crate) fn ext4(directory: &Path) -> Self {
        Self::ext4_with(directory, &[], "loop")
    }

    /// Does the same with quotas of projects, which a test needs with `#[needs(quota = "ext4")]`.
    pub(crate) fn with_quotas(directory: &Path) -> Self {
        let features = ["-O", "quota,project", "-E", "quotatype=prjquota"];
        Self::ext4_with(directory, &features, "loop,prjquota")
    }

    fn ext4_with(directory: &Path, features: &[&str], options: &str) -> Self {
        // The mount keeps the file after its name is gone.
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(64 << 20).unwrap();
        let mut command = Command::new("mkfs.ext4");
        // As on large disks. With smaller blocks, SQLite's shared memory can lack a part of a page on a full disk.
        let made = command
            .args(["-q", "-m", "0", "-b", "4096"])
            .args(features)
            .arg(image.path())
            .status();
        assert!(made.unwrap().success());
        let image = image.path().to_str().unwrap();
        let disk = Self::mount(&["-o", options, image], directory.to_owned());
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700)).unwrap();
        disk
    }

    /// Mounts a file at itself: nothing can be renamed to where it is.
    pub(crate) fn at_itself(file: &Path) -> Self {
        let path = file.to_str().unwrap();
        Self::mount(&["--bind", path], file.to_owned())
    }

    fn mount(arguments: &[&str], place: PathBuf) -> Self {
        let output = Command::new("mount").args(arguments).arg(&place).output();
        let output = output.unwrap();
        assert!(output.status.success(), "it needs mount: {output:?}");
        Self(place)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Takes all the space that is left, to the last byte.
    pub(crate) fn fill(&self) {
        let mut file = std::fs::File::create(self.0.join("filler")).unwrap();
        for size in [4096, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
    }

    /// Allows no more changes. No file may be open for writing.
    pub(crate) fn make_read_only(&self) {
        self.remount("remount,ro");
    }

    /// Lets ext4 meet an error, after which it takes no more changes.
    pub(crate) fn fail(&self) {
        self.remount("remount,abort");
    }

    /// Lets every change wait until the returned value is dropped, as on a disk that hangs. This needs `fsfreeze`.
    pub(crate) fn hang(&self) -> Hanging {
        freeze("--freeze", &self.0);
        Hanging(self.0.clone())
    }

    fn remount(&self, option: &str) {
        let mut command = Command::new("mount");
        let done = command.args(["-o", option]).arg(&self.0).output();
        assert!(done.as_ref().unwrap().status.success(), "{done:?}");
    }

    /// Gives back what [`Mounted::fill`] took. A program that another test starts at this moment has the file open until it runs, and only
    /// an empty file then takes no space.
    pub(crate) fn empty(&self) {
        let filler = self.0.join("filler");
        std::fs::File::create(&filler).unwrap();
        std::fs::remove_file(filler).unwrap();
    }
}

/// A file system that takes no change until this is dropped.
pub(crate) struct Hanging(PathBuf);

impl Drop for Hanging {
    fn drop(&mut self) {
        freeze("--unfreeze", &self.0);
    }
}

fn freeze(how: &str, place: &Path) {
    let done = Command::new("fsfreeze").arg(how).arg(place).status();
    assert!(done.unwrap().success() || std::thread::panicking());
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily: what a test that failed started may still have files open.
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(unmounted.unwrap().success() || std::thread::panicking());
    }
}
