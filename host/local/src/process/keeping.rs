//! The age of an ended process, and the parts that are freed as it grows old.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::Saved;
use super::running::Process;

impl Process {
    /// Records that no process of the command is left. Its age counts from now: survivors can run for days after the shell.
    pub(super) fn note_over(&self) {
        let now = (SystemTime::now(), Instant::now());
        self.sandbox.lock().take();
        self.update(|progress| progress.over = Some(now));
    }

    /// Returns since when no process of the command is left.
    pub(super) fn over_since(&self) -> Option<Instant> {
        self.progress().over.map(|(_, at)| at)
    }

    /// Returns whether no process of the command is left for longer than this.
    pub(super) fn over_for(&self, age: Duration) -> bool {
        self.over_since().is_some_and(|at| at.elapsed() > age)
    }

    /// Returns whether a caller waits for it at this moment.
    pub(super) fn is_followed(&self) -> bool {
        self.grown.receiver_count() > 0
    }

    /// Frees the memory of the output if the process is over for longer than this and all output is on disk. Otherwise the end
    /// of the output, the part that matters most, may be nowhere else.
    pub(super) fn free_after(&self, age: Duration) {
        let complete = self.saved.status() == Saved::Complete;
        let written = self.saved.written();
        let over = self.over_for(age);
        let mut progress = self.progress();
        if complete && over && progress.capture.total() == written {
            progress.capture.clear();
        }
    }

    /// Returns how many bytes of its output are in memory.
    pub(super) fn retained(&self) -> usize {
        self.progress().capture.retained()
    }

    /// Records that its output is no longer kept, and frees its memory. Returns whether the output was kept until now.
    pub(super) fn expire(&self) -> bool {
        let mut progress = self.progress();
        progress.capture.clear();
        !std::mem::replace(&mut progress.expired, true)
    }
}
