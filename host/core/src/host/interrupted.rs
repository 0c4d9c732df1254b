//! Outcomes of interrupted calls, which were running when an earlier host stopped.

use std::fmt::Write as _;

use toolhost_call::call::{Interrupted, Ledger, Outcome};
use toolhost_call::tool::{ErrorKind, ToolError};
use toolhost_state::id::CallId;
use toolhost_workspace::Workspace;
use toolhost_workspace::process::{Info, State};

/// How much of the saved output of each process is in the reply, in bytes from its end.
const TAIL: u64 = 4096;

/// How many processes of a call are looked for among those of its chat.
const PROCESSES: usize = 10_000;

/// Gives every interrupted call its reply: its outcome is unknown. The reply lists the processes of the call and the end of
/// their output.
pub(super) async fn settle(
    ledger: &Ledger,
    interrupted: Vec<Interrupted>,
    workspace: &dyn Workspace,
) {
    for call in interrupted {
        let listed = workspace.list(Some(&call.chat), false, PROCESSES).await;
        let (infos, _) = listed.unwrap_or_else(|error| {
            tracing::warn!(chat = %call.chat, call = %call.call, %error, "the processes of an interrupted call are not known");
            (Vec::new(), 0)
        });
        let mut infos: Vec<_> = infos
            .into_iter()
            .filter(|info| is_of(info, &call.call))
            .collect();
        infos.sort_by_key(|info| info.started);
        let mut text = String::from(
            "outcome unknown: the host stopped while this call ran; it was not run again",
        );
        for info in &infos {
            describe(&mut text, &call, info, workspace).await;
        }
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

fn is_of(info: &Info, call: &CallId) -> bool {
    let key = info.key.as_deref();
    key.and_then(CallId::of_start_key).as_ref() == Some(call)
}

/// Adds the command of a process, as lists show it, its state, and the end of its output. A model reads the text.
async fn describe(text: &mut String, call: &Interrupted, info: &Info, workspace: &dyn Workspace) {
    let state = match &info.state {
        State::Running => "still runs".to_owned(),
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
