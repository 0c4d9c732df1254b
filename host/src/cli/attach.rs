//! `toolhost attach`.

mod typing;

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
use typing::{Event, Typing};

/// Command lines to copy.
const EXAMPLES: &str = "\
Examples:
  toolhost attach 7c0e91
  toolhost attach 7c0e91 --detach-wait 0s
  toolhost attach 7c0e91 --input
  echo yes | toolhost attach 7c0e91 --input";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// The id of a process that runs, or the first characters of it
    process: String,
    /// Type into the process, which was started with a terminal or an open input; Ctrl-] detaches
    #[arg(long, short)]
    input: bool,
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
    let mut typing = None;
    if options.input {
        let whole = server.process(&chat, id).await?;
        let whole = Process {
            chat: process.chat.clone(),
            ..whole
        };
        // What the terminal shows now. A program that uses all of it draws it again.
        if let Some(screen) = whole.screen.as_ref().filter(|screen| !screen.full) {
            stderr::line(format_args!("{}", shown(&screen.text)));
        }
        typing = Some(Typing::begin(&server, &whole).await?);
    }
    let is_raw = typing.as_ref().is_some_and(Typing::is_raw);
    // As `docker attach`, this shows what comes.
    let from = server.output(&chat, id, 0, 4).await?.total;
    let mut follower = Follower::new(&server, &process, from).await?;
    let mut writer = Writer::new(id, common.json);
    stderr::line(format_args!(
        "toolhost: attached to process {} ({}); {}",
        shown(table::short_id(id)),
        shown(&process.command),
        if is_raw {
            "Ctrl-] detaches\r"
        } else {
            "Ctrl-C detaches"
        },
    ));
    loop {
        let here = async {
            match &mut typing {
                Some(typing) => typing.next().await,
                None => std::future::pending().await,
            }
        };
        let next = tokio::select! {
            biased;
            () = closed() => return Ok(ExitCode::SUCCESS),
            () = &mut stop => {
                drop(typing);
                // What asks would read from the input of the process.
                let wait = if options.input { Duration::ZERO } else { options.detach_wait };
                return detach(&server, &process, wait).await;
            }
            next = follower.next() => next?,
            event = here => {
                let Some(typing) = &mut typing else {
                    continue;
                };
                if matches!(event, Event::Detach) {
                    typing.leave_raw_mode();
                    stderr::line(format_args!(
                        "\ntoolhost: detached from process {}, which runs on",
                        shown(table::short_id(id))
                    ));
                    return Ok(ExitCode::SUCCESS);
                }
                typing.pass_on(event).await?;
                continue;
            }
        };
        match next {
            Some(piece) if writer.write(&piece)? => {}
            Some(_) => return Ok(ExitCode::SUCCESS),
            None => break,
        }
    }
    drop(typing);
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
