//! The tools that clients are offered: directly, or in scripts.

use toolhost_call::call::Actor;
use toolhost_call::tool::{Definition, Format};

use super::Host;
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
}

/// The tools that clients are offered. An offer hides tools from lists and takes no right away: a client may call by its name what it
/// is not offered.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// How they are offered.
    pub mode: ToolMode,
    /// The tools that are offered only in scripts where both ways are open: names, of which `*` at the end stands for any rest.
    pub only_in_scripts: Vec<String>,
    /// The tools that are offered in every format, even if they are for the models of some: names, of which `*` at the end stands for any
    /// rest.
    pub named: Vec<String>,
}

/// The tools that are offered in some formats only, unless they are named: the plugin, the tool, and the formats. Models of other
/// providers know no such tool, and have one that they use better.
const IN_FORMATS: [(&str, &str, &[Format]); 1] = [(
    "files",
    "apply_patch",
    &[Format::OpenAi, Format::OpenAiResponses],
)];

/// The place of the declarations of tools in a description.
const PLACEHOLDER: &str = "{{tools}}";

/// The most bytes of the declarations in one description.
const DECLARED: usize = 16 << 10;

/// The most bytes of names, where there are too many tools to declare.
const NAMED: usize = 4 << 10;

impl Offer {
    /// Returns whether a tool is listed beside those that call it.
    fn lists(&self, tool: &str) -> bool {
        match self.mode {
            ToolMode::Direct => true,
            ToolMode::Script => false,
            ToolMode::Both => {
                let mut patterns = self.only_in_scripts.iter();
                !patterns.any(|pattern| pattern::matches(pattern, tool))
            }
        }
    }

    /// Returns whether a tool is offered in a format.
    fn has_in(&self, tool: &Definition, format: Format) -> bool {
        let mut bound = IN_FORMATS.iter();
        match bound.find(|(plugin, name, _)| *plugin == tool.plugin && *name == tool.name) {
            None => true,
            Some((.., formats)) => {
                let mut named = self.named.iter();
                formats.contains(&format)
                    || named.any(|pattern| pattern::matches(pattern, &tool.name))
            }
        }
    }
}

impl Host {
    /// Logs the names and patterns of tools that are offered only in scripts, or in every format, if no tool has such a name now.
    pub(super) fn compare_offer(&self) {
        let offer = &self.inner.offer;
        let table = self.inner.plugins.table();
        let is_unknown = |pattern: &&String| {
            let mut tools = table.tools.iter();
            !tools.any(|tool| pattern::matches(pattern, &tool.name))
        };
        for pattern in offer.named.iter().filter(is_unknown) {
            tracing::warn!(pattern, "tools names a tool that there is not");
        }
        if offer.mode != ToolMode::Both {
            return;
        }
        for pattern in offer.only_in_scripts.iter().filter(is_unknown) {
            tracing::warn!(pattern, "tools_in_script names a tool that there is not");
        }
    }

    /// Returns the tools that this actor is offered in a format, as they are at this moment. If it may use no tool that calls others, it is
    /// offered all of its tools directly. In the description of a tool that calls others, `{{tools}}` becomes the declarations of those.
    /// A tool that is for the models of other formats is left out, unless the offer or the actor's own list of tools names it.
    pub fn offered(&self, actor: &Actor, format: Format) -> Vec<Definition> {
        let table = self.inner.plugins.table();
        let calling = |tool: &Definition| {
            let route = table.route(&tool.name);
            route.is_some_and(|route| route.plugin.makes_calls())
        };
        let is_named = |tool: &Definition| {
            let tools = actor.tools().as_deref();
            tools.is_some_and(|tools| tools.contains(&tool.name))
        };
        let offer = &self.inner.offer;
        let fits = |tool: &Definition| offer.has_in(tool, format) || is_named(tool);
        let usable = table.tools.iter();
        let usable = usable.filter(|tool| actor.may_use(&tool.name) && fits(tool));
        let usable: Vec<_> = usable.collect();
        let offers_all = !usable.iter().any(|tool| calling(tool));
        let is_offered =
            |tool: &&&Definition| offers_all || calling(tool) || offer.lists(&tool.name);
        let offered = usable.iter().filter(is_offered).map(|tool| {
            let mut tool = Definition::clone(tool);
            if tool.description.contains(PLACEHOLDER)
                && let Some(route) = table.route(&tool.name)
                && route.plugin.makes_calls()
            {
                let may_call =
                    |called: &&Definition| !calling(called) && route.plugin.may_call(&called.name);
                let called = usable.iter().copied().filter(may_call);
                tool.description = tool.description.replace(PLACEHOLDER, &declarations(called));
            }
            tool
        });
        offered.collect()
    }
}

