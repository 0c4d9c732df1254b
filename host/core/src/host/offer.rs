//! The tools that clients are offered: directly, in scripts, or by name alone until they are found.

mod describe;
mod found;

use std::io;

use toolhost_call::call::{Actor, Refused};
use toolhost_call::tool::{Definition, Format};
use toolhost_state::id::ChatId;

pub(super) use found::chats_with_found_tools;

use super::plugins::{Route, Table};
use super::{EMBEDDED, FIND_TOOLS, Host};
use toolhost_state::pattern;

/// How clients are offered the tools.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum ToolMode {
    /// Each as a tool of its own.
    #[default]
    Direct,
    /// In scripts: only tools that call other tools are listed.
    Script,
    /// In both ways.
    Both,
    /// By name alone if their definitions are too long together: clients find those that they need, and are offered them from then on.
    Search,
}

/// The tools that clients are offered. An offer hides tools from lists and takes no right away: a client may call by its name what it
/// is not offered.
#[derive(Clone, Debug)]
pub struct Offer {
    /// How they are offered.
    pub mode: ToolMode,
    /// The tools that are offered only in scripts where both ways are open: names, of which `*` at the end stands for any rest.
    pub only_in_scripts: Vec<String>,
    /// The tools that are offered in every format, even if they are for the models of some: names, of which `*` at the end stands for any
    /// rest.
    pub named: Vec<String>,
    /// The most tokens of all definitions together with which [`ToolMode::Search`] offers each tool: 10,000 by default. A token counts four
    /// bytes of a name, a description or a schema of arguments.
    pub budget: u64,
    /// The tools that [`ToolMode::Search`] offers with their definitions in any case: names, of which `*` at the end stands for any rest.
    /// `None`: those of the embedded plugins.
    pub always: Option<Vec<String>>,
}

impl Offer {
    /// The default of [`Offer::budget`].
    pub const BUDGET: u64 = 10_000;
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            mode: ToolMode::default(),
            only_in_scripts: Vec::new(),
            named: Vec::new(),
            budget: Self::BUDGET,
            always: None,
        }
    }
}

/// The tools that are offered in some formats only, unless they are named: the plugin, the tool, and the formats. Models of other
/// providers know no such tool, and have one that they use better.
const IN_FORMATS: [(&str, &str, &[Format]); 1] = [(
    "files",
    "apply_patch",
    &[Format::OpenAi, Format::OpenAiResponses],
)];

/// How many bytes of a definition count as one token.
const BYTES_OF_TOKEN: u64 = 4;

impl Offer {
    /// Returns whether a tool is listed beside those that call it.
    fn lists(&self, tool: &str) -> bool {
        match self.mode {
            ToolMode::Direct | ToolMode::Search => true,
            ToolMode::Script => false,
            ToolMode::Both => !is_among(&self.only_in_scripts, tool),
        }
    }

    /// Returns whether a tool is offered in a format.
    fn has_in(&self, tool: &Definition, format: Format) -> bool {
        let mut bound = IN_FORMATS.iter();
        match bound.find(|(plugin, name, _)| *plugin == tool.plugin && *name == tool.name) {
            None => true,
            Some((.., formats)) => formats.contains(&format) || is_among(&self.named, &tool.name),
        }
    }

    /// Returns whether a tool is listed with its definition although there are too many.
    fn always_lists(&self, tool: &Definition) -> bool {
        match &self.always {
            Some(patterns) => is_among(patterns, &tool.name),
            None => EMBEDDED.contains(&tool.plugin.as_str()),
        }
    }

    /// Returns the patterns of tools that have an effect in this mode, each list with its key in the configuration.
    fn patterns(&self) -> [(&'static str, &[String]); 2] {
        let of_mode: (_, &[_]) = match self.mode {
            ToolMode::Both => ("tools_in_script", &self.only_in_scripts),
            ToolMode::Search => ("tools_always", self.always.as_deref().unwrap_or_default()),
            ToolMode::Direct | ToolMode::Script => ("", &[]),
        };
        [("tools", &self.named), of_mode]
    }
}

fn is_among(patterns: &[String], tool: &str) -> bool {
    let mut patterns = patterns.iter();
    patterns.any(|pattern| pattern::matches(pattern, tool))
}

/// What the host knows of a client that asks for its tools.
#[derive(Clone, Copy)]
enum Client<'a> {
    /// The client has found these tools in its chat.
    Found(&'a [String]),
    /// The client has no chat that would remember what it finds.
    WithoutChat,
}

impl Host {
    /// Logs the names and patterns of tools in the offer, if no tool has such a name now.
    pub(super) fn compare_offer(&self) {
        let table = self.inner.plugins.table();
        for (key, patterns) in self.inner.offer.patterns() {
            for pattern in patterns {
                let mut tools = table.tools.iter();
                if !tools.any(|tool| pattern::matches(pattern, &tool.name)) {
                    tracing::warn!(pattern, "{key} names a tool that there is not");
                }
            }
        }
    }

    /// Returns the tools that this actor is offered in a format in a new chat, as they are at this moment. If it may use no tool that calls
    /// others, it is offered all of its tools directly. In the description of a tool that calls others, `{{tools}}` becomes the declarations
    /// of those, and `{{tool_names}}` their names. A tool that is for the models of other formats is left out, unless the offer or the actor's own list of tools names
    /// it.
    pub fn offered(&self, actor: &Actor, format: Format) -> Vec<Definition> {
        self.list(actor, format, Client::Found(&[]))
    }

