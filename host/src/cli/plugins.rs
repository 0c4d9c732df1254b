//! The plugins besides the embedded ones: the options that all commands share which offer tools.

use std::path::{Path, PathBuf};

use anyhow::bail;
use bytesize::ByteSize;
use clap::Args;
use clap::builder::TypedValueParser as _;

use super::Common;
use super::given::Given;
use crate::config::{Added, Config, name_of};
use strum::VariantNames as _;
use toolhost_core::{FIND_TOOLS, Grants, Host, Offer, PluginSet, RUN_SCRIPT, SCRIPT, ToolMode};
use toolhost_state::pattern;

/// Further plugins.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Plugins")]
#[group(skip)]
pub(super) struct Options {
    /// A component to load as a plugin; the default of the name is that of the file. It gets what --grant, --setting and --secret give, and
    /// what the configuration says in [plugins.NAME]. Can be repeated
    #[arg(long, value_name = "[NAME=]FILE", value_parser = named)]
    plugin: Vec<Named>,
    #[command(flatten)]
    pub(super) given: Given,
    /// The component that is loaded without any other plugin, whatever the configuration says.
    #[arg(skip)]
    alone: Option<Alone>,
    /// How clients are offered the tools: each as a tool of its own, in scripts that run_script runs, in both ways, or by name alone until
    /// find_tools has found them
    #[arg(
        long,
        value_name = "direct|script|both|search",
        env = "TOOLHOST_TOOL_MODE",
        default_value_t,
        value_parser = clap::builder::PossibleValuesParser::new(ToolMode::VARIANTS).try_map(|mode| mode.parse::<ToolMode>())
    )]
    tool_mode: ToolMode,
    /// With --tool-mode both: a tool that is offered only in scripts; `*` at the end of the name stands for any rest. Can be repeated
    #[arg(
        long,
        value_name = "TOOL",
        env = "TOOLHOST_TOOLS_IN_SCRIPT",
        value_delimiter = ',',
        value_parser = tool_pattern
    )]
    tools_in_script: Vec<String>,
    /// A tool that is offered in every format, even if it is for the models of some, as apply_patch is for those of OpenAI; `*` at the end of
    /// the name stands for any rest. Can be repeated
    #[arg(
        long,
        value_name = "TOOL",
        env = "TOOLHOST_TOOLS",
        value_delimiter = ',',
        value_parser = tool_pattern
    )]
    tools: Vec<String>,
    /// With --tool-mode search: offer all definitions if they have at most this many tokens, at four bytes each
    #[arg(
        long,
        value_name = "TOKENS",
        env = "TOOLHOST_TOOL_BUDGET",
        default_value_t = Offer::BUDGET
    )]
    tool_budget: u64,
    /// With --tool-mode search: a tool that need not be found; `*` at the end of the name stands for any rest. Can be repeated
    /// [default: the embedded tools]
    #[arg(
        long,
        value_name = "TOOL",
        env = "TOOLHOST_TOOLS_ALWAYS",
        value_delimiter = ',',
        value_parser = tool_pattern
    )]
    tools_always: Option<Vec<String>>,
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

/// Reads a name of tools, with `*` at most at its end.
fn tool_pattern(text: &str) -> Result<String, &'static str> {
    match pattern::is_of_tools(text) {
        true => Ok(text.to_owned()),
        false => Err(
            "it is not the name of a tool; write a name such as read_file, with * at most at its end",
        ),
    }
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

/// A component that is loaded without any other plugin, and its grants beside those of the command line.
#[derive(Clone, Debug)]
struct Alone {
    named: Named,
    grants: Grants,
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
    /// Loads this component and no other plugin, the embedded ones included. It gets these grants, unless the command line or the
    /// configuration has others.
    pub(super) fn load_alone(&mut self, name: String, path: PathBuf, grants: Grants) {
        let named = Named { name, path };
        self.alone = Some(Alone { named, grants });
    }

    /// Returns the plugins to load, of those that the configuration has.
    pub(super) fn chosen(&self, mut all: PluginSet) -> PluginSet {
        let Some(Alone { named, .. }) = &self.alone else {
            return all;
        };
        all.sources
            .retain(|source| source.options.name == named.name);
        all.broken.retain(|name, _| *name == named.name);
        all.embedded.clear();
        all
    }

    /// Returns whether one component is loaded without any other plugin.
    pub(super) fn is_alone(&self) -> bool {
        self.alone.is_some()
    }

    /// Returns how clients are offered the tools.
    pub(super) fn offer(&self) -> Offer {
        Offer {
            mode: self.tool_mode,
            only_in_scripts: self.tools_in_script.clone(),
            named: self.tools.clone(),
            budget: self.tool_budget,
            always: self.tools_always.clone(),
        }
    }

    /// Has the optional embedded plugin of this tool loaded, for a call of it.
    pub(super) fn load_for(&mut self, tool: &str) {
        match (tool, self.tool_mode) {
            (RUN_SCRIPT, ToolMode::Direct | ToolMode::Search) => self.tool_mode = ToolMode::Both,
            (FIND_TOOLS, _) => self.tool_mode = ToolMode::Search,
            _ => {}
        }
    }

    /// Returns the components that were named.
    fn named(&self) -> impl Iterator<Item = &Named> {
        let alone = self.alone.iter().map(|alone| &alone.named);
        self.plugin.iter().chain(alone)
    }

    /// Returns the most memory of all guests together, in bytes; `None` for the default.
    pub(super) fn guest_memory(&self) -> Option<u64> {
        self.guest_memory.map(|size| size.as_u64())
    }

    /// Fails if one of these plugins does not load, because the user named them.
    pub(super) fn require(&self, host: &Host) -> anyhow::Result<()> {
        for plugin in host.plugins() {
            let named = self.named().find(|named| named.name == plugin.name);
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
        if let (None, Some(flag)) = (self.named().next(), self.given.flag()) {
            bail!(
                "{flag} has no effect without --plugin: name the component, or write the line into [plugins.NAME] of the configuration"
            );
        }
        let granted = self.alone.as_ref().map(|alone| alone.grants.clone());
        let granted = granted.unwrap_or_default();
        // On the command line, relative paths start from the current directory.
        let add = |config: Config, named: &Named| {
            let plugin = Added {
                component: here.join(&named.path),
                grants: self.given.grants(granted.clone()),
                settings: self.given.settings(),
                secrets: self.given.secret_files(),
            };
            config.with_plugin(named.name.clone(), plugin)
        };
        let config = match self.tool_mode {
            ToolMode::Direct => config,
            ToolMode::Script | ToolMode::Both => config.with_optional(SCRIPT),
            ToolMode::Search => config.with_optional(FIND_TOOLS),
        };
        Ok(self.named().fold(config, add))
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
