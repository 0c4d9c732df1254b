//! Calls that a running server runs.

use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;

use super::live::{self, Live};
use super::screen::Streamed;
use super::style::Style;
use crate::cli::{cancel, remote};
use toolhost_call::call::{Outcome, Request};
use toolhost_service::signals::{self, Hangup};
use toolhost_service::stderr;

/// Has a server run the call, prints its reply, and returns the exit code.
pub(super) async fn run(
    server: &remote::Server,
    request: &Request,
    style: Style,
) -> anyhow::Result<ExitCode> {
    let live = match style {
        Style::People => Live::on_server(server, request).await,
        Style::Json | Style::Text => None,
    };
    match call(server, request, live).await? {
        Some((outcome, streamed)) => style.print(&outcome, &[], streamed),
        None => Ok(ExitCode::FAILURE),
    }
}

/// Has a server run the call. The first interrupt makes the server cancel the call, and the second one leaves the call to the
/// server. Returns `None` if there is no reply.
async fn call(
    server: &remote::Server,
    request: &Request,
    mut live: Option<Live>,
) -> anyhow::Result<Option<(Arc<Outcome>, Streamed)>> {
    let Request { chat, id, .. } = request;
    let mut call = pin!(server.call(request));
    tokio::select! {
        outcome = live::during(&mut live, &mut call) => {
            let outcome = Arc::new(outcome?);
            return Ok(Some((outcome, live::rest(live).await)));
        }
        () = signals::ended(Hangup::Ends) => {}
    }
    if let Some(live) = &mut live {
        live.clear();
    }
    // Listen for the second interrupt before the line below is printed.
    let again = signals::ended(Hangup::Ends);
    stderr::line(format_args!(
        "toolhost: cancelling call {id} of chat {chat}; interrupt again to leave it to the server"
    ));
    let cancelled = tokio::select! {
        cancelled = live::during(&mut live, cancel::cancel(server, chat, id)) => cancelled,
        () = again => {
            print_how_to_return(server, request);
            return Ok(None);
        }
    };
    let streamed = live::rest(live).await;
    let cancelled = cancelled.inspect_err(|_| print_how_to_return(server, request))?;
    cancelled.say(id);
    Ok(cancelled
        .outcome
        .map(|outcome| (Arc::new(outcome), streamed)))
}

/// Prints command lines that query and cancel a call that may still run on a server.
fn print_how_to_return(server: &remote::Server, request: &Request) {
    let [look, cancel] = server.commands(request);
    stderr::line(format_args!(
        "toolhost: call {} of chat {} may still run on the server\n  look at it: {look}\n  cancel it:  {cancel}",
        request.id, request.chat
    ));
}