    /// Returns the tools that this actor is offered in a chat: those of a new chat, then those that were found in it, in the order in which
    /// they were found.
    ///
    /// # Errors
    ///
    /// [`Refused::Unreadable`] if the store cannot say which tools were found.
    pub async fn offered_in(
        &self,
        actor: &Actor,
        chat: &ChatId,
        format: Format,
    ) -> Result<Vec<Definition>, Refused> {
        let found = match self.inner.offer.mode {
            ToolMode::Search => self.found_in(chat).await?,
            ToolMode::Direct | ToolMode::Script | ToolMode::Both => Vec::new(),
        };
        Ok(self.list(actor, format, Client::Found(&found)))
    }

    /// Returns the tools that an actor is offered who has no chat that would remember what it finds: where others would have to find a tool
    /// first, it is offered all of its tools.
    pub fn offered_without_chat(&self, actor: &Actor, format: Format) -> Vec<Definition> {
        self.list(actor, format, Client::WithoutChat)
    }

    fn list(&self, actor: &Actor, format: Format, client: Client<'_>) -> Vec<Definition> {
        let table = self.inner.plugins.table();
        let is_named = |tool: &Definition| {
            let tools = actor.tools().as_deref();
            tools.is_some_and(|tools| tools.contains(&tool.name))
        };
        let fits = |tool: &Definition| self.inner.offer.has_in(tool, format) || is_named(tool);
        let usable = table.tools.iter();
        let usable = usable.filter(|tool| actor.may_use(&tool.name) && fits(tool));
        let usable: Vec<_> = usable.collect();
        let listed = match self.inner.offer.mode {
            ToolMode::Search => self.searchable(&table, &usable, client),
            ToolMode::Direct | ToolMode::Script | ToolMode::Both => {
                let offers_all = !usable.iter().any(|tool| makes_calls(&table, tool));
                let is_offered = |tool: &&Definition| {
                    offers_all || makes_calls(&table, tool) || self.inner.offer.lists(&tool.name)
                };
                usable.iter().copied().filter(is_offered).collect()
            }
        };
        let described = listed.into_iter().map(|tool| {
            let calling = route_of_calling(&table, tool);
            let Some(route) = calling else {
                return tool.clone();
            };
            let is_finder = is_finder(route);
            let may_call = |called: &&Definition| {
                !makes_calls(&table, called)
                    && route.plugin.may_call(&called.name)
                    // The others are in the list already.
                    && !(is_finder && self.inner.offer.always_lists(called))
            };
            let called: Vec<_> = usable.iter().copied().filter(may_call).collect();
            Definition {
                description: describe::filled(&tool.description, &called),
                ..tool.clone()
            }
        });
        described.collect()
    }

    /// Returns the tools to list where tools have to be found: all but the one that finds them, if their definitions are within the budget.
    fn searchable<'a>(
        &self,
        table: &Table,
        usable: &[&'a Definition],
        client: Client<'_>,
    ) -> Vec<&'a Definition> {
        let finds = |tool: &Definition| {
            table
                .route(&tool.name)
                .is_some_and(|route| is_finder(route))
        };
        let finder = usable.iter().find(|tool| finds(tool));
        let finder = finder.and_then(|tool| table.route(&tool.name));
        let offer = &self.inner.offer;
        let is_hidden = |tool: &Definition| {
            let can_be_found = finder.is_some_and(|route| route.plugin.may_call(&tool.name));
            can_be_found && !makes_calls(table, tool) && !offer.always_lists(tool)
        };
        let tokens: u64 = usable
            .iter()
            .filter(|tool| !finds(tool))
            .map(|tool| tokens(tool))
            .sum();
        let tools = usable.iter().copied();
        match client {
            Client::Found(found) if tokens > offer.budget && tools.clone().any(is_hidden) => {
                let found = found.iter().filter_map(|name| {
                    let mut tools = tools.clone();
                    tools.find(|tool| tool.name == *name && is_hidden(tool))
                });
                let base = tools.clone().filter(|tool| !is_hidden(tool));
                base.chain(found).collect()
            }
            Client::Found(_) | Client::WithoutChat => tools.filter(|tool| !finds(tool)).collect(),
        }
    }
}

/// Returns the route of a tool whose plugin calls other tools.
fn route_of_calling<'a>(table: &'a Table, tool: &Definition) -> Option<&'a Route> {
    let route: &Route = table.route(&tool.name)?;
    route.plugin.makes_calls().then_some(route)
}

fn makes_calls(table: &Table, tool: &Definition) -> bool {
    route_of_calling(table, tool).is_some()
}

/// Returns whether this is the route of the tool that finds others.
fn is_finder(route: &Route) -> bool {
    route.plugin.makes_calls() && route.tool == FIND_TOOLS && route.plugin.name() == FIND_TOOLS
}

/// Returns about how many tokens a definition has for a model.
fn tokens(tool: &Definition) -> u64 {
    /// Counts bytes.
    struct Bytes(u64);

    impl io::Write for Bytes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut bytes = Bytes((tool.name.len() + tool.description.len()) as u64);
    // Nothing that is counted fails.
    _ = serde_json::to_writer(&mut bytes, &tool.input_schema);
    bytes.0.div_ceil(BYTES_OF_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_lists_tools_by_its_mode() {
        let offer = |mode| Offer {
            mode,
            only_in_scripts: vec!["weather__*".to_owned(), "read_file".to_owned()],
            ..Offer::default()
        };
        for (mode, expected) in [
            (ToolMode::Direct, [true, true, true]),
            (ToolMode::Search, [true, true, true]),
            (ToolMode::Script, [false, false, false]),
            (ToolMode::Both, [false, false, true]),
        ] {
            let lists =
                ["weather__now", "read_file", "execute"].map(|tool| offer(mode).lists(tool));
            assert_eq!(lists, expected, "{mode}");
        }
        assert_eq!("both".parse(), Ok(ToolMode::Both));
    }
}
