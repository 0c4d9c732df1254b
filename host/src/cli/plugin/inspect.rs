//! `toolhost plugin inspect`.

mod table;

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Common, Format, Subject, engine, least};
use crate::cli::{exit_code, print};
use toolhost_core::{Definition, Options as PluginOptions};
use toolhost_plugin::{Digest, LoadError, Plugin, Shape};

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    subject: Subject,
}

/// The findings about a component.
#[derive(Debug, Serialize)]
struct Inspection {
    name: String,
    size: usize,
    sha256: Digest,
    world: Option<String>,
    contract: Option<String>,
    imports: Imports,
    exports: Vec<String>,
    tools: Vec<Tool>,
    configuration: Option<String>,
    /// The reason why the component does not load even if everything that it imports is granted.
    error: Option<String>,
}

/// The names of imports, in groups.
#[derive(Debug, Default, Serialize)]
struct Imports {
    /// The imports that take a grant, each with the name of the capability.
    granted: Vec<Granted>,
    contract: Vec<String>,
    wasi: Vec<String>,
    other: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Granted {
    import: String,
    grant: &'static str,
}

/// A tool with its examples.
#[derive(Debug, Serialize)]
struct Tool {
    #[serde(flatten)]
    definition: Definition,
    examples: Vec<Value>,
}

pub(super) async fn run(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    let (name, bytes) = options.subject.read()?;
    let shape = Shape::read(&bytes);
    let known = shape.as_ref().ok();
    let engine = engine(common)?;
    let loaded = Plugin::load(
        &engine,
        &bytes,
        PluginOptions {
            grants: least(&known.map(Shape::needs).unwrap_or_default()),
            ..PluginOptions::new(&name)
        },
    );
    let loaded = loaded.await;
    let inspection = Inspection {
        configuration: loaded.is_ok().then(|| {
            let path = options.subject.file.display().to_string();
            configuration(&name, &path, known, Digest::of(&bytes))
        }),
        name,
        size: bytes.len(),
        sha256: Digest::of(&bytes),
        world: known.and_then(Shape::world),
        contract: known.and_then(Shape::contract).map(str::to_owned),
        imports: known.map(imports).unwrap_or_default(),
        exports: known.map(|shape| shape.exports.clone()).unwrap_or_default(),
        tools: loaded
            .as_ref()
            .map(|plugin| tools(plugin))
            .unwrap_or_default(),
        error: loaded.as_ref().err().map(LoadError::to_string),
    };
    match options.subject.format {
        Format::Json => print(&serde_json::to_string_pretty(&inspection)?)?,
        Format::Table => print(table::render(&inspection).trim_end())?,
    }
    Ok(exit_code(inspection.error.is_none()))
}

/// Groups imports: those that take a grant, and the others by their package.
fn imports(shape: &Shape) -> Imports {
    let granted: Vec<_> = shape.granted().collect();
    let mut imports = Imports::default();
    for name in &shape.imports {
        let grant = granted.iter().find(|(import, _)| import == name);
        if let Some((_, grant)) = grant {
            imports.granted.push(Granted {
                import: name.clone(),
                grant: grant.name(),
            });
            continue;
        }
        let group = match name.split_once(':') {
            Some(("toolhost", _)) => &mut imports.contract,
            Some(("wasi", _)) => &mut imports.wasi,
            _ => &mut imports.other,
        };
        group.push(name.clone());
    }
    imports
}

fn tools(plugin: &Plugin) -> Vec<Tool> {
    let examples = |tool: &Definition| {
        let of_it = plugin
            .examples()
            .iter()
            .filter(|example| example.tool == tool.name);
        let shown = of_it.map(|example| {
            json!({ "name": example.name, "arguments": example.arguments, "is_error": example.is_error })
        });
        shown.collect()
    };
    plugin
        .tools()
        .iter()
        .map(|tool| Tool {
            examples: examples(tool),
            definition: tool.clone(),
        })
        .collect()
}

/// Returns the section of the configuration that loads this component with the least grants.
fn configuration(name: &str, path: &str, shape: Option<&Shape>, digest: Digest) -> String {
    let needs = shape.map(Shape::needs).unwrap_or_default();
    // A string of JSON is one of TOML, but for some escapes.
    let path = Value::from(path).to_string();
    let mut text = format!("[plugins.{name}]\ncomponent = {path}\nsha256 = \"{digest}\"\n");
    let lines: Vec<_> = needs.iter().map(|need| need.line()).collect();
    if !lines.is_empty() {
        text.push_str(&format!("grants = {{ {} }}\n", lines.join(", ")));
    }
    text
}
