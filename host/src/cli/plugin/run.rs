//! `toolhost plugin run`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tokio::sync::mpsc;

use super::folder::Folder;
use super::{Common, cause, name, workspace};
use crate::cli::{arguments, call, host};
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
    let style = options.output.style(common)?;
    let arguments = arguments::read(&options.arguments)?;
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
    let host = options.host;
    let code = call::run_here(&common, host, request, &prepared, style, Some(sender)).await?;
    let language = folder.map(|folder| folder.manifest.language);
    while let Ok(failure) = failures.try_recv() {
        cause::print_places(failure, &component, language).await?;
    }
    Ok(code)
}
