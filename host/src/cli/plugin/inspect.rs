//! `toolhost plugin inspect`.

mod table;

pub(super) use table::cause_lines;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Common, Subject, engine, least, notes};
use crate::cli::literal::quoted;
use crate::cli::{exit_code, print};
use toolhost_core::{Definition, Options as PluginOptions};
use toolhost_plugin::{Cause, Digest, LoadError, Plugin, Shape};

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    subject: Subject,
    /// Add the digest of the component to the section of the configuration, so that a component that has changed does not load
    #[arg(long)]
    pin: bool,
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
    /// What the author should know about its imports.
    notes: Vec<String>,
    /// The reason why the component does not load even if everything that it imports is granted.
    error: Option<String>,
    /// The cause, if the component ran and failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
}

/// The names of imports, in groups.
#[derive(Debug, Default, Serialize)]
pub(super) struct Imports {
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

pub(super) async fn run(common: &Common, mut options: Options) -> anyhow::Result<ExitCode> {
    options.subject.resolve()?;
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
    let cause = loaded.as_ref().err().and_then(LoadError::cause).cloned();
    let cause = match cause {
        Some(cause) => Some(cause.with_lines(bytes.clone().into()).await),
        None => None,
    };
    let inspection = Inspection {
        configuration: loaded.is_ok().then(|| {
            let path = absolute(&options.subject.file);
            let pin = options.pin.then(|| Digest::of(&bytes));
            configuration(&name, &path, known, pin)
        }),
        notes: known
            .map(|shape| notes::of_imports(shape, &bytes))
            .unwrap_or_default(),
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
        cause,
    };
    match common.json {
        true => print(&serde_json::to_string_pretty(&inspection)?)?,
        false => print(table::render(&inspection).trim_end())?,
    }
    Ok(exit_code(inspection.error.is_none()))
}

/// Groups imports: those that take a grant, and the others by their package.
pub(super) fn imports(shape: &Shape) -> Imports {
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

/// Returns the path of a file as it is valid in every directory.
fn absolute(file: &Path) -> String {
    let path = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    path.display().to_string()
}

/// Returns the section of the configuration that loads this component with the least grants, and only this one if it is pinned.
fn configuration(name: &str, path: &str, shape: Option<&Shape>, pin: Option<Digest>) -> String {
    let needs = shape.map(Shape::needs).unwrap_or_default();
    let path = quoted(path);
    let mut text = format!("[plugins.{name}]\ncomponent = {path}\n");
    if let Some(digest) = pin {
        text.push_str(&format!("sha256 = \"{digest}\"\n"));
    }
    let lines: Vec<_> = needs.iter().map(|need| need.line()).collect();
    if !lines.is_empty() {
        text.push_str(&format!("grants = {{ {} }}\n", lines.join(", ")));
        if lines.contains(&"files = \"read\"") {
            text.push_str("# A tool that changes files needs files = \"write\", as `plugin test` and `plugin run` give it.\n");
        }
    }
    text
}
