//! The plugins besides the embedded ones: the options that all commands share which offer tools.

use std::path::{Path, PathBuf};

use anyhow::bail;
use bytesize::ByteSize;
use clap::Args;

use super::Common;
use crate::config::{Config, name_of};
use toolhost_core::Host;

/// Further plugins.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Plugins")]
#[group(skip)]
pub(super) struct Options {
    /// A component to load as a plugin; the default of the name is that of the file. Its grants, settings and limits are in the
    /// configuration, in [plugins.NAME]. Can be repeated
    #[arg(long, value_name = "[NAME=]FILE", value_parser = named)]
    plugin: Vec<Named>,
    /// The most memory of all guests together, such as 4GiB; calls beyond it are refused as busy [default: half of the memory of
    /// the machine or container]
    #[arg(
        long,
        value_name = "SIZE",
        env = "TOOLHOST_GUEST_MEMORY",
        value_parser = guest_memory
    )]
    guest_memory: Option<ByteSize>,
}

/// The least memory of all guests together: below it, hardly any call would begin.
const LEAST_GUEST_MEMORY: ByteSize = ByteSize::mib(64);

fn guest_memory(text: &str) -> Result<ByteSize, String> {
    let size = text.parse::<ByteSize>()?;
    match size < LEAST_GUEST_MEMORY {
        true => Err(format!("it must be at least {LEAST_GUEST_MEMORY}")),
        false => Ok(size),
    }
}

/// A component and the name of its plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    name: String,
    path: PathBuf,
}

/// Reads `[NAME=]FILE`.
fn named(text: &str) -> Result<Named, &'static str> {
    // Text before a `=` that contains a `/` is part of a path, not a name.
    let (name, path) = match text.split_once('=').filter(|(name, _)| !name.contains('/')) {
        Some((name, path)) => (name.to_owned(), path),
        None => {
            let stem = Path::new(text).file_stem().unwrap_or_default();
            (name_of(&stem.to_string_lossy()), text)
        }
    };
    if name.is_empty() || path.is_empty() {
        return Err("write it as FILE or as NAME=FILE");
    }
    let path = path.into();
    Ok(Named { name, path })
}

/// Returns a line for each plugin that does not load, with the reason.
pub(super) fn failed(host: &Host) -> Vec<String> {
    let plugins = host.plugins().into_iter();
    let failed = plugins.filter_map(|plugin| {
        let error = plugin.error?;
        Some(format!("the plugin {} does not load: {error}", plugin.name))
    });
    failed.collect()
}

impl Options {
    /// Returns the most memory of all guests together, in bytes; `None` for the default.
    pub(super) fn guest_memory(&self) -> Option<u64> {
        self.guest_memory.map(|size| size.as_u64())
    }

    /// Fails if one of these plugins does not load, because the user named them.
    pub(super) fn require(&self, host: &Host) -> anyhow::Result<()> {
        for plugin in host.plugins() {
            let named = self.plugin.iter().find(|named| named.name == plugin.name);
            if let (Some(named), Some(error)) = (named, plugin.error) {
                let path = named.path.display();
                bail!("the plugin {} ({path}) does not load: {error}", plugin.name);
            }
        }
        Ok(())
    }

    /// Returns the configuration with these plugins added.
    pub(super) fn configuration(&self, common: &Common) -> anyhow::Result<Config> {
        let here = std::env::current_dir()?;
        let config = common.configuration.clone();
        let config = config.unwrap_or_else(|| Config::without_file(here.clone()));
        // On the command line, relative paths start from the current directory.
        let add = |config: Config, named: &Named| {
            config.with_plugin(named.name.clone(), here.join(&named.path))
        };
        Ok(self.plugin.iter().fold(config, add))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_plugin_is_named_by_its_file_or_by_name() {
        let named = |text: &str| {
            super::named(text)
                .map(|named| (named.name, named.path.to_string_lossy().into_owned()))
                .ok()
        };
        let pair = |name: &str, path: &str| Some((name.to_owned(), path.to_owned()));
        assert_eq!(
            named("a/Word-Count.wasm"),
            pair("word_count", "a/Word-Count.wasm")
        );
        assert_eq!(named("wc=x.wasm"), pair("wc", "x.wasm"));
        assert_eq!(named("./a=b/x.wasm"), pair("x", "./a=b/x.wasm"));
        for bad in ["", "=x.wasm", "x=", "/", "..", "-.wasm"] {
            assert_eq!(named(bad), None, "{bad}");
        }
    }
}
