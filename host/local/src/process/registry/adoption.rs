//! Taking over the processes that an earlier host kept.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::join_all;
use tokio::time::Instant;
use toolhost_store::Process as StoredProcess;

use super::stored::{self, End};
use crate::process::contain::{
    Directories, Ended, Found, InputEnd, Output, Place, Spool, Taken, Watch,
};
use crate::process::counts::Counts;
use crate::process::drawing::Turns;
use crate::process::record::Record;
use crate::process::running::{Process, Progress};
use crate::process::saved::{ChatOutputs, SavedOutput};
use crate::process::subscribers::Subscribers;
use crate::process::{Capture, Spawner, State, WINDOW};
use toolhost_state::unix_time;

/// How much of a spool is saved at once, in bytes.
const PIECE: usize = 256 << 10;

/// A process that was taken over or has ended, its change in the store, and the rest of it if it goes on.
pub(super) type Adopted = (Process, Option<StoredProcess>, Option<Rest>);

/// The parts of a process that was taken over, from which its life goes on.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) watch: Watch,
    pub(super) output: Output,
    /// Its directories. They are in use for as long as this is there.
    pub(super) directories: Arc<Directories>,
}

/// The parts of a registry that its processes share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) spawner: Option<Spawner>,
    pub(super) counts: Arc<Counts>,
    pub(super) subscribers: Subscribers,
    pub(super) drawing: Turns,
}

/// The kept processes that were found.
pub(super) struct Kept<'a> {
    place: Option<&'a Place>,
    shared: &'a Shared,
    found: HashMap<String, Found>,
}

/// One of these.
pub(super) struct KeptOne<'a> {
    kept: &'a Kept<'a>,
    found: Result<Box<Taken>, Ended>,
}

impl<'a> Kept<'a> {
    /// Takes over those of these processes that are not known to have ended. Ends the commands that no process names, and removes the
    /// files of all that no supervisor holds any more.
    pub(super) async fn find(
        place: Option<&'a Place>,
        shared: &'a Shared,
        processes: &[StoredProcess],
    ) -> io::Result<Self> {
        let mut kept = Self {
            place,
            shared,
            found: HashMap::new(),
        };
        let Some(place) = place else {
            return Ok(kept);
        };
        let live = |id: &String| {
            let known = processes.iter().find(|process| process.id == *id);
            known.map(|process| {
                stored::parts(process.clone())
                    .2
                    .is_none_or(|end| end.over_ms.is_none())
            })
        };
        let finding = place.ids()?.into_iter().map(async |id| {
            let found = match live(&id) {
                Some(true) => place.take_over(&id, shared.spawner.as_ref()).await,
                Some(false) => Found::Nothing,
                None => {
                    place.end_unknown(&id).await;
                    Found::Nothing
                }
            };
            if matches!(found, Found::Nothing) {
                place.remove(&id);
            }
            (id, found)
        });
        kept.found.extend(join_all(finding).await);
        Ok(kept)
    }

    /// Takes one of these processes, if it is among them.
    pub(super) fn take(&mut self, id: &str) -> Option<KeptOne<'_>> {
        let found = match self.found.remove(id)? {
            Found::Taken(taken) => Ok(taken),
            Found::Ended(ended) => Err(ended),
            Found::Nothing => return None,
        };
        Some(KeptOne { kept: self, found })
    }
}

