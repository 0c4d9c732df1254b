//! `toolhost call`.

use std::collections::BTreeMap;
use std::io::Read;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::{Common, exit_code, host, plugins, print, remote};
use toolhost_call::call::{Actor, Arguments, MAX_ARGUMENTS, Outcome, Request};
use toolhost_call::tool::Content;
use toolhost_core::{CallError, Host};
use toolhost_plugin::Cause;
use toolhost_service::processes::Prepared;
use toolhost_service::signals::{self, Hangup};
use toolhost_service::{logging, stderr};
use toolhost_state::id::{CallId, ChatId};
use toolhost_workspace::files::FilesGrant;
use toolhost_workspace::process::Info;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost call execute '{\"command\": \"uname -a\"}'
  toolhost call read_file '{\"path\": \"README.md\"}' --workspace ~/project
  toolhost call execute - --server http://127.0.0.1:7411 --token-file token < arguments.json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The name of the tool
    tool: String,
    /// The arguments as one JSON object; `-` reads them from standard input
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
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

/// How a reply is printed.
#[derive(Clone, Copy, Debug, Default, Args)]
#[group(skip)]
pub(super) struct Output {
    /// Print the texts of the reply as they are; an error goes to standard error
    #[arg(long, conflicts_with = "json")]
    text: bool,
    /// Print the reply as JSON on one line, which is the default
    #[arg(long)]
    json: bool,
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
    let text = if options.arguments == "-" {
        read_stdin()?
    } else {
        options.arguments
    };
    let is_here = !options.remote.is_named();
    let request = request(options.tool, &text, options.chat, options.call, is_here)?;
    let Some(server) = options.remote.server()? else {
        let output = options.output;
        return run_here(common, options.host, request, &prepared, output, None).await;
    };
    match call_server(&server, &request).await? {
        Some(outcome) => options.output.print(&outcome, &[]),
        None => Ok(ExitCode::FAILURE),
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

/// Runs a call in this process, prints its reply, and returns the exit code. `failures` receives the cause if the guest failed.
pub(super) async fn run_here(
    common: &Common,
    mut options: host::Options,
    request: Request,
    prepared: &Prepared,
    output: Output,
    failures: Option<UnboundedSender<Cause>>,
) -> anyhow::Result<ExitCode> {
    options.processes.protect_by_default();
    let plan = options.plan(common)?;
    let plugins = options.plugins.chosen(plan.plugins.clone());
    let host = plan.start(plugins, prepared, None, |builder| {
        let builder = builder.for_call(request.chat.clone(), request.tool.clone());
        let builder = match &failures {
            Some(failures) => builder.failures(failures.clone()),
            None => builder,
        };
        match options.plugins.is_alone() {
            true => builder.without_shell().files(FilesGrant::None),
            false => builder,
        }
    });
    let host = host.await?;
    if let Err(error) = options.plugins.require(&host) {
        host.shutdown().await;
        return Err(error);
    }
    let (outcome, ended) = call_in_process(host, request).await?;
    output.print(&outcome, &ended)
}

impl Output {
    /// Prints the reply, and returns the exit code.
    fn print(self, outcome: &Outcome, ended: &[Info]) -> anyhow::Result<ExitCode> {
        // A cancelled call has a reply, but only with partial results.
        let failed = outcome.cancelled || outcome.is_error();
        let reply = reply(outcome, ended)?;
        let failed = failed || reply.get("success") == Some(&json!(false));
        match (&outcome.result, self.text) {
            (Err(error), true) => logging::failure(error),
            (Ok(reply), true) => print_texts(&reply.content)?,
            (_, false) => print(&reply.to_string())?,
        }
        Ok(exit_code(!failed))
    }
}

/// Prints the texts and the JSON of a reply as they are, and a line for every other part.
fn print_texts(parts: &[Content]) -> anyhow::Result<()> {
    for part in parts {
        let text = match part {
            Content::Text { text } => text.trim_end_matches('\n').to_owned(),
            Content::Json { json } => json.get().to_owned(),
            other => {
                let part = serde_json::to_value(other)?;
                let text = |key| part.get(key).and_then(Value::as_str).unwrap_or_default();
                format!(
                    "({} {}, {} bytes)",
                    text("type"),
                    text("media_type"),
                    other.size()
                )
            }
        };
        print(&text)?;
    }
    Ok(())
}

/// Has a server run the call. The first interrupt makes the server cancel the call, and the second one leaves the call to the
/// server. Returns `None` if there is no reply.
async fn call_server(
    server: &remote::Server,
    request: &Request,
) -> anyhow::Result<Option<Arc<Outcome>>> {
    let Request { chat, id, .. } = request;
    let mut call = pin!(server.call(request));
    tokio::select! {
        outcome = &mut call => return outcome.map(|outcome| Some(Arc::new(outcome))),
        () = signals::ended(Hangup::Ends) => {}
    }
    // Listen for the second interrupt before the line below is printed.
    let again = signals::ended(Hangup::Ends);
    stderr::line(format_args!(
        "toolhost: cancelling call {id} of chat {chat}; interrupt again to leave it to the server"
    ));
    let cancelled = async { anyhow::Ok(server.cancel(request).await?.map(Arc::new)) };
    tokio::select! {
        cancelled = cancelled => {
            match &cancelled {
                Ok(Some(outcome)) => stderr::line(format_args!(
                    "toolhost: call {id} is over: {}",
                    json!(outcome.state()).as_str().unwrap_or("ended")
                )),
                Ok(None) => stderr::line(format_args!(
                    "toolhost: call {id} had not begun, and will not run"
                )),
                Err(_) => print_how_to_return(server, request),
            }
            cancelled
        }
        () = again => {
            print_how_to_return(server, request);
            Ok(None)
        }
    }
}

/// Prints command lines that query and cancel a call that may still run on a server.
fn print_how_to_return(server: &remote::Server, request: &Request) {
    let [look, cancel] = server.commands(request);
    stderr::line(format_args!(
        "toolhost: call {} of chat {} may still run on the server\n  look at it: {look}\n  cancel it:  {cancel}",
        request.id, request.chat
    ));
}

/// Runs the call in this process. Returns its outcome, and the processes that had to be ended with it.
async fn call_in_process(
    host: Host,
    request: Request,
) -> anyhow::Result<(Arc<Outcome>, Vec<Info>)> {
    host.leave_loaded();
    let request_tool = request.tool.clone();
    let called = tokio::select! {
        called = host.call(request.clone()) => called,
        () = signals::ended(Hangup::Ends) => {
            // The shutdown cancels the call, which replies with the output so far.
            let ended = end(&host).await;
            return Ok((host.call(request).await?, ended));
        }
    };
    let ended = end(&host).await;
    match called {
        Ok(outcome) => Ok((outcome, ended)),
        Err(error @ CallError::UnknownTool { .. }) => {
            let failed = plugins::failed(&host);
            match failed.is_empty() {
                true => bail!(error),
                // The reason is what to read last: the tools that there are would hide it.
                false => bail!("there is no tool {:?}: {}", request_tool, failed.join("; ")),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// Ends the processes that still run, and prints a line if that takes more than a second. Another signal kills them without the
/// rest of their grace.
async fn end(host: &Host) -> Vec<Info> {
    let mut ending = pin!(host.shutdown());
    let mut again = pin!(signals::ended(Hangup::Ends));
    let mut notice = pin!(tokio::time::sleep(Duration::from_secs(1)));
    let (mut hurried, mut noticed) = (false, false);
    let ended = loop {
        tokio::select! {
            ended = &mut ending => break ended,
            () = &mut again, if !hurried => {
                hurried = true;
                host.kill_now();
            }
            () = &mut notice, if !noticed => {
                noticed = true;
                logging::notice("toolhost: waiting for processes to end", &[]);
            }
        }
    };
    for info in &ended {
        let command = info.command.escape_debug();
        let text = format_args!(
            "toolhost: ended process {} ({command}) with the call; use `toolhost serve` and --server to keep processes",
            info.id
        );
        logging::notice(text, &[("process", &info.id)]);
    }
    ended
}

/// Returns the printed form of an outcome: one part bare, several as `content`, a tool error as `error`.
fn reply(outcome: &Outcome, ended: &[Info]) -> serde_json::Result<Value> {
    let mut reply = match &outcome.result {
        Err(error) => json!({ "error": error }),
        Ok(reply) => match reply.content.as_slice() {
            [Content::Json { json }] => serde_json::from_str(json.get())?,
            parts => json!({ "content": parts }),
        },
    };
    if let Value::Object(fields) = &mut reply
        && !ended.is_empty()
    {
        let ended = ended
            .iter()
            .map(|info| json!({ "id": info.id, "command": info.command }))
            .collect::<Vec<_>>();
        fields.insert("ended_processes".into(), ended.into());
    }
    Ok(reply)
}

pub(super) fn read_stdin() -> anyhow::Result<String> {
    let mut text = String::new();
    let most = MAX_ARGUMENTS as u64 + 1;
    std::io::stdin()
        .lock()
        .take(most)
        .read_to_string(&mut text)
        .context("cannot read the arguments")?;
    Ok(text)
}
