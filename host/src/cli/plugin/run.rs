//! `toolhost plugin run`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::folder::Folder;
use super::{Common, cause, name, workspace};
use crate::cli::{call, host};
use toolhost_core::Grants;
use toolhost_service::processes::Prepared;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost plugin run word_count.wasm word_count text='to be or not to be'
  toolhost plugin run . word_count text='to be' unique:=true --text
  toolhost plugin run git.wasm git_log '{\"since\": \"1 week\"}' --workspace ~/project --grant processes=own";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The component, or the folder of a plugin: then its build/NAME.wasm
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// The name of the tool
    tool: String,
    /// The arguments: KEY=TEXT, KEY:=JSON for a value that is no text, or one JSON object; `-` reads that from standard input
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,
    #[command(flatten)]
    output: call::Output,
    #[command(flatten)]
    host: host::Options,
}

impl Options {
    /// Does the work that must come before any thread is started.
    pub(super) fn prepare(&self) -> Prepared {
        self.host.prepare()
    }
}

pub(super) async fn run(
    common: &Common,
    mut options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    let arguments = match &*options.arguments {
        [single] if single == "-" => call::read_stdin()?,
        arguments => object(arguments)?,
    };
    let chat = "run".parse()?;
    let request = call::request(options.tool, &arguments, chat, None, true)?;
    let folder = match options.path.is_dir() {
        true => Some(Folder::open(&options.path)?),
        false => None,
    };
    let (name, component, asked) = match &folder {
        Some(folder) => (
            folder.manifest.name.clone(),
            folder.built()?,
            folder.grants()?,
        ),
        None => {
            let name = name(None, &options.path)?;
            (name, options.path, Grants::default())
        }
    };
    // The temporary directory lives as long as the call.
    let (common, grants, _temporary) = workspace::or_temporary(common, "toolhost-run-", asked)?;
    let plugins = &mut options.host.plugins;
    plugins.load_alone(name, component.clone(), grants);
    let (sender, mut failures) = mpsc::unbounded_channel();
    let (host, output) = (options.host, options.output);
    let code = call::run_here(&common, host, request, &prepared, output, Some(sender)).await?;
    let language = folder.map(|folder| folder.manifest.language);
    while let Ok(failure) = failures.try_recv() {
        cause::print_places(failure, &component, language).await?;
    }
    Ok(code)
}

/// Returns the JSON object that these arguments of the command line stand for.
fn object(arguments: &[String]) -> anyhow::Result<String> {
    if let [single] = arguments
        && single.trim_start().starts_with('{')
    {
        return Ok(single.clone());
    }
    let mut object = Map::new();
    for argument in arguments {
        let Some((key, text)) = argument.split_once('=') else {
            bail!(
                "{argument:?} is no argument of a tool: write KEY=TEXT, KEY:=JSON, or one JSON object"
            );
        };
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => {
                let value = serde_json::from_str(text);
                let value = value.with_context(|| {
                    format!("the argument {key} is no JSON; for a text write {key}={text}")
                })?;
                (key, value)
            }
            None => (key, Value::from(text)),
        };
        if object.insert(key.to_owned(), value).is_some() {
            bail!("the argument {key} is given twice; for a list write {key}:='[…]'");
        }
    }
    Ok(Value::Object(object).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<String, String> {
        let arguments: Vec<_> = arguments.iter().map(|text| (*text).to_owned()).collect();
        object(&arguments).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn arguments_are_texts_or_json() {
        assert_eq!(read(&[]).as_deref(), Ok("{}"));
        assert_eq!(read(&[r#" {"a": 1}"#]).as_deref(), Ok(r#" {"a": 1}"#));
        assert_eq!(
            read(&[
                "text=a=b",
                "url=http://x/?a:=1",
                "n:=1",
                "list:=[1,2]",
                "none="
            ])
            .as_deref(),
            Ok(r#"{"text":"a=b","url":"http://x/?a:=1","n":1,"list":[1,2],"none":""}"#)
        );
    }

    #[test]
    fn arguments_that_cannot_be_are_explained() {
        insta::assert_snapshot!(read(&["text"]).unwrap_err(), @r#""text" is no argument of a tool: write KEY=TEXT, KEY:=JSON, or one JSON object"#);
        insta::assert_snapshot!(read(&["a:=b"]).unwrap_err(), @"the argument a is no JSON; for a text write a=b: expected value at line 1 column 1");
        insta::assert_snapshot!(read(&["a=1", "a=2"]).unwrap_err(), @"the argument a is given twice; for a list write a:='[…]'");
    }
}
