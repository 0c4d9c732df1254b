//! The plugin of scripts, and its library.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::values::name_of;
use toolhost_core::{Grants, Options, PluginSource, SCRIPT, Settings, script};
use toolhost_plugin::Limits;

/// The setting that names the directory of scripts that are tools.
pub(super) const LIBRARY: &str = "library";

/// The most scripts of a library.
const SCRIPTS: usize = 100;

/// The most bytes of one of them.
const BYTES: u64 = 64 << 10;

/// Extensions of the files of scripts.
const EXTENSIONS: [&str; 2] = ["js", "ts"];

/// Returns the plugin of scripts, with the scripts of this directory as tools. Without a grant, it may call every tool. The error is the
/// key of what cannot be used, and why.
///
/// The plugin is never quarantined: a script that breaks the engine is its caller's, and says nothing about the next one.
pub(super) fn source(
    library: Option<&Path>,
    grants: &Grants,
    limits: &Limits,
) -> Result<PluginSource, (String, String)> {
    let mut settings = BTreeMap::new();
    if let Some(library) = library {
        let scripts = scripts(library);
        let scripts = scripts.map_err(|problem| (format!("settings.{LIBRARY}"), problem))?;
        let scripts = serde_json::to_string(&scripts).unwrap_or_default();
        settings.insert(LIBRARY.to_owned(), scripts);
    }
    let grants = match grants.calls() {
        true => grants.clone(),
        false => Grants::default().with_calls(["*"]),
    };
    let options = Options {
        grants,
        limits: Limits {
            traps: 0,
            ..limits.clone()
        },
        settings: Settings {
            settings,
            ..Settings::default()
        },
        ..Options::new(SCRIPT)
    };
    Ok(script(options))
}

/// Returns the directory of a library and its files, to be watched.
pub(super) fn paths(library: PathBuf) -> Vec<PathBuf> {
    let mut paths = files(&library).unwrap_or_default();
    paths.push(library);
    paths
}

/// Returns the files of the scripts in a directory.
fn files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error| {
        format!(
            "the directory {} cannot be read: {error}",
            directory.display()
        )
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the scripts in a directory, by the names of their tools.
fn scripts(directory: &Path) -> Result<BTreeMap<String, String>, String> {
    let files = files(directory)?;
    if files.len() > SCRIPTS {
        return Err(format!(
            "the directory {} has {} scripts; a library has at most {SCRIPTS}",
            directory.display(),
            files.len()
        ));
    }
    let mut scripts = BTreeMap::new();
    for path in files {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let shown = path.display();
        let file =
            fs::File::open(&path).map_err(|error| format!("{shown} cannot be read: {error}"))?;
        let mut text = String::new();
        let read = file.take(BYTES + 1).read_to_string(&mut text);
        read.map_err(|error| format!("{shown} cannot be read: {error}"))?;
        if text.len() as u64 > BYTES {
            return Err(format!("{shown} is longer than {} KiB", BYTES >> 10));
        }
        if scripts.insert(name_of(&stem), text).is_some() {
            return Err(format!(
                "two files in {} make a tool {}",
                directory.display(),
                name_of(&stem)
            ));
        }
    }
    Ok(scripts)
}
