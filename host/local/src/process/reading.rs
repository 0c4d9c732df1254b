//! Reading the output of a process: its two ends at once, or any part by its cursor, from memory or the saved output.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::running::Process;
use super::{Chunk, Snapshot, State, WINDOW};

/// How long a snapshot waits for the last output of a command of which no process is left.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

impl Process {
    /// Returns the state and the bounded output of this moment. If the memory of the output was freed, it comes from the saved
    /// output.
    pub async fn snapshot(&self) -> Snapshot {
        // Subscribed before the first look, so that no change between look and wait is missed.
        let mut changed = self.changed.subscribe();
        let deadline = Instant::now() + LAST_OUTPUT;
        loop {
            changed.mark_unchanged();
            let is_over = Instant::now() >= deadline;
            match self.look_now(is_over).await {
                Some(snapshot) => return snapshot,
                None => _ = timeout_at(deadline, changed.changed()).await,
            }
        }
    }

    /// Returns the snapshot of this moment; `None` if the last survivor has just ended, and the rest of its output comes in a moment,
    /// unless that is waited for no longer.
    async fn look_now(&self, is_over: bool) -> Option<Snapshot> {
        let (state, output_ended, total, head, tail, freed, denials) = {
            let progress = self.progress();
            let capture = &progress.capture;
            let freed = capture.retained() == 0 && capture.total() > 0;
            (
                progress.state(),
                progress.output_ended,
                capture.total(),
                capture.head(),
                capture.tail(),
                freed,
                progress.denials.clone(),
            )
        };
        let (head, tail) = if freed {
            self.saved_windows(total).await
        } else {
            (head, tail)
        };
        if !state.is_live() {
            // Bytes that are on their way to the disk may still fail to be written.
            self.saved.settled_soon(u64::MAX).await;
        }
        let survivors = match state {
            State::Lingering(_) => self.contained.survivors(),
            _ => None,
        };
        let state = match state {
            // The last one has just ended, and its end is not noted yet.
            State::Lingering(exit) if survivors.as_deref() == Some(&[]) => {
                if !output_ended && !is_over {
                    return None;
                }
                State::Exited(exit)
            }
            state => state,
        };
        let survivors = survivors.unwrap_or_default();
        let screen = match &self.drawing {
            Some(drawing) => Some(drawing.shown().await),
            None => None,
        };
        Some(Snapshot {
            state,
            total,
            head,
            tail,
            survivors,
            saved: self.saved.status(),
            denials,
            takes_input: self.takes_input(),
            screen,
        })
    }

    async fn saved_windows(&self, total: u64) -> (Vec<u8>, Vec<u8>) {
        let head = self.read_saved(0, WINDOW).await;
        let rest = total.saturating_sub(head.len() as u64);
        let window = WINDOW as u64;
        let tail = if self.saved.written() < total || rest == 0 {
            Vec::new()
        } else {
            self.read_saved(total - rest.min(window), WINDOW).await
        };
        (head, tail)
    }

    /// Returns at most `max` bytes of output from the cursor `since` on, from memory or else from the saved output. They are
    /// fewer only at the end of the output, or before bytes that neither has.
    ///
    /// A cursor that neither has is moved to the next byte that there is: exactly the bytes between are gone.
    pub async fn read(&self, since: u64, max: usize) -> Chunk {
        let mut read = Chunk {
            offset: since,
            data: Vec::new(),
            total: 0,
            end: false,
        };
        loop {
            let cursor = read.offset + read.data.len() as u64;
            let room = max - read.data.len();
            let (next, ended) = {
                let progress = self.progress();
                (progress.capture.read(cursor, room), progress.output_ended)
            };
            read.total = next.total;
            let data = if next.offset > cursor {
                let gap = usize::try_from(next.offset - cursor).unwrap_or(usize::MAX);
                let saved = self.read_saved(cursor, room.min(gap)).await;
                if saved.is_empty() && read.data.is_empty() {
                    read.offset = next.offset;
                    next.data
                } else {
                    saved
                }
            } else {
                if read.data.is_empty() {
                    // A cursor past the end becomes the end.
                    read.offset = next.offset;
                }
                next.data
            };
            let nothing = data.is_empty();
            read.data.extend(data);
            let at_end = read.offset + read.data.len() as u64 == read.total;
            read.end = at_end && ended;
            // A page does not end where memory and the saved output meet: that can be within a character.
            if at_end || nothing || read.data.len() >= max {
                return read;
            }
        }
    }

    async fn read_saved(&self, offset: u64, max: usize) -> Vec<u8> {
        // Bytes on their way to the disk arrive in a moment, unless the disk hangs.
        self.saved
            .settled_soon(offset.saturating_add(max as u64))
            .await;
        let read = self.saved.read(offset, max).await;
        read.unwrap_or_else(|error| {
            tracing::warn!(process = self.id(), %error, "failed to read a saved output");
            Vec::new()
        })
    }
}