/// Returns the declarations of tools; if these are too long, their names.
fn declarations<'a>(tools: impl Iterator<Item = &'a Definition>) -> String {
    let tools: Vec<_> = tools.collect();
    if tools.is_empty() {
        return "There is no tool that it can call.".to_owned();
    }
    let mut declared = "declare const tools: {\n".to_owned();
    for tool in &tools {
        if declared.len() > DECLARED {
            return names(&tools);
        }
        declared.push_str(&format!("  {}\n", tool.typescript()));
    }
    declared.push('}');
    match declared.len() > DECLARED {
        true => names(&tools),
        false => declared,
    }
}

fn names(tools: &[&Definition]) -> String {
    let mut text = format!(
        "There are {} tools. `await tools.search(\"words\")` finds some and `await tools.describe(\"name\")` shows one, with the schemas \
         of its arguments and its reply. Their names: ",
        tools.len()
    );
    for (index, tool) in tools.iter().enumerate() {
        if text.len() > NAMED {
            text.push_str(&format!("… and {} more", tools.len() - index));
            break;
        }
        let separator = if index == 0 { "" } else { ", " };
        text.push_str(&format!("{separator}{}", tool.name));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolhost_call::tool::Hints;

    fn tools(count: usize) -> Vec<Definition> {
        let tool = |number| Definition {
            name: format!("tool_{number}"),
            title: None,
            description: "Does something.".to_owned(),
            input_schema: json!({ "type": "object" }),
            output_schema: None,
            hints: Hints::default(),
            max_duration_ms: None,
            resources: Vec::new(),
            plugin: "many".to_owned(),
        };
        (0..count).map(tool).collect()
    }

    #[test]
    fn few_tools_are_declared_and_many_are_named() {
        assert_eq!(
            declarations(tools(2).iter()),
            "declare const tools: {\n  /** Does something. */ tool_0(args?: Record<string, unknown>): Promise<unknown>;\n  \
             /** Does something. */ tool_1(args?: Record<string, unknown>): Promise<unknown>;\n}"
        );
        let many = declarations(tools(300).iter());
        assert!(
            many.starts_with("There are 300 tools. ") && many.contains("tool_0, tool_1, "),
            "{many}"
        );
        let most = declarations(tools(10_000).iter());
        assert!(
            most.len() < NAMED + 100 && most.ends_with(" more"),
            "{most}"
        );
        assert_eq!(
            declarations([].iter()),
            "There is no tool that it can call."
        );
    }

    #[test]
    fn an_offer_lists_tools_by_its_mode() {
        let offer = |mode| Offer {
            mode,
            only_in_scripts: vec!["weather__*".to_owned(), "read_file".to_owned()],
            named: Vec::new(),
        };
        for (mode, expected) in [
            (ToolMode::Direct, [true, true, true]),
            (ToolMode::Script, [false, false, false]),
            (ToolMode::Both, [false, false, true]),
        ] {
            let lists =
                ["weather__now", "read_file", "execute"].map(|tool| offer(mode).lists(tool));
            assert_eq!(lists, expected, "{mode}");
        }
        assert_eq!("both".parse(), Ok(ToolMode::Both));
    }

    #[test]
    fn a_tool_for_some_models_is_offered_in_their_formats_or_by_name() {
        let tool = |plugin: &str, name: &str| Definition {
            name: name.to_owned(),
            plugin: plugin.to_owned(),
            ..tools(1).swap_remove(0)
        };
        let offer = |named: &[&str]| Offer {
            named: named.iter().map(|&name| name.to_owned()).collect(),
            ..Offer::default()
        };
        let patch = tool("files", "apply_patch");
        for &format in Format::ALL {
            let is_openai = format.name().starts_with("openai");
            assert_eq!(offer(&[]).has_in(&patch, format), is_openai, "{format}");
            assert!(offer(&["apply_*"]).has_in(&patch, format), "{format}");
            assert!(offer(&[]).has_in(&tool("files", "edit_files"), format));
            assert!(offer(&[]).has_in(&tool("other", "apply_patch"), format));
        }
    }
}
