//! Copying a template: files, directories and links, with their modes. The operator wrote it, so its depth is trusted. Its files are
//! not: a hard link may give a closed file another name.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use toolhost_state::closed::{Closed, REFUSAL, identity};

/// Copies everything in a directory into another one, which is empty. Links are copied as they are, and pipes, sockets and devices are left
/// out. Blocks on the disk.
///
/// # Errors
///
/// If one of the files is closed, or the disk fails.
pub(super) fn copy(from: &Path, to: &Path, closed: &Closed) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_dir() {
            fs::create_dir(&target)?;
            copy(&source, &target, closed)?;
            fs::set_permissions(&target, entry.metadata()?.permissions())?;
        } else if kind.is_file() {
            let found = entry.metadata()?;
            let file = identity(&found);
            if closed.has_file(file, found.created().ok()) || closed.has_link_to(file)? {
                let text = format!("{}: {REFUSAL}", source.display());
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
            }
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}
