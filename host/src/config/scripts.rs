//! The plugin of scripts, and its library.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::named_files::named_files;
use super::{Config, Unusable};
use toolhost_core::{Grants, Options, PluginSource, SCRIPT, script};
use toolhost_plugin::Limits;
use toolhost_state::trusted::{self, check_directory};

/// The setting that names the directory of scripts that are tools.
pub(super) const LIBRARY: &str = "library";

/// The most scripts of a library.
const SCRIPTS: usize = 100;

/// The most bytes of one of them.
const BYTES: u64 = 64 << 10;

/// Extensions of the files of scripts.
const EXTENSIONS: [&str; 2] = ["js", "ts"];

/// Returns the plugin of scripts, with the scripts of this directory as tools. Without a grant, it may call every tool.
///
/// The plugin is never quarantined: a script that breaks the engine is its caller's, and says nothing about the next one.
pub(super) fn source(library: Option<&Path>, grants: &Grants, limits: &Limits) -> PluginSource {
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
        ..Options::new(SCRIPT)
    };
    PluginSource {
        library: library.map(read),
        ..script(options)
    }
}

impl Config {
    /// Adds the plugin of scripts, as the file has it.
    #[must_use]
    pub fn with_scripts(mut self) -> Self {
        self.has_scripts = true;
        self
    }

    /// Returns whether the file is about scripts: a section for their plugin, or a mode in which clients are offered them.
    pub fn names_scripts(&self) -> bool {
        let mode = self.settings.get("tool_mode");
        self.plugins.contains_key(SCRIPT)
            || mode.is_some_and(|mode| mode.as_str() != Some("direct"))
    }
}

/// Returns the scripts in a directory as a JSON object, by the names of their tools.
fn read(directory: &Path) -> Result<String, String> {
    let scripts = scripts(directory)?;
    serde_json::to_string(&scripts).map_err(|error| error.to_string())
}

/// Returns why a library cannot be read: the plugin, the key and the problem.
pub(super) fn problem(directory: &Path) -> Option<Unusable> {
    let problem = read(directory).err()?;
    Some((SCRIPT.to_owned(), format!("settings.{LIBRARY}"), problem))
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
    let file = trusted::open(path).map_err(|error| format!("a script cannot be used: {error}"))?;
    let read = file.take(BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| format!("{shown} cannot be read: {error}"))?;
    match text.len() as u64 > BYTES {
        true => Err(format!("{shown} is longer than {} KiB", BYTES >> 10)),
        false => Ok(text),
    }
}
