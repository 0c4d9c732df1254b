//! The processes of earlier hosts, as the journal and the saved outputs know them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use tokio::time::Instant;

use crate::process::journal::{End, Ended, Entry, Exited, Journal, Lost, Recovered, Saving};
use crate::process::record::Record;
use crate::process::running::{Process, Progress};
use crate::process::saved::{ChatOutputs, Known, Store};
use crate::process::{Capture, State};

/// The reason that a process is lost which ran when its host ended.
const HOST_STOPPED: &str = "the host stopped while it ran, and ended it";

/// A process of an earlier host, and where the outputs of its chat are.
pub(super) type Found = (Process, Arc<ChatOutputs>);

/// Returns the processes of earlier hosts, and removes outputs that no journal entry names.
pub(super) fn recover(store: &Arc<Store>, journal: &Journal, known: Vec<Recovered>) -> Vec<Found> {
    // A chat that was ended and came back has more than one directory: each output is looked for in its own.
    let mut directories = HashMap::<String, Arc<ChatOutputs>>::new();
    let mut found = Vec::new();
    for one in known {
        let name = one.started.output.as_ref().map(|output| &output.directory);
        let again = name.and_then(|name| match directories.get(name) {
            Some(outputs) => Some(Arc::clone(outputs)),
            None => store.reopen_chat(name).ok().inspect(|outputs| {
                directories.insert(name.clone(), Arc::clone(outputs));
            }),
        });
        let outputs = again.unwrap_or_else(|| store.chat());
        found.push((recover_one(one, &outputs, journal), outputs));
    }
    // If the journal lost lines, keep the outputs that it no longer names: they may still be useful.
    if journal.was_intact() {
        let kept: HashSet<String> = directories.into_keys().collect();
        if let Err(error) = store.remove_unknown(&kept) {
            tracing::warn!(%error, "outputs that no journal entry names could not be removed");
        }
    }
    found
}

fn recover_one(recovered: Recovered, outputs: &Arc<ChatOutputs>, journal: &Journal) -> Process {
    let Recovered {
        started,
        exited,
        end,
        gone,
    } = recovered;
    let output = started.output.as_ref().filter(|_| !gone);
    let known = end.as_ref().and_then(known);
    let saved = output.and_then(|output| {
        outputs
            .reopen(&output.file, known)
            .inspect_err(|error| tracing::warn!(process = started.id, %error, "a saved output cannot be read"))
            .ok()
    });
    let saved = saved.unwrap_or_else(|| {
        let none = outputs.output();
        none.remove();
        none
    });
    let end = end.unwrap_or_else(|| {
        let end = interrupted(&started.id, exited, saved.written());
        journal.append(&match end.clone() {
            End::Exited(ended) => Entry::Ended(ended),
            End::Lost(lost) => Entry::Lost(lost),
        });
        end
    });
    let record = Record {
        id: started.id,
        chat: started.chat,
        command: started.command,
        workdir: started.workdir,
        background: started.background,
        started: started.started,
        key: started.key,
    };
    Process::recovered(record, saved, progress(end, gone))
}

/// Returns the end of a process that was live when its host stopped: lost, or as its shell ended if the shell had exited. The
/// total is the number of saved bytes, as it is unknown how many more were written.
fn interrupted(id: &str, exited: Option<Exited>, saved: u64) -> End {
    let now = SystemTime::now();
    match exited {
        Some(Exited { id, status, exited }) => End::Exited(Ended {
            id,
            status,
            exited,
            over: now,
            total: saved,
            saved_bytes: saved,
            saving: None,
        }),
        None => End::Lost(Lost {
            id: id.to_owned(),
            why: HOST_STOPPED.into(),
            when: now,
            total: saved,
            saved_bytes: saved,
            saving: None,
        }),
    }
}

/// Returns the facts about the output of a process; `None` if no host saw its end.
fn known(end: &End) -> Option<Known> {
    let (total, saved, saving) = match end {
        End::Exited(ended) => (ended.total, ended.saved_bytes, ended.saving.as_ref()?),
        End::Lost(lost) => (lost.total, lost.saved_bytes, lost.saving.as_ref()?),
    };
    let failure = match saving {
        Saving::Failed(why) => Some(why.clone()),
        Saving::Complete | Saving::Partial => None,
    };
    Some(Known {
        total,
        saved,
        failure,
    })
}

fn progress(end: End, gone: bool) -> Progress {
    let (state, total, exited, over) = match end {
        End::Exited(ended) => (
            State::Exited(ended.status),
            ended.total,
            ended.exited,
            ended.over,
        ),
        End::Lost(lost) => (State::Lost(lost.why), lost.total, lost.when, lost.when),
    };
    // The entries of older hosts do not say when the process was over.
    let over = over.max(exited);
    let age = over.elapsed().unwrap_or_default();
    let now = Instant::now();
    Progress {
        capture: Capture::forgotten(total),
        recorded: Some(state),
        drained: true,
        output_ended: true,
        ended: Some(exited),
        over: Some((over, now.checked_sub(age).unwrap_or(now))),
        expired: gone,
        ..Progress::default()
    }
}
