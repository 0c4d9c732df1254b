//! A directory in the place of a file: models ask for those, too.

use toolhost_sdk::files::{Error, Files, Kind as FileKind};

use super::{Kind, Page};
use crate::refusal::Refusal;

/// How many names are listed.
const MAX_NAMES: u32 = 200;

pub(super) fn list(files: &dyn Files, path: &str) -> Result<Page, Refusal> {
    let (entries, more) = match files.read_directory(path, None, MAX_NAMES) {
        // Neither file nor directory.
        Err(Error::NotADirectory) => return Err(Refusal::of(path, Error::NotAFile)),
        listed => listed.map_err(|error| Refusal::of(path, error))?,
    };
    let name = |name: String, kind| match kind {
        FileKind::Directory => name + "/",
        FileKind::Other => name + " (pipe, socket or device)",
        FileKind::File | FileKind::Symlink => name,
    };
    let entries = entries
        .into_iter()
        .map(|entry| name(entry.name, entry.kind));
    Ok(Page {
        kind: Some(Kind::Directory),
        entries: Some(entries.collect()),
        more_entries: more,
        ..Page::default()
    })
}
