//! `toolhost plugin new`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use serde_json::json;
use toolhost_author::{Language, Template};
use toolhost_plugin::is_plugin_name;

use crate::cli::Common;
use crate::config::name_of;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost plugin new word_count
  toolhost plugin new git_summary --lang python --with processes";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The name of the plugin and of its first tool: a-z, 0-9 and single _
    name: String,
    /// The language
    #[arg(
        long,
        value_name = "LANGUAGE",
        default_value = "rust",
        value_parser = PossibleValuesParser::new(Language::ALL.map(Language::name)).try_map(|name| name.parse::<Language>())
    )]
    lang: Language,
    /// The capabilities of which the plugin gets an example, with commas in between: processes, files, http
    #[arg(
        long,
        value_name = "CAPABILITY",
        value_delimiter = ',',
        value_parser = ["processes", "files", "http"]
    )]
    with: Vec<String>,
    /// The folder [default: the name]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    let Options {
        name,
        lang,
        with,
        dir,
    } = options;
    if !is_plugin_name(&name) {
        let other = name_of(&name);
        let hint = match is_plugin_name(&other) {
            true => format!("; write {other}"),
            false => String::new(),
        };
        bail!(
            "{name:?} is not the name of a plugin: it is 1 to 31 of a-z, 0-9 and single `_`, and begins with a letter{hint}"
        );
    }
    let folder = dir.unwrap_or_else(|| name.clone().into());
    let template = Template {
        name: name.clone(),
        language: lang,
        with: with.into_iter().collect(),
    };
    template.write(&folder)?;
    let shown = folder.display();
    let text = format!(
        "{shown}: a plugin in {lang}\n\
         Next:\n  \
           cd {shown}\n  \
           toolhost plugin build\n  \
           toolhost plugin test\n  \
           toolhost plugin check\n  \
           toolhost plugin run . {name} text='to be or not to be'"
    );
    common.report(
        &text,
        &json!({ "folder": folder.to_string_lossy(), "name": name, "language": lang.name() }),
    )?;
    Ok(ExitCode::SUCCESS)
}
