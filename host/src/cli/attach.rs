//! `toolhost attach`.

use std::io::IsTerminal as _;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::output::{Writer, closed};
use super::remote::{self, Follower, Process, Server};
use super::{Common, exit_code, question, table};
use toolhost_plugin::shown;
use toolhost_service::signals::{self, Hangup};
use toolhost_service::stderr;
use toolhost_state::id::ChatId;

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost attach 7c0e91
  toolhost attach 7c0e91 --detach-wait 0s";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The id of a process that runs, or the first characters of it
    process: String,
    /// How long a second Ctrl-C is waited for after the first
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = toolhost_service::time::time)]
    detach_wait: Duration,
    /// The chat of the process; a token with a list of tools must name it
    #[arg(long, value_name = "ID", value_parser = str::parse::<ChatId>)]
    chat: Option<ChatId>,
    #[command(flatten)]
    remote: remote::Remote,
}

pub(super) async fn run(common: &Common, options: Options) -> anyhow::Result<ExitCode> {
    // From here on, Ctrl-C detaches.
    let mut stop = pin!(signals::ended(Hangup::Ends));
    let server = options.remote.required(common)?;
    let found = server.find_process(&options.process, options.chat.as_ref());
    let process = found.await?.process;
    let (chat, id) = (process.chat()?, &process.id);
    anyhow::ensure!(
        process.is_live(),
        "the process {id} has ended: `toolhost logs {}` prints its output",
        table::short_id(id)
    );
    // As `docker attach`, this shows what comes.
    let from = server.output(&chat, id, 0, 4).await?.total;
    let mut follower = Follower::new(&server, &process, from).await?;
    let mut writer = Writer::new(id, common.json);
    stderr::line(format_args!(
        "toolhost: attached to process {} ({}); Ctrl-C detaches",
        shown(table::short_id(id)),
        shown(&process.command)
    ));
    loop {
        let next = tokio::select! {
            biased;
            () = closed() => return Ok(ExitCode::SUCCESS),
            () = &mut stop => return detach(&server, &process, options.detach_wait).await,
            next = follower.next() => next?,
        };
        match next {
            Some(piece) if writer.write(&piece)? => {}
            Some(_) => return Ok(ExitCode::SUCCESS),
            None => break,
        }
    }
    let process = follower.process().await?;
    let status = super::ps::status(&process);
    stderr::line(format_args!("toolhost: the process is over: {status}"));
    Ok(exit_code(!process.has_failed()))
}

/// Says that the process runs on. A second Ctrl-C asks whether to end it.
async fn detach(server: &Server, process: &Process, wait: Duration) -> anyhow::Result<ExitCode> {
    let id = shown(table::short_id(&process.id));
    // Before the line below is printed, so that a Ctrl-C after it is the second.
    let again = signals::ended(Hangup::Ends);
    let can_ask = std::io::stdin().is_terminal() && !wait.is_zero();
    let hint = if can_ask {
        "; Ctrl-C again asks whether to end it"
    } else {
        ""
    };
    stderr::line(format_args!(
        "\ntoolhost: detached from process {id}, which runs on{hint}"
    ));
    if !can_ask || tokio::time::timeout(wait, again).await.is_err() {
        return Ok(ExitCode::SUCCESS);
    }
    let question = format!("end process {id} ({})?", shown(&process.command));
    if !question::ask(&question).await? {
        return Ok(ExitCode::SUCCESS);
    }
    let chat = process.chat()?;
    server.signal(&chat, &process.id, "terminate", None).await?;
    stderr::line(format_args!(
        "toolhost: process {id} was told to end; it is killed after 5s if it does not"
    ));
    Ok(ExitCode::SUCCESS)
}
