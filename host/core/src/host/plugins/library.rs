//! The library of the plugin of scripts: files of a directory that are tools.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use toolhost_state::trusted::{self, check_directory};

use super::named_files::named_files;

/// The most scripts of a library.
const SCRIPTS: usize = 100;

/// The most bytes of one of them.
const BYTES: u64 = 64 << 10;

/// Extensions of the files of scripts.
const EXTENSIONS: [&str; 2] = ["js", "ts"];

/// A script of a library, as its plugin is told.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Script {
    Code(String),
    /// The plugin leaves it out and logs why.
    Unreadable {
        problem: String,
    },
}

/// Returns the scripts in a directory as a JSON object, by the names of their tools.
///
/// # Errors
///
/// The directory cannot be read, others may change it, or it has too many files.
pub fn read(directory: &Path) -> Result<String, String> {
    let scripts = scripts(directory)?;
    serde_json::to_string(&scripts).map_err(|error| error.to_string())
}

/// Returns the names of the tools that the scripts in a directory should make; none if it cannot be read.
pub fn names(directory: &Path) -> Vec<String> {
    let scripts = scripts(directory).unwrap_or_default();
    scripts.into_keys().collect()
}

/// Returns the files of the scripts in a directory; none if it cannot be read.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let files = named_files(directory, &EXTENSIONS).unwrap_or_default();
    files.into_iter().map(|(_, path)| path).collect()
}

/// Returns the scripts in a directory, by the names of their tools.
fn scripts(directory: &Path) -> Result<BTreeMap<String, Script>, String> {
    let shown = directory.display();
    check_directory(directory).map_err(|error| format!("the library cannot be used: {error}"))?;
    let unreadable = |error| format!("the directory {shown} cannot be read: {error}");
    let files = named_files(directory, &EXTENSIONS).map_err(unreadable)?;
    if files.len() > SCRIPTS {
        return Err(format!(
            "the directory {shown} has {} scripts; a library has at most {SCRIPTS}",
            files.len()
        ));
    }
    let mut scripts = BTreeMap::new();
    for (name, path) in files {
        let script = match text(&path) {
            _ if scripts.contains_key(&name) => Script::Unreadable {
                problem: format!("two files in {shown} make a tool {name}"),
            },
            Ok(code) => Script::Code(code),
            Err(problem) => Script::Unreadable { problem },
        };
        scripts.insert(name, script);
    }
    Ok(scripts)
}

fn text(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let mut text = String::new();
    let file = trusted::open(path).map_err(|error| format!("it cannot be used: {error}"))?;
    let read = file.take(BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| format!("{shown} cannot be read: {error}"))?;
    match text.len() as u64 > BYTES {
        true => Err(format!("{shown} is longer than {} KiB", BYTES >> 10)),
        false => Ok(text),
    }
}
