//! Calls that run in this process.

use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use tokio::sync::mpsc::UnboundedSender;

use super::live::{self, Live};
use super::screen::Streamed;
use super::style::Style;
use crate::cli::{Common, host, plugins};
use toolhost_call::call::{Outcome, Request};
use toolhost_core::{CallError, Host};
use toolhost_plugin::Cause;
use toolhost_service::logging;
use toolhost_service::processes::Prepared;
use toolhost_service::signals::{self, Hangup};
use toolhost_workspace::files::FilesGrant;
use toolhost_workspace::process::Info;

/// Runs a call in this process, prints its reply, and returns the exit code. `failures` receives the cause if the guest failed.
pub(in crate::cli) async fn run(
    common: &Common,
    mut options: host::Options,
    request: Request,
    prepared: &Prepared,
    style: Style,
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
    let live = (style == Style::People).then(|| Live::here(&host, &request));
    let called = call(host, request, live).await?;
    style.print(&called.outcome, &called.ended, called.streamed)
}

/// A call that is over.
struct Called {
    outcome: Arc<Outcome>,
    /// The processes that had to be ended with it.
    ended: Vec<Info>,
    streamed: Streamed,
}

async fn call(host: Host, request: Request, mut live: Option<Live>) -> anyhow::Result<Called> {
    host.leave_loaded();
    let tool = request.tool.clone();
    let called = tokio::select! {
        called = live::during(&mut live, host.call(request.clone())) => called,
        () = signals::ended(Hangup::Ends) => {
            if let Some(live) = &mut live {
                live.say("cancelling the call");
            }
            // The shutdown cancels the call, which replies with the output so far.
            let ended = live::during(&mut live, end(&host)).await;
            let streamed = live::rest(live).await;
            return Ok(Called { outcome: host.call(request).await?, ended, streamed });
        }
    };
    let streamed = match &called {
        Ok(_) => live::rest(live).await,
        Err(_) => Streamed::default(),
    };
    let ended = end(&host).await;
    match called {
        Ok(outcome) => Ok(Called {
            outcome,
            ended,
            streamed,
        }),
        Err(error @ CallError::UnknownTool { .. }) => {
            let failed = plugins::failed(&host);
            match failed.is_empty() {
                true => bail!(error),
                // The reason is what to read last: the tools that there are would hide it.
                false => bail!("there is no tool {tool:?}: {}", failed.join("; ")),
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
                host.hurry();
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
