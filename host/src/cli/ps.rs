//! `toolhost ps`.

mod table;

use std::process::ExitCode;

use clap::Args;
pub(super) use table::status;

use super::{Common, print, remote};
use toolhost_service::stderr;
use toolhost_state::id::ChatId;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost ps
  toolhost ps --all --chat support-42
  toolhost ps --quiet
  toolhost ps --all --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// List ended processes as well
    #[arg(short, long)]
    all: bool,
    /// Only processes of this chat [default: of all chats]
    #[arg(long, value_name = "ID", value_parser = str::parse::<ChatId>)]
    chat: Option<ChatId>,
    /// Print ids alone, in full
    #[arg(short, long, conflicts_with = "no_trunc")]
    quiet: bool,
    /// Do not shorten ids and commands
    #[arg(long)]
    no_trunc: bool,
    #[command(flatten)]
    remote: remote::Remote,
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    let server = options.remote.required(common)?;
    let chat = options.chat.as_ref();
    let found = server.processes(chat, !options.all).await?;
    if common.json {
        for one in &found {
            print(&one.value.to_string())?;
        }
    } else if options.quiet {
        for one in &found {
            print(&one.process.id)?;
        }
    } else if found.is_empty() {
        stderr::line(match options.all {
            true => "toolhost: there is no process",
            false => "toolhost: no process runs; `toolhost ps --all` lists ended ones",
        });
    } else {
        let processes: Vec<_> = found.into_iter().map(|one| one.process).collect();
        print(&table::render(&processes, options.no_trunc))?;
    }
    Ok(ExitCode::SUCCESS)
}
