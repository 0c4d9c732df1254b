//! The plugin of scripts, and its library.

use std::path::{Path, PathBuf};

use super::problems::Problem;
use super::{Config, Unusable, optional};
use toolhost_core::{Grants, Options, PluginSource, SCRIPT, library, script};
use toolhost_plugin::Limits;

/// The setting that names the directory of scripts that are tools.
pub(super) const LIBRARY: &str = "library";

/// Returns the plugin of scripts, with the scripts of this directory as tools.
///
/// The plugin is never quarantined: a script that breaks the engine is its caller's, and says nothing about the next one.
pub(super) fn source(library: Option<PathBuf>, grants: &Grants, limits: &Limits) -> PluginSource {
    let options = Options {
        grants: optional::grants(grants),
        limits: Limits {
            traps: 0,
            ..limits.clone()
        },
        ..Options::new(SCRIPT)
    };
    PluginSource {
        library,
        ..script(options)
    }
}

impl Config {
    /// Returns a problem for each script of the library that is none of these tools.
    pub fn scripts_left_out(&self, tools: &[String]) -> Vec<Problem> {
        let library = self.plugins.get(SCRIPT);
        let Some(library) = library.and_then(|plugin| plugin.library.as_deref()) else {
            return Vec::new();
        };
        let key = format!("plugins.{SCRIPT}.settings.{LIBRARY}");
        let names = library::names(&self.resolve(library)).into_iter();
        let left_out = names.filter(|name| !tools.contains(name));
        left_out
            .map(|name| {
                let text = format!("the script {name} cannot be a tool and is left out; the log of a server says why");
                self.problem(&key, text)
            })
            .collect()
    }
}

/// Returns why a library cannot be read: the plugin, the key and the problem.
pub(super) fn problem(directory: &Path) -> Option<Unusable> {
    let problem = library::read(directory).err()?;
    Some((SCRIPT.to_owned(), format!("settings.{LIBRARY}"), problem))
}

/// Returns the directory of a library and its files, to be watched.
pub(super) fn paths(library: PathBuf) -> Vec<PathBuf> {
    let mut paths = library::files(&library);
    paths.push(library);
    paths
}
