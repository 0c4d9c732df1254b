//! Copying a template: files, directories and links, with their modes. The operator wrote it, so its depth is trusted.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Copies everything in a directory into another one, which is empty. Links are copied as they are, and pipes, sockets and devices are left
/// out. Blocks on the disk.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_dir() {
            fs::create_dir(&target)?;
            copy(&source, &target)?;
            fs::set_permissions(&target, entry.metadata()?.permissions())?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}
