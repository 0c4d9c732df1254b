//! Renaming files into place and away, and back if one of them fails.

use std::path::Path;

use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use super::prepare::Prepared;
use super::remove::Removed;
use super::temporary::Temporary;
use crate::files::{Error, Metadata};

/// Replaces and removes all of the files, or none. Those that are removed come last: until then, each content is somewhere.
pub(super) fn all(
    prepared: &mut [Prepared<'_>],
    removed: &mut [Removed<'_>],
) -> Result<Vec<Metadata>, (usize, Error)> {
    let writes = prepared.len();
    let several = writes + removed.len() > 1;
    let mut done: Vec<(&mut Prepared<'_>, Option<Temporary>)> = Vec::new();
    let mut failed = None;
    for (index, file) in prepared.iter_mut().enumerate() {
        match replace_one(file, several) {
            Ok(backup) => done.push((file, backup)),
            Err(error) => {
                failed = Some((index, error));
                break;
            }
        }
    }
    if failed.is_none() {
        for (index, file) in removed.iter_mut().enumerate() {
            if let Err(error) = file.take() {
                failed = Some((writes + index, error));
                break;
            }
        }
    }
    let Some((index, error)) = failed else {
        let written = done.iter().map(|(file, _)| file.written()).collect();
        return Ok(written);
    };
    let mut outcome = error;
    let mut note = |path: &Path, undone: std::io::Result<()>| {
        if let Err(error) = undone {
            let path = path.display();
            let text = format!("{outcome}, and {path} could not be put back: {error}");
            outcome = Error::UnknownOutcome(text);
        }
    };
    for file in removed {
        let undone = file.put_back();
        note(file.path(), undone);
    }
    while let Some((file, backup)) = done.pop() {
        note(file.path(), undo(file, backup));
    }
    Err((index, outcome))
}

/// Renames one file into place. Returns the replaced file under another name, if it may be needed again.
fn replace_one(file: &mut Prepared<'_>, several: bool) -> Result<Option<Temporary>, Error> {
    if several {
        // Check again: the other files have taken time.
        file.check()?;
    }
    let backup = if several { file.back_up()? } else { None };
    rename(file)?;
    file.temporary.mark_renamed();
    Ok(backup)
}

fn rename(file: &Prepared<'_>) -> Result<(), Error> {
    let (directory, from, to) = (
        &*file.place.directory,
        &file.temporary.name,
        &file.place.name,
    );
    if !file.is_only_if_absent() {
        return Ok(directory.rename(from, directory, to)?);
    }
    match renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(Error::Changed("file exists".into())),
        // The file system cannot rename without replacing. A moment ago there was no such file.
        Err(Errno::INVAL | Errno::NOSYS) => Ok(directory.rename(from, directory, to)?),
        Err(errno) => Err(errno.into()),
    }
}

/// Restores the replaced file, unless the new one was replaced in turn.
fn undo(file: &Prepared<'_>, backup: Option<Temporary>) -> std::io::Result<()> {
    if !file.is_in_place() {
        return Ok(());
    }
    match backup {
        Some(backup) => {
            let directory = &*file.place.directory;
            let renamed = directory.rename(&backup.name, directory, &file.place.name);
            // If it failed, this is the only file with the old content.
            backup.keep();
            renamed
        }
        None => file.place.directory.remove_file(&file.place.name),
    }
}
