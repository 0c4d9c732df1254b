//! The folder of a plugin, as the commands of authors use it.

use std::path::{Path, PathBuf};

use super::sources;
use anyhow::bail;
use toolhost_author::Manifest;
use toolhost_core::Grants;
use toolhost_plugin::{CAPABILITIES, Capability, GrantValue, is_plugin_name};
use toolhost_service::stderr;

/// The folder of a plugin.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) manifest: Manifest,
}

impl Folder {
    /// Reads what the folder says about its plugin.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let manifest = Manifest::read(path)?;
        if !is_plugin_name(&manifest.name) {
            bail!(
                "{}: {:?} is not the name of a plugin: it is 1 to 31 of a-z, 0-9 and single `_`, and begins with a letter",
                path.join(Manifest::FILE).display(),
                manifest.name
            );
        }
        Ok(Self {
            path: path.to_owned(),
            manifest,
        })
    }

    /// Returns the path of the component.
    pub(super) fn component(&self) -> PathBuf {
        self.manifest.component(&self.path)
    }

    /// Returns the path of the component that is built for debugging beside that one.
    pub(super) fn debug_component(&self) -> PathBuf {
        self.manifest.debug_component(&self.path)
    }

    /// Returns the path of the component, if it was built.
    pub(super) fn built(&self) -> anyhow::Result<PathBuf> {
        let component = self.component();
        if !component.is_file() {
            let folder = self.path.display();
            bail!(
                "there is no {}: build it with `toolhost plugin build {folder}`",
                component.display()
            );
        }
        if let Some(source) = sources::changed_since(&component, &self.path, self.manifest.language)
        {
            let relative = source.strip_prefix(&self.path).unwrap_or(&source);
            stderr::line(format_args!(
                "note: {} is newer than {}: build that with `toolhost plugin build {}`",
                relative.display(),
                component.display(),
                self.path.display()
            ));
        }
        Ok(component)
    }

    /// Returns what the plugin asks for, each with the value that grants most, but hosts for HTTP: it reaches none.
    pub(super) fn grants(&self) -> anyhow::Result<Grants> {
        let mut grants = Grants::default();
        for name in self.manifest.grants.keys() {
            let Some(capability) = Capability::named(name) else {
                let known: Vec<_> = CAPABILITIES.iter().map(Capability::name).collect();
                bail!(
                    "{}: [grants] has {name:?}, and the capabilities are {}",
                    self.path.join(Manifest::FILE).display(),
                    known.join(", ")
                );
            };
            let most = capability.options().last();
            let most = most.and_then(|option| option.split_once('='));
            let value = most.map(|(_, value)| value);
            match value.filter(|value| !value.contains(char::is_uppercase)) {
                Some(value) => _ = grants.grant(capability, GrantValue::Text(value.into())),
                None => grants.grant_least(capability),
            }
        }
        Ok(grants)
    }
}
