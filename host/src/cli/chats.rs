//! `toolhost chats`.

use std::collections::HashMap;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use serde::Deserialize as _;

use super::remote::{self, Chat};
use super::{Common, print, table};
use toolhost_plugin::shown;
use toolhost_service::stderr;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost chats
  toolhost chats --prefix support- --json";

const HEAD: [&str; 7] = [
    "CHAT",
    "WORKSPACE",
    "TOKEN",
    "CALLS",
    "PROCESSES",
    "LAST CALL",
    "ENDED",
];

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// Only chats whose names begin like this
    #[arg(long, value_name = "PREFIX", default_value = "")]
    prefix: String,
    #[command(flatten)]
    remote: remote::Remote,
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    let server = options.remote.required(common)?;
    let found = server.chats(&options.prefix).await?;
    if common.json {
        for one in &found {
            print(&one.to_string())?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        stderr::line("toolhost: there is no such chat");
        return Ok(ExitCode::SUCCESS);
    }
    let mut processes = HashMap::<String, usize>::new();
    for found in server.processes(None, true).await? {
        *processes
            .entry(found.process.chat.unwrap_or_default())
            .or_default() += 1;
    }
    let mut rows = vec![HEAD.map(str::to_owned)];
    for one in &found {
        let chat = Chat::deserialize(one).context("the server's answer is no list of chats")?;
        let live = processes.get(&chat.chat).copied().unwrap_or_default();
        let name = |name: Option<String>| name.map_or_else(|| "-".to_owned(), |name| shown(&name));
        let time = |time: Option<u64>| time.map_or_else(|| "-".to_owned(), table::time);
        rows.push([
            shown(&chat.chat),
            name(chat.workspace),
            name(chat.token),
            chat.running.to_string(),
            live.to_string(),
            time(chat.last_call_at_unix_ms),
            time(chat.ended_at_unix_ms),
        ]);
    }
    print(&table::columns(&rows, table::width(), 0..3))?;
    Ok(ExitCode::SUCCESS)
}
