//! `toolhost show`.

pub(super) mod text;

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;

use super::lookup::Source;
use super::remote::{self, Filter};
use super::{Common, print};
use toolhost_server::ListedCall;
use toolhost_state::id::{CallId, ChatId};

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost show 3.call_0
  toolhost show 3.call_0 --chat support-42
  toolhost show 3.call_0 --json --server http://127.0.0.1:7411 --token-file token";

/// The most chats that an error names.
const NAMED: usize = 10;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The id of the call
    #[arg(value_parser = CallId::recorded)]
    call: CallId,
    /// The chat of the call, if several chats have a call with this id
    #[arg(long, value_name = "ID", value_parser = str::parse::<ChatId>)]
    chat: Option<ChatId>,
    #[command(flatten)]
    remote: remote::Remote,
}

/// A call with its arguments and its reply, as JSON has it.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    call: &'a ListedCall,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<&'a RawValue>,
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    let source = Source::new(common, &options.remote)?;
    let filter = Filter {
        chat: options.chat,
        call: Some(options.call),
        ..Filter::default()
    };
    let call = find(&source, &filter).await?;
    let content = source.content(&call).await?;
    if common.json {
        let shown = Shown {
            call: &call,
            arguments: content.arguments.as_deref(),
            reply: content.reply.as_deref(),
        };
        print(&serde_json::to_string(&shown)?)?;
    } else {
        print(&text::render(&call, &content)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the one call that the filter finds.
async fn find(source: &Source, filter: &Filter) -> anyhow::Result<ListedCall> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = source.page(filter, NAMED + 1, after).await?;
        found.extend(page.calls);
        after = page.next;
        if after.is_none() || found.len() > NAMED {
            break;
        }
    }
    let id = filter.call.as_ref().map_or("", |id| id.as_str());
    let one = found.pop();
    let Some(one) = one else {
        match &filter.chat {
            Some(chat) => bail!("there is no call {id:?} in the chat {:?}", chat.as_str()),
            None => bail!("there is no call {id:?}; toolhost calls lists those that there are"),
        }
    };
    if found.is_empty() {
        return Ok(one);
    }
    found.push(one);
    let more = if found.len() > NAMED { ", …" } else { "" };
    let chats = found.iter().take(NAMED).map(|call| call.chat.as_str());
    let chats = chats.collect::<Vec<_>>().join(", ");
    bail!("several chats have a call {id:?}: name one of them with --chat: {chats}{more}")
}
