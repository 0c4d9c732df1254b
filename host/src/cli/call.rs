//! `toolhost call`.

mod here;
mod live;
mod on_server;
mod people;
mod screen;
mod style;

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;

use super::{Common, arguments, host, remote};
use toolhost_call::call::{Actor, Arguments, Request};
use toolhost_service::processes::Prepared;
use toolhost_state::id::{CallId, ChatId};

pub(super) use here::run as run_here;
pub(super) use style::Output;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost call execute command='uname -a'
  toolhost call execute command='make test' timeout=5m
  toolhost call read_file path=README.md limit:=10 --workspace ~/project
  toolhost call execute '{\"command\": \"uname -a\"}' --json
  toolhost call execute command='uname -a' --server local
  toolhost call execute - --server http://127.0.0.1:7411 --token-file token < arguments.json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The name of the tool
    tool: String,
    /// The arguments: KEY=TEXT, KEY:=JSON for a value that is no text, or one JSON object; `-` reads that from standard input
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,
    /// The chat that the call belongs to
    #[arg(long, value_name = "ID", default_value = "cli", value_parser = str::parse::<ChatId>)]
    chat: ChatId,
    /// The id of the call; a server answers a repeated id with the saved reply [default: a random one]
    #[arg(long, value_name = "ID", value_parser = str::parse::<CallId>)]
    call: Option<CallId>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    remote: remote::Remote,
    #[command(flatten)]
    pub(super) host: host::Options,
}

impl Options {
    /// Returns whether the call is for a running server.
    pub(super) fn is_remote(&self) -> bool {
        self.remote.is_named()
    }
}

pub(super) async fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    let style = options.output.style(common)?;
    let text = arguments::read(&options.arguments)?;
    let is_here = !options.remote.is_named();
    let request = request(options.tool, &text, options.chat, options.call, is_here)?;
    match options.remote.server(common)? {
        Some(server) => on_server::run(&server, &request, style).await,
        None => {
            options.remote.tell_of_server(common);
            let mut host = options.host;
            host.plugins.load_for(&request.tool);
            run_here(common, host, request, &prepared, style, None).await
        }
    }
}

/// Makes the request of a call; `is_here`: it runs in this process.
pub(super) fn request(
    tool: String,
    arguments: &str,
    chat: ChatId,
    call: Option<CallId>,
    is_here: bool,
) -> anyhow::Result<Request> {
    let mut attributes: BTreeMap<String, String> = [("client".into(), "toolhost".into())].into();
    if is_here {
        attributes.insert("processes".into(), "end-with-call".into());
    }
    Ok(Request {
        chat,
        id: call.unwrap_or_else(CallId::random),
        tool,
        arguments: Arguments::parse(arguments)?,
        attributes,
        actor: Actor::new("cli"),
        max_wait: None,
        reach: None,
        workspace: None,
    })
}
