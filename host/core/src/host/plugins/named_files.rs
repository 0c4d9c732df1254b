//! Files in a directory, each of which names what it is.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the files in a directory that have one of these extensions, each with its name, in the order of the names. Hidden files are
/// left out.
///
/// # Errors
///
/// If the directory cannot be read.
pub fn named_files(directory: &Path, extensions: &[&str]) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let extension = path.extension().and_then(OsStr::to_str);
        let is_meant = extension.is_some_and(|extension| extensions.contains(&extension));
        let stem = path.file_stem().and_then(OsStr::to_str);
        if let Some(stem) = stem.filter(|stem| is_meant && !stem.starts_with('.')) {
            found.push((name_of(stem), path));
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the name of a plugin whose file has this name, without its extension: `Word-Count.v2` is `word_count_v2`.
pub fn name_of(stem: &str) -> String {
    let parts = stem.split(|c: char| !c.is_ascii_alphanumeric());
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("_").to_ascii_lowercase()
}
