//! The world of a plugin whose language links by names: the interfaces of the contract that the plugin asks for.

use std::path::PathBuf;

use super::{Build, BuildError};
use crate::bindings::HTTP;
use crate::embedded;

/// The name of the world.
pub(super) const WORLD: &str = "built";

/// Writes the world of a plugin and all that it refers to into `build/wit`, and returns that folder.
pub(super) fn write(build: &Build<'_>) -> Result<PathBuf, BuildError> {
    let folder = build.made().join("wit");
    match std::fs::remove_dir_all(&folder) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(BuildError::File {
                action: "replace",
                path: folder,
                source,
            });
        }
        _ => {}
    }
    let contract = build.folder.join("wit");
    let unreadable = |source| BuildError::File {
        action: "read",
        path: contract.clone(),
        source,
    };
    for entry in std::fs::read_dir(&contract).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.path().is_file() {
            let content = std::fs::read(entry.path()).map_err(unreadable)?;
            embedded::write(&folder.join(entry.file_name()), &content)?;
        }
    }
    let mut world = format!("world {WORLD} {{\n    include plugin;\n");
    for grant in build.grants() {
        match grant {
            "http" => {
                embedded::write_all(&folder.join("deps"), embedded::WASI)?;
                world.push_str(&format!("    import {HTTP};\n"));
            }
            interface => world.push_str(&format!("    import {interface};\n")),
        }
    }
    world.push_str("}\n");
    embedded::write(&folder.join("built.wit"), world.as_bytes())?;
    Ok(folder)
}
