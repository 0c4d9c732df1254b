//! `toolhost cancel`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use serde_json::json;

use super::remote::{self, Filter, Process, Server};
use super::{Common, print};
use toolhost_call::call::Outcome;
use toolhost_plugin::shown;
use toolhost_server::{ListedCall, ListedState};
use toolhost_service::stderr;
use toolhost_state::id::{CallId, ChatId};

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost cancel 3.call_0
  toolhost cancel 3.call_0 --chat support-42 --json";

/// How many calls one request returns.
const PAGE: usize = 500;

/// The most calls that an error names.
const NAMED: usize = 10;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The id of a call that runs, or the first characters of it
    call: String,
    /// The chat of the call, if several chats have a call with this id
    #[arg(long, value_name = "ID", value_parser = str::parse::<ChatId>)]
    chat: Option<ChatId>,
    #[command(flatten)]
    remote: remote::Remote,
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    let server = options.remote.required(common)?;
    let call = find(&server, &options).await?;
    let (chat, id) = (call.chat.parse()?, call.id.parse()?);
    let cancelled = cancel(&server, &chat, &id).await?;
    let outcome = &cancelled.outcome;
    let state = outcome.as_ref().map(|outcome| outcome.state().name());
    if common.json {
        let ids = |all: &[Process]| all.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
        let line = json!({
            "chat": chat.as_str(), "id": id.as_str(), "tool": call.tool, "state": state,
            "ended": ids(&cancelled.ended), "running": ids(&cancelled.running), "reply": outcome,
        });
        print(&line.to_string())?;
    } else {
        for line in cancelled.lines(&id) {
            print(&line)?;
        }
    }
    Ok(super::exit_code(state == Some("cancelled")))
}

/// A call that was cancelled, and its processes.
pub(super) struct Cancelled {
    /// `None`: the call had not arrived, and will not run.
    pub(super) outcome: Option<Outcome>,
    /// The processes that ended with it.
    ended: Vec<Process>,
    /// Its processes that run on.
    running: Vec<Process>,
}

/// Cancels a call, waits for its end, and looks which of its processes ended with it.
pub(super) async fn cancel(
    server: &Server,
    chat: &ChatId,
    id: &CallId,
) -> anyhow::Result<Cancelled> {
    // What ended is only told: a token that may not list processes may still cancel.
    let before = processes(server, chat, id).await.unwrap_or_default();
    let outcome = server.cancel(chat, id).await?;
    let after = processes(server, chat, id).await.unwrap_or_default();
    let live: BTreeSet<_> = after.iter().map(|process| process.id.as_str()).collect();
    let ended = before.into_iter();
    let ended = ended.filter(|process| !live.contains(process.id.as_str()));
    Ok(Cancelled {
        ended: ended.collect(),
        outcome,
        running: after,
    })
}

/// Returns the processes of a call that run.
async fn processes(server: &Server, chat: &ChatId, id: &CallId) -> anyhow::Result<Vec<Process>> {
    let all = server.processes(Some(chat), true).await?.into_iter();
    let all = all.map(|one| one.process);
    Ok(all
        .filter(|process| process.call.as_deref() == Some(id.as_str()))
        .collect())
}

impl Cancelled {
    /// Returns lines for people: how the call ended, and what ended with it.
    pub(super) fn lines(&self, id: &CallId) -> Vec<String> {
        let mut lines = vec![match &self.outcome {
            Some(outcome) => format!("call {id} is over: {}", outcome.state().name()),
            None => format!("call {id} had not begun, and will not run"),
        }];
        let name = |process: &Process| {
            let short = super::table::short_id(&process.id);
            format!("{} ({})", shown(short), shown(&process.command))
        };
        let ended = self.ended.iter();
        lines.extend(ended.map(|process| format!("ended process {}", name(process))));
        lines.extend(self.running.iter().map(|process| {
            let short = super::table::short_id(&process.id);
            format!(
                "process {} runs on; `toolhost kill {}` ends it",
                name(process),
                shown(short)
            )
        }));
        lines
    }

    /// Prints these lines to standard error.
    pub(super) fn say(&self, id: &CallId) {
        for line in self.lines(id) {
            stderr::line(format_args!("toolhost: {line}"));
        }
    }
}

/// Returns the running call whose id is this, or begins with it.
async fn find(server: &Server, options: &Options) -> anyhow::Result<ListedCall> {
    let filter = Filter {
        chat: options.chat.clone(),
        running: true,
        ..Filter::default()
    };
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = server.calls(&filter, PAGE, after).await?;
        let calls = page.calls.into_iter();
        // A server with a full page may have calls that ended meanwhile.
        let calls = calls.filter(|call| call.state == ListedState::Running);
        found.extend(calls.filter(|call| call.id.starts_with(&options.call)));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if found.iter().any(|call| call.id == options.call) {
        found.retain(|call| call.id == options.call);
    }
    let id = &options.call;
    let Some(one) = found.pop().filter(|_| !id.is_empty()) else {
        bail!("no call {id:?} runs; `toolhost calls` lists calls and how they ended");
    };
    if found.is_empty() {
        return Ok(one);
    }
    found.push(one);
    let more = if found.len() > NAMED { ", …" } else { "" };
    let names = found.iter().take(NAMED);
    let names = names.map(|call| format!("{} of chat {}", call.id, call.chat));
    bail!(
        "several calls run whose ids begin with {id:?}: {}{more}; write more of the id, or name the chat with --chat",
        names.collect::<Vec<_>>().join(", ")
    )
}
