//! What the descriptions of tools that call others say of these: declarations, or names.

use toolhost_call::tool::Definition;

/// The place of the declarations of tools in a description.
const DECLARATIONS: &str = "{{tools}}";

/// The place of the names of tools in a description.
const NAMES: &str = "{{tool_names}}";

/// The most bytes of the declarations in one description.
const DECLARED: usize = 16 << 10;

/// The most bytes of names, where there are too many tools to declare.
const NAMED: usize = 4 << 10;

/// The most bytes of names by plugin, which are all that a model knows of these tools.
const NAMED_BY_PLUGIN: usize = 16 << 10;

/// Returns a description in which `{{tools}}` and `{{tool_names}}` are replaced.
pub(super) fn filled(description: &str, tools: &[&Definition]) -> String {
    let mut text = description.to_owned();
    if text.contains(DECLARATIONS) {
        text = text.replace(DECLARATIONS, &declarations(tools));
    }
    if text.contains(NAMES) {
        text = text.replace(NAMES, &names_by_plugin(tools));
    }
    text
}

/// Returns the declarations of tools; if these are too long, their names.
fn declarations(tools: &[&Definition]) -> String {
    if tools.is_empty() {
        return "There is no tool that it can call.".to_owned();
    }
    let mut declared = "declare const tools: {\n".to_owned();
    for tool in tools {
        if declared.len() > DECLARED {
            return names(tools);
        }
        declared.push_str(&format!("  {}\n", tool.typescript()));
    }
    declared.push('}');
    match declared.len() > DECLARED {
        true => names(tools),
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

/// Returns the names of tools, a line for each plugin. If they are too long, each plugin has an equal share of the room.
fn names_by_plugin(tools: &[&Definition]) -> String {
    let mut plugins = Vec::<(&str, Vec<&str>)>::new();
    for tool in tools {
        match plugins
            .iter_mut()
            .find(|(plugin, _)| *plugin == tool.plugin)
        {
            Some((_, names)) => names.push(&tool.name),
            None => plugins.push((&tool.plugin, vec![&tool.name])),
        }
    }
    if plugins.is_empty() {
        return "There is no tool to be found.".to_owned();
    }
    let length = |names: &[&str]| names.iter().map(|name| name.len() + 2).sum::<usize>();
    let whole: usize = plugins
        .iter()
        .map(|(plugin, names)| plugin.len() + 4 + length(names))
        .sum();
    let share = match whole > NAMED_BY_PLUGIN {
        true => NAMED_BY_PLUGIN / plugins.len(),
        false => usize::MAX,
    };
    let mut text = format!("The tools that can be found, by plugin ({}):", tools.len());
    for (index, (plugin, names)) in plugins.iter().enumerate() {
        if text.len() > NAMED_BY_PLUGIN {
            text.push_str(&format!("\n… and {} more plugins", plugins.len() - index));
            break;
        }
        text.push_str(&format!("\n{plugin}:"));
        let mut used = 0;
        for (index, name) in names.iter().enumerate() {
            used += name.len() + 2;
            // One name says more of a plugin than none.
            if used > share && index > 0 {
                text.push_str(&format!(", … and {} more", names.len() - index));
                break;
            }
            text.push_str(if index == 0 { " " } else { ", " });
            text.push_str(name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolhost_call::tool::Hints;

    fn some(count: usize) -> Vec<Definition> {
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

    fn declared(count: usize) -> String {
        let tools = some(count);
        declarations(&tools.iter().collect::<Vec<_>>())
    }

    fn named(tools: &[Definition]) -> String {
        names_by_plugin(&tools.iter().collect::<Vec<_>>())
    }

    #[test]
    fn few_tools_are_declared_and_many_are_named() {
        assert_eq!(
            declared(2),
            "declare const tools: {\n  /** Does something. */ tool_0(args?: Record<string, unknown>): Promise<unknown>;\n  \
             /** Does something. */ tool_1(args?: Record<string, unknown>): Promise<unknown>;\n}"
        );
        let many = declared(300);
        assert!(
            many.starts_with("There are 300 tools. ") && many.contains("tool_0, tool_1, "),
            "{many}"
        );
        let most = declared(10_000);
        assert!(
            most.len() < NAMED + 100 && most.ends_with(" more"),
            "{most}"
        );
        assert_eq!(declared(0), "There is no tool that it can call.");
    }

    #[test]
    fn names_are_grouped_by_plugin() {
        let mut tools = some(3);
        tools[1].plugin = "other".to_owned();
        assert_eq!(
            named(&tools),
            "The tools that can be found, by plugin (3):\nmany: tool_0, tool_2\nother: tool_1"
        );
        assert_eq!(named(&[]), "There is no tool to be found.");
    }

    #[test]
    fn each_plugin_has_a_share_of_the_room() {
        let mut tools = some(10_000);
        tools[9_999].plugin = "other".to_owned();
        let text = named(&tools);
        assert!(text.len() < NAMED_BY_PLUGIN, "{}", text.len());
        assert!(text.contains("\nmany: tool_0, tool_1, "), "{text}");
        assert!(text.contains(" more\nother: tool_9999"), "{text}");
        for (number, tool) in tools.iter_mut().enumerate() {
            tool.plugin = format!("plugin_{number}");
        }
        let text = named(&tools);
        assert!(text.len() < NAMED_BY_PLUGIN + 200, "{}", text.len());
        assert!(text.ends_with(" more plugins"), "{text}");
    }
}
