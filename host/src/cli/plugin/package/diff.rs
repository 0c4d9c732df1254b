//! `toolhost plugin diff`.

mod changes;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Map, Value, json};
use toolhost_core::Options as PluginOptions;
use toolhost_package::{Metadata, Reference};
use toolhost_plugin::{Engine, Plugin, Shape, shown, shown_up_to};

use super::RegistryOptions;
use crate::cli::plugin::{component, engine, least};
use crate::cli::{Common, exit_code, print};
use changes::{Change, changes};

/// How much of a value is shown; JSON has all of it.
const SHOWN: usize = 200;

#[derive(Debug, Args)]
pub(in crate::cli::plugin) struct Options {
    /// The component in use: a file, or oci://REGISTRY/NAME:TAG
    old: String,
    /// The new component: a file, or oci://REGISTRY/NAME:TAG
    new: String,
    #[command(flatten)]
    registry: RegistryOptions,
}

pub(in crate::cli::plugin) async fn run(
    common: &Common,
    options: &Options,
) -> anyhow::Result<ExitCode> {
    let engine = engine(common)?;
    let old = facts(&engine, &options.old, &options.registry).await?;
    let new = facts(&engine, &options.new, &options.registry).await?;
    let changes = changes(&old, &new);
    match common.json {
        true => {
            let changes: Vec<_> = changes.iter().map(Change::to_json).collect();
            print(&serde_json::to_string_pretty(
                &json!({ "changes": changes }),
            )?)?;
        }
        false => {
            for change in &changes {
                let value = |value: &Value| shown_up_to(&value.to_string(), SHOWN);
                let path = shown(&change.path);
                print(&match (&change.old, &change.new) {
                    (None, Some(Value::Bool(true))) => format!("+ {path}"),
                    (Some(Value::Bool(true)), None) => format!("- {path}"),
                    (None, Some(new)) => format!("+ {path}  {}", value(new)),
                    (Some(old), None) => format!("- {path}  {}", value(old)),
                    (Some(old), Some(new)) => format!("~ {path}  {} -> {}", value(old), value(new)),
                    (None, None) => continue,
                })?;
            }
            if changes.is_empty() {
                print("imports, grants and tools are the same")?;
            }
        }
    }
    Ok(exit_code(changes.is_empty()))
}

/// Returns the versions of interfaces by their names, so that another version is one change; true for what has no version.
fn versions(imports: &[String]) -> Map<String, Value> {
    let mut versions = Map::new();
    for import in imports {
        let (name, version) = match import.rsplit_once('@') {
            Some((name, version)) => (name, Value::from(version)),
            None => (import.as_str(), true.into()),
        };
        let known = versions.get(name).and_then(Value::as_str);
        let version = match (known, version.as_str()) {
            (Some(known), Some(version)) => format!("{known}, {version}").into(),
            _ => version,
        };
        versions.insert(name.to_owned(), version);
    }
    versions
}

/// Returns what an operator decides by: what a component says of itself, imports, asks for and offers.
async fn facts(engine: &Engine, text: &str, registry: &RegistryOptions) -> anyhow::Result<Value> {
    let bytes = match Reference::is_meant(text) {
        true => registry.pull(&text.parse()?).await?.component,
        false => component(text.as_ref())?,
    };
    let shape = Shape::read(&bytes).with_context(|| text.to_owned())?;
    let metadata = Metadata::read(&bytes).with_context(|| text.to_owned())?;
    let options = PluginOptions {
        grants: least(&shape.needs()),
        ..PluginOptions::new("plugin")
    };
    let plugin = Plugin::load(engine, &bytes, options).await;
    let plugin = plugin.with_context(|| text.to_owned())?;
    let named = |names: Vec<String>| -> Map<String, Value> {
        names.into_iter().map(|name| (name, true.into())).collect()
    };
    let needs = shape.needs();
    let needs = needs.iter().map(|need| need.name().to_owned()).collect();
    let mut tools = Map::new();
    for tool in plugin.tools() {
        let mut tool = serde_json::to_value(tool)?;
        let name = tool.get("name").and_then(Value::as_str);
        let name = name.unwrap_or_default().to_owned();
        if let Some(tool) = tool.as_object_mut() {
            tool.retain(|key, _| key != "name" && key != "plugin");
        }
        tools.insert(name, tool);
    }
    Ok(json!({
        "says": serde_json::to_value(&metadata)?,
        "imports": versions(&shape.imports),
        "needs": named(needs),
        "tools": tools,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_of_an_interface_is_one_change() {
        let of = |imports: &[&str]| {
            let imports: Vec<_> = imports.iter().map(|import| (*import).to_owned()).collect();
            Value::Object(versions(&imports))
        };
        let old = of(&[
            "wasi:io/streams@0.2.3",
            "toolhost:plugin/log@0.1.0",
            "plain",
        ]);
        let new = of(&[
            "wasi:io/streams@0.2.6",
            "toolhost:plugin/log@0.1.0",
            "plain",
        ]);
        let found = changes(&old, &new);
        let [one] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(
            (&*one.path, &one.new),
            ("wasi:io/streams", &Some("0.2.6".into()))
        );
        assert_eq!(of(&["a@1", "a@2"]), json!({ "a": "1, 2" }));
    }
}
