//! The plugins that are part of the program.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::PluginSource;
use toolhost_plugin::{Engine, Grants, Limits, LoadError, Options, Plugin};
use toolhost_workspace::files::FilesGrant;

/// The names of the plugins that are part of the program.
pub const EMBEDDED: [&str; 4] = ["shell", FILES, SCRIPT, FIND_TOOLS];

/// The components of the embedded plugins that a host has unless it leaves them out.
pub const USUAL_COMPONENTS: [&[u8]; 2] = [toolhost_artifacts::SHELL, toolhost_artifacts::FILES];

/// The name of the plugin of files.
pub const FILES: &str = "files";

/// The name of the plugin of scripts. A host has it only if it is among its plugins: see [`script`].
pub const SCRIPT: &str = "script";

/// The tool of that plugin that runs a script.
pub const RUN_SCRIPT: &str = "run_script";

/// Returns the plugin of scripts with these options, for [`PluginSet::sources`](super::PluginSet::sources).
pub fn script(options: Options) -> PluginSource {
    PluginSource::bytes(Bytes::from_static(toolhost_artifacts::SCRIPT), options)
}

/// The name of the plugin that finds tools, and of its one tool. A host has it only if it is among its plugins: see [`find_tools`].
pub const FIND_TOOLS: &str = "find_tools";

/// Returns the plugin that finds tools with these options, for [`PluginSet::sources`](super::PluginSet::sources).
pub fn find_tools(options: Options) -> PluginSource {
    PluginSource::bytes(Bytes::from_static(toolhost_artifacts::FIND), options)
}

/// The tool of the plugin `shell` that starts commands.
pub(super) const EXECUTE: &str = "execute";

/// Loads these plugins one after the other, up to the one that offers the tool `only`. The error has the name of the plugin.
pub(super) async fn load(
    engine: &Engine,
    plugins: impl Iterator<Item = (Bytes, Options)>,
    only: Option<&str>,
) -> Result<Vec<(PluginSource, Arc<Plugin>)>, (String, LoadError)> {
    let mut loaded = Vec::new();
    for (component, options) in plugins {
        let name = options.name.clone();
        let plugin = Plugin::load_shared(engine, component.clone(), options.clone()).await;
        let plugin = plugin.map_err(|error| (name, error))?;
        let is_last = plugin.tools().iter().any(|tool| Some(&*tool.name) == only);
        loaded.push((PluginSource::bytes(component, options), plugin));
        if is_last {
            break;
        }
    }
    Ok(loaded)
}

/// Returns the limits of a plugin that is part of the program, if the operator sets no others.
///
/// A photo is decoded as a whole, so the plugin of files has more memory and CPU time than others. It is never quarantined: a file that
/// breaks a decoder says nothing about the next file, and may be of another chat.
pub fn embedded_limits(name: &str) -> Limits {
    match name {
        FILES => Limits {
            memory: 256 << 20,
            guest_time: Duration::from_secs(10),
            traps: 0,
            ..Limits::default()
        },
        _ => Limits::default(),
    }
}

/// Returns the plugins that are part of the program, with their grants.
pub(super) fn plugins(shell: bool, files: FilesGrant) -> impl Iterator<Item = (Bytes, Options)> {
    let with = |name, grants| Options {
        grants,
        limits: embedded_limits(name),
        ..Options::new(name)
    };
    let grants = Grants::default().with_processes();
    let shell = shell.then(|| {
        (
            Bytes::from_static(toolhost_artifacts::SHELL),
            with("shell", grants),
        )
    });
    let grants = Grants::default().with_files(files);
    let offered = files != FilesGrant::None;
    let files = offered.then(|| {
        (
            Bytes::from_static(toolhost_artifacts::FILES),
            with(FILES, grants),
        )
    });
    shell.into_iter().chain(files)
}