impl KeptOne<'_> {
    /// Makes the process. Saves the output that no host has saved.
    pub(super) async fn adopt(self, stored: StoredProcess, outputs: &Arc<ChatOutputs>) -> Adopted {
        let (record, output, end) = stored::parts(stored);
        let spool = match &self.found {
            Ok(taken) => &*taken.spool,
            Err(ended) => &ended.spool,
        };
        let saved = output.and_then(|output| {
            let saved = outputs.resume(&output.file);
            saved
                .inspect_err(|error| tracing::warn!(process = record.id, %error, "a saved output cannot go on"))
                .ok()
        });
        let saved = saved.unwrap_or_else(|| {
            let none = outputs.output();
            none.remove();
            none
        });
        let capture = restore(&saved, spool).await.unwrap_or_else(|error| {
            tracing::error!(process = record.id, %error, "the output of a kept process cannot be read");
            saved.stop();
            Capture::restored(&[], &[], spool.length().unwrap_or_default())
        });
        let progress = Progress {
            last_output: (capture.total() > 0).then(SystemTime::now),
            capture,
            ..resumed(end)
        };
        match self.found {
            Ok(taken) => {
                let Taken {
                    contained,
                    watch,
                    output,
                    input,
                    layers,
                    ..
                } = *taken;
                let written = [progress.capture.head(), progress.capture.tail()].concat();
                let place = self.kept.place;
                let directories = place.and_then(|place| place.directories(&record.id).ok());
                let directories = Directories {
                    namespaces: layers.map(Arc::new),
                    ..directories.unwrap_or_default()
                };
                tracing::info!(process = record.id, command = ?record.command, "took a process over");
                let shared = self.kept.shared.clone();
                let shared = (shared.counts, shared.subscribers);
                let mut process = Process::adopted(record, contained, saved, progress, shared);
                let size = input.as_ref().and_then(InputEnd::size);
                process.open_input(input, size, &self.kept.shared.drawing);
                // What is not kept is not drawn. A program that draws all of the screen does so again when its size changes.
                if let Some(drawing) = &process.drawing {
                    drawing.add(&written);
                }
                let rest = Rest {
                    watch,
                    output,
                    directories: Arc::new(directories),
                };
                (process, None, Some(rest))
            }
            Err(found) => {
                saved.close();
                saved.settled_soon(u64::MAX).await;
                let process = ended(record, saved, progress, &found);
                let changed = stored::current(&process);
                (process, Some(changed), None)
            }
        }
    }
}

/// Saves the output that is in the spool only, and returns the output as memory keeps it.
async fn restore(saved: &Arc<SavedOutput>, spool: &Spool) -> io::Result<Capture> {
    let total = spool.length()?;
    if !spool.lacks_nothing()? {
        saved.stop();
        return Ok(Capture::restored(&[], &[], total));
    }
    let mut at = saved.accepted();
    let whole = spool.whole_until(at)?.min(total);
    while at < whole && saved.takes_more() {
        let left = usize::try_from(whole - at).unwrap_or(PIECE);
        let bytes = spool.read(at, left.min(PIECE))?;
        at += bytes.len() as u64;
        saved.append(bytes.into()).await;
    }
    if whole < total {
        saved.stop();
    }
    let head = spool.read(0, WINDOW)?;
    let rest = total.saturating_sub(WINDOW as u64).max(head.len() as u64);
    let tail = spool.read(rest, WINDOW)?;
    Ok(Capture::restored(&head, &tail, total))
}

/// Returns how far a process had come when its host ended.
fn resumed(end: Option<End>) -> Progress {
    match end {
        Some(End {
            state: State::Lingering(status) | State::Exited(status),
            exited_ms,
            ..
        }) => Progress {
            exit: Some(status),
            ended: Some(unix_time::from_ms(exited_ms)),
            drained: true,
            lingering: true,
            ..Progress::default()
        },
        _ => Progress::default(),
    }
}

/// Makes a process that ended while no host was there.
fn ended(
    record: Record,
    saved: Arc<SavedOutput>,
    mut progress: Progress,
    Ended { end, why, .. }: &Ended,
) -> Process {
    // The supervisor writes when something has ended. Of a lost process, only now is known that it has.
    let is_told = end.exit.is_some() || end.gone;
    let at = if is_told { end.at } else { SystemTime::now() };
    if progress.exit.is_none() {
        match end.exit {
            Some(exit) => progress.exited(exit, false),
            None => progress.lose(why),
        }
        progress.ended = Some(at);
    }
    progress.drained = true;
    progress.lingering = false;
    progress.output_ended = true;
    let age = at.elapsed().unwrap_or_default();
    let now = Instant::now();
    progress.over = Some((at, now.checked_sub(age).unwrap_or(now)));
    Process::recovered(record, saved, progress)
}
