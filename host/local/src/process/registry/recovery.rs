//! The processes of earlier hosts, as the store and the saved outputs know them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::time::Instant;
use toolhost_store::{Process as StoredProcess, Processes};

use super::adoption::{Adopted, Kept, Rest};
use super::stored::{self, End};
use crate::process::running::{Process, Progress};
use crate::process::saved::{ChatOutputs, OutputStore};
use crate::process::{Capture, State};
use toolhost_state::unix_time;

/// The reason that a process is lost which ran when its host ended.
const HOST_STOPPED: &str = "the host stopped while it ran, and ended it";

/// A process of an earlier host.
pub(super) struct Found {
    pub(super) process: Process,
    /// Where the outputs of its chat are.
    pub(super) outputs: Arc<ChatOutputs>,
    /// The parts of a process that goes on, because it was taken over.
    pub(super) rest: Option<Rest>,
}

/// The processes of earlier hosts.
pub(super) struct Recovered {
    /// In the order of their starts.
    pub(super) found: Vec<Found>,
    /// Those that must be stored anew, because they were live.
    pub(super) changed: Vec<StoredProcess>,
}

/// Returns the processes of earlier hosts. Removes outputs that no process names, unless the store may lack some of the processes.
pub(super) async fn recover(
    outputs: &Arc<OutputStore>,
    processes: Processes,
    mut kept: Kept<'_>,
    may_lack_some: bool,
) -> Recovered {
    // A chat that was ended and came back has more than one directory: each output is looked for in its own.
    let mut directories = HashMap::<String, Arc<ChatOutputs>>::new();
    let (mut found, mut changed) = (Vec::new(), Vec::new());
    for one in processes.found {
        let name = one.output.as_ref().map(|output| &output.directory);
        let again = name.and_then(|name| match directories.get(name) {
            Some(outputs) => Some(Arc::clone(outputs)),
            None => outputs.reopen_chat(name).ok().inspect(|outputs| {
                directories.insert(name.clone(), Arc::clone(outputs));
            }),
        });
        let of_chat = again.unwrap_or_else(|| outputs.chat());
        let (process, change, rest) = match kept.take(&one.id) {
            Some(kept) => kept.adopt(one, &of_chat).await,
            None => recover_one(one, &of_chat),
        };
        changed.extend(change);
        found.push(Found {
            process,
            outputs: of_chat,
            rest,
        });
    }
    if processes.damaged > 0 {
        tracing::error!(
            damaged = processes.damaged,
            "records of processes are damaged: their ids are not known any more"
        );
    }
    if may_lack_some {
        tracing::warn!(
            "the store is damaged, or a damaged one was set aside: outputs that no process names are kept until it has been recovered, and the one that was set aside is removed"
        );
        return Recovered { found, changed };
    }
    let kept: HashSet<String> = directories.into_keys().collect();
    if let Err(error) = outputs.remove_unknown(&kept) {
        tracing::warn!(%error, "outputs that no process names could not be removed");
    }
    Recovered { found, changed }
}

/// Returns a process that was not kept. If it was live, it is lost.
fn recover_one(stored: StoredProcess, outputs: &Arc<ChatOutputs>) -> Adopted {
    let (record, output, end) = stored::parts(stored.clone());
    let known = end.as_ref().and_then(End::known);
    let is_expired = output.is_none();
    let saved = output.and_then(|output| {
        outputs
            .reopen(&output.file, known)
            .inspect_err(|error| tracing::warn!(process = record.id, %error, "a saved output cannot be read"))
            .ok()
    });
    let saved = saved.unwrap_or_else(|| {
        let none = outputs.output();
        none.remove();
        none
    });
    let (end, changed) = match end {
        Some(end) if end.over_ms.is_some() && !end.state.is_live() => (end, None),
        live => {
            let end = interrupted(live, saved.written());
            let changed = stored::ended(stored, &end);
            (end, Some(changed))
        }
    };
    let process = Process::recovered(record, saved, progress(end, is_expired));
    (process, changed, None)
}

/// Returns the end of a process that was live when its host stopped: lost, or as its shell ended if the shell had exited. The
/// total is the number of saved bytes, as it is unknown how many more were written.
fn interrupted(end: Option<End>, saved: u64) -> End {
    let now = unix_time::now_ms();
    let (state, exited_ms) = match end {
        Some(End {
            state: State::Lingering(status) | State::Exited(status),
            exited_ms,
            ..
        }) => (State::Exited(status), exited_ms),
        _ => (State::Lost(HOST_STOPPED.into()), now),
    };
    End {
        state,
        exited_ms,
        over_ms: Some(now),
        total: saved,
        saved: None,
    }
}

fn progress(end: End, is_expired: bool) -> Progress {
    let exited = unix_time::from_ms(end.exited_ms);
    let over = end.over_ms.map_or(exited, unix_time::from_ms);
    let age = over.elapsed().unwrap_or_default();
    let now = Instant::now();
    Progress {
        capture: Capture::forgotten(end.total),
        recorded: Some(end.state),
        drained: true,
        output_ended: true,
        ended: Some(exited),
        over: Some((over, now.checked_sub(age).unwrap_or(now))),
        expired: is_expired,
        ..Progress::default()
    }
}
