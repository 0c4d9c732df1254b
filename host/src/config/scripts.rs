//! The plugin of scripts, and its library.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::named_files::named_files;
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
    let files = named_files(&library, &EXTENSIONS).unwrap_or_default();
    let files = files.into_iter().map(|(_, path)| path);
    files.chain([library]).collect()
}

/// Returns the scripts in a directory, by the names of their tools.
fn scripts(directory: &Path) -> Result<BTreeMap<String, String>, String> {
    let shown = directory.display();
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
        let text = text(&path)?;
        if scripts.insert(name.clone(), text).is_some() {
            return Err(format!("two files in {shown} make a tool {name}"));
        }
    }
    Ok(scripts)
}

fn text(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(BYTES + 1).read_to_string(&mut text));
    read.map_err(|error| format!("{shown} cannot be read: {error}"))?;
    match text.len() as u64 > BYTES {
        true => Err(format!("{shown} is longer than {} KiB", BYTES >> 10)),
        false => Ok(text),
    }
}
