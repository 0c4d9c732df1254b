//! Bindings of the contract for C and Go, and components from the modules that use them.

use std::path::{Path, PathBuf};

use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::{Resolve, UnresolvedPackageGroup, WorldId};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use crate::Language;
use crate::embedded::{self, WriteError};

/// The folder of the bindings within that of the plugin.
const FOLDER: &str = "gen";

/// The name of the world of a plugin, which the names of generated files begin with.
const WORLD: &str = "plugin";

/// The interface with which a plugin sends requests.
pub(crate) const HTTP: &str = "wasi:http/outgoing-handler@0.2.12";

/// The name under which modules import the first preview of WASI.
const PREVIEW1: &str = "wasi_snapshot_preview1";

/// A reason why there are no bindings or no component.
#[derive(Debug, thiserror::Error)]
pub enum BindingsError {
    /// The contract in the folder cannot be read.
    #[error("the contract in {} cannot be read: {text}; `toolhost plugin wit` writes it again", path.display())]
    Contract {
        /// The folder of the contract.
        path: PathBuf,
        /// The problem.
        text: String,
    },
    /// The generator failed.
    #[error("the bindings cannot be generated: {0}")]
    Generator(String),
    /// The module cannot be made a component.
    #[error("the module cannot be made a component: {0}")]
    Component(String),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The contract in the folder of a plugin, and the world of this plugin.
struct Contract {
    resolve: Resolve,
    world: WorldId,
}

impl Contract {
    /// Reads the contract. The world imports the interfaces of the contract that these grants are for.
    fn read<'g>(
        folder: &Path,
        grants: impl IntoIterator<Item = &'g str>,
    ) -> Result<Self, BindingsError> {
        let path = folder.join("wit");
        let invalid = |text: String| BindingsError::Contract {
            path: path.clone(),
            text,
        };
        let mut resolve = Resolve::default();
        let pushed = resolve.push_path(&path);
        let (contract, _) = pushed.map_err(|error| invalid(format!("{error:#}")))?;
        let name = resolve.packages.get(contract).map(|package| &package.name);
        let version = name.and_then(|name| name.version.clone());
        let version = version.map_or_else(String::new, |version| format!("@{version}"));
        let mut text = format!(
            "package author:plugin;\nworld {WORLD} {{\n    include toolhost:plugin/plugin{version};\n"
        );
        for grant in grants {
            match grant {
                "http" => {
                    push_wasi(&mut resolve)?;
                    text.push_str(&format!("    import {HTTP};\n"));
                }
                "processes" | "files" => {
                    text.push_str(&format!("    import toolhost:plugin/{grant}{version};\n"));
                }
                _ => {}
            }
        }
        text.push_str("}\n");
        let package = resolve.push_str("plugin.wit", &text);
        let package = package.map_err(|error| invalid(format!("{error:#}")))?;
        let world = resolve.select_world(&[package], Some(WORLD));
        let world = world.map_err(|error| invalid(format!("{error:#}")))?;
        Ok(Self { resolve, world })
    }
}

/// Adds the packages of WASI that requests need, which come with this program.
fn push_wasi(resolve: &mut Resolve) -> Result<(), BindingsError> {
    let generator = |text: String| BindingsError::Generator(text);
    let mut groups = Vec::new();
    for file in embedded::WASI {
        let content = String::from_utf8_lossy(file.content);
        let group = UnresolvedPackageGroup::parse(file.path, &content);
        groups.push(group.map_err(|(sources, error)| generator(error.render(&sources)))?);
    }
    let is_main = |group: &UnresolvedPackageGroup| group.main.name.name == "http";
    let main = groups.iter().position(is_main);
    let main = main.ok_or_else(|| generator("there is no package wasi:http".into()))?;
    let main = groups.swap_remove(main);
    let pushed = resolve.push_groups(main, groups);
    pushed.map_err(|error| generator(format!("{error:#}")))?;
    Ok(())
}

/// Generates the bindings of a plugin in C or Go, and writes the files that have changed.
///
/// # Errors
///
/// If the contract cannot be read, or a file cannot be written.
pub fn write_bindings<'g>(
    folder: &Path,
    language: Language,
    grants: impl IntoIterator<Item = &'g str>,
) -> Result<(), BindingsError> {
    let mut contract = Contract::read(folder, grants)?;
    let mut generator = match language {
        Language::C => wit_bindgen_c::Opts::default().build(),
        Language::Go => wit_bindgen_go::Opts::default().build(),
        _ => return Ok(()),
    };
    let mut files = Files::default();
    generator
        .generate(&mut contract.resolve, contract.world, &mut files)
        .map_err(|error| BindingsError::Generator(format!("{error:#}")))?;
    let below = match language {
        Language::C => folder.join(FOLDER),
        _ => folder.to_owned(),
    };
    for (name, content) in files.iter() {
        // The template has one that knows where the packages of the bindings are.
        if name == "go.mod" {
            continue;
        }
        let path = below.join(name);
        if std::fs::read(&path).is_ok_and(|present| present == content) {
            continue;
        }
        embedded::write(&path, content)?;
    }
    Ok(())
}

/// Makes a component of a module that uses the bindings.
///
/// # Errors
///
/// If the contract cannot be read, or the module does not fit it.
pub(crate) fn component<'g>(
    folder: &Path,
    grants: impl IntoIterator<Item = &'g str>,
    module: &[u8],
) -> Result<Vec<u8>, BindingsError> {
    let Contract { resolve, world } = Contract::read(folder, grants)?;
    let mut module = module.to_vec();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).map_err(failed)?;
    encode(&module)
}

/// Makes a component of a module that names its world.
pub(crate) fn encode(module: &[u8]) -> Result<Vec<u8>, BindingsError> {
    let adapter = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    let encoder = ComponentEncoder::default();
    let encoder = encoder.module(module).map_err(failed)?.validate(true);
    let mut encoder = encoder.adapter(PREVIEW1, adapter).map_err(failed)?;
    encoder.encode().map_err(failed)
}

/// Returns an error of the encoder. Its type is not named, because it is one for programs.
fn failed(error: impl std::fmt::Display) -> BindingsError {
    BindingsError::Component(format!("{error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_have_the_interfaces_that_are_granted() {
        let folder = tempfile::tempdir().unwrap();
        crate::write_contract(&folder.path().join("wit")).unwrap();
        let header = folder.path().join("gen/plugin.h");
        let text = |grants: &[&str]| {
            write_bindings(folder.path(), Language::C, grants.iter().copied()).unwrap();
            std::fs::read_to_string(&header).unwrap()
        };
        assert!(!text(&[]).contains("toolhost_plugin_processes"));
        assert!(text(&["processes"]).contains("toolhost_plugin_processes"));
    }

    #[test]
    fn what_is_no_module_is_no_component() {
        let folder = tempfile::tempdir().unwrap();
        crate::write_contract(&folder.path().join("wit")).unwrap();
        let error = component(folder.path(), [], b"text").unwrap_err();
        assert!(matches!(error, BindingsError::Component(_)), "{error}");
    }
}
