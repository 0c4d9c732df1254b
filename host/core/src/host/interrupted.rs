//! Outcomes of interrupted calls, which were running when an earlier host stopped.

use std::fmt::Write as _;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};
use tokio::time::timeout;

use toolhost_call::call::{HOST_STOPPED, Interrupted, Ledger, Outcome};
use toolhost_call::tool::{ErrorKind, ToolError};
use toolhost_state::id::{CallId, ChatId};
use toolhost_workspace::Workspace;
use toolhost_workspace::process::{Error, Info, State};

use super::workspaces::Workspaces;

/// How much of the saved output of each process is in the reply, in bytes from its end.
const TAIL: u64 = 4096;

/// How many processes of a call are looked for among those of its chat.
const PROCESSES: usize = 10_000;

/// How many interrupted calls are looked at together.
const AT_ONCE: usize = 32;

/// The longest wait for the agent of an interrupted call.
const OF_AGENT: Duration = Duration::from_secs(5);

/// The longest wait for the end of the processes of a cancelled call: its agent, and the grace after SIGTERM.
const OF_END: Duration = Duration::from_secs(12);

/// Gives every interrupted call its reply: its outcome is unknown. The reply lists the processes of the call and the end of
/// their output.
pub(super) async fn settle(
    ledger: &Ledger,
    interrupted: Vec<Interrupted>,
    workspace: &dyn Workspace,
    workspaces: &Workspaces,
) {
    // Agents answer at the same time: the host does not start before all of them did, or had their time.
    let looked = stream::iter(interrupted).map(async |call| {
        let is_elsewhere = workspaces.is_elsewhere(&call.chat);
        let silent = || {
            let again = match call.cancelled {
                true => ": cancel it again to end them",
                false => "",
            };
            let text = format!("{HOST_STOPPED}. Its agent does not answer, so it is not known whether its commands still run{again}");
            (text, Vec::new())
        };
        let ended = match call.cancelled {
            true => end_rest(&call.chat, &call.call, workspace).await,
            false => Ok(()),
        };
        let found = match (is_elsewhere, ended) {
            (true, Err(_)) => silent(),
            (true, Ok(())) => {
                let looked = timeout(OF_AGENT, look(&call, workspace)).await;
                looked.unwrap_or_else(|_| silent())
            }
            (false, _) => look(&call, workspace).await,
        };
        (call, found)
    });
    let mut looked = pin!(looked.buffer_unordered(AT_ONCE));
    while let Some((call, (text, infos))) = looked.next().await {
        tracing::warn!(
            chat = %call.chat,
            call = %call.call,
            tool = call.tool,
            "the call was interrupted by the end of an earlier host; its outcome is unknown"
        );
        let last = infos.iter().filter_map(|info| info.exited).max();
        let ran = last.unwrap_or(call.started).duration_since(call.started);
        let error = ToolError::new(ErrorKind::UnknownOutcome, text);
        let outcome = Outcome {
            processes: infos.into_iter().map(|info| info.id).collect(),
            duration: ran.unwrap_or_default(),
            ..Outcome::new(call.call.clone(), call.tool.as_str(), Err(error))
        };
        ledger.settle(&call, outcome).await;
    }
}

/// Ends the processes that an interrupted call, and the calls that it made, started in the foreground: its host is no longer there to do it.
///
/// # Errors
///
/// If their workspace does not answer. They may run then.
pub(super) async fn end_rest(
    chat: &ChatId,
    call: &CallId,
    workspace: &dyn Workspace,
) -> Result<(), Error> {
    let ending = async {
        let (live, _) = timeout(OF_AGENT, workspace.list(Some(chat), true, PROCESSES))
            .await
            .map_err(|_| Error::Unavailable("its agent does not answer".to_owned()))??;
        let rest = live.iter().filter(|info| {
            let of = call_of(info);
            let outer = of.as_ref().and_then(|of| Some(of.outer()?.0));
            !info.background && (of.as_ref() == Some(call) || outer.as_ref() == Some(call))
        });
        let ends = rest.map(|info| workspace.end(Some(chat), &info.id));
        let ends = join_all(ends).await.into_iter().map(|end| match end {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        });
        ends.collect()
    };
    let ended = timeout(OF_END, ending).await;
    ended.unwrap_or_else(|_| {
        Err(Error::Unavailable(
            "its processes are being ended".to_owned(),
        ))
    })
}

/// Returns the text of the reply, and the processes of the call.
async fn look(call: &Interrupted, workspace: &dyn Workspace) -> (String, Vec<Info>) {
    let mut text = String::from(HOST_STOPPED);
    let listed = workspace.list(Some(&call.chat), false, PROCESSES).await;
    let (mut infos, _) = listed.unwrap_or_else(|error| {
        tracing::warn!(chat = %call.chat, call = %call.call, %error, "the processes of an interrupted call are not known");
        _ = write!(text, ". Its processes are not known: {error}");
        (Vec::new(), 0)
    });
    infos.retain(|info| call_of(info).as_ref() == Some(&call.call));
    infos.sort_by_key(|info| info.started);
    for info in &infos {
        describe(&mut text, call, info, workspace).await;
    }
    (text, infos)
}

/// Returns the call that started a process.
fn call_of(info: &Info) -> Option<CallId> {
    info.key.as_deref().and_then(CallId::of_start_key)
}

/// Adds the command of a process, as lists show it, its state, and the end of its output. A model reads the text.
async fn describe(text: &mut String, call: &Interrupted, info: &Info, workspace: &dyn Workspace) {
    let state = match &info.state {
        State::Running => {
            "ran when the host started again: process_output says how it stands".to_owned()
        }
        State::Lingering(_) => "has exited, and something that it started still runs".to_owned(),
        State::Exited(status) => match (status.code, &status.signal) {
            (Some(code), _) => format!("had exited with code {code}"),
            (None, Some(signal)) => format!("was ended by {signal}"),
            (None, None) => "had exited".to_owned(),
        },
        State::Lost(why) => format!("was lost ({why})"),
    };
    _ = write!(
        text,
        "\n\nProcess {} (`{}`) {state}. It wrote {} bytes",
        info.id, info.command, info.total
    );
    let since = info.total.saturating_sub(TAIL);
    let most = usize::try_from(TAIL).unwrap_or(usize::MAX);
    let read = workspace.read(Some(&call.chat), &info.id, since, most);
    let Ok(chunk) = read.await else {
        return;
    };
    if chunk.data.is_empty() {
        text.push('.');
        return;
    }
    let which = match chunk.offset {
        0 => "They were".to_owned(),
        from => format!("Those from {from} on were"),
    };
    let output = String::from_utf8_lossy(&chunk.data);
    _ = write!(text, ". {which}:\n{output}");
}
