//! What an ended process is kept by: when it was over, and what is taken from it as it ages.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::Saved;
use super::running::Process;

impl Process {
    /// Notes that nothing of it is left, which is what it ages from. What outlived its shell can have taken days.
    pub(super) fn note_over(&self) {
        let now = (SystemTime::now(), Instant::now());
        self.update(|progress| progress.over = Some(now));
    }

    /// Returns since when nothing of it is left.
    pub(super) fn over_since(&self) -> Option<Instant> {
        self.progress().over.map(|(_, at)| at)
    }

    /// Returns whether nothing of it is left for longer than this.
    pub(super) fn over_for(&self, age: Duration) -> bool {
        self.over_since().is_some_and(|at| at.elapsed() > age)
    }

    /// Returns whether somebody waits for it or follows its output at this moment.
    pub(super) fn is_followed(&self) -> bool {
        self.grown.receiver_count() > 0
    }

    /// Frees the memory of the output of one that is over for longer than this, if everything was saved, and is on the disk:
    /// the end of an output, which is what matters most, may be nowhere else.
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

    /// Says that its output is no longer kept, and frees its memory. Returns whether it was kept until now.
    pub(super) fn expire(&self) -> bool {
        let mut progress = self.progress();
        progress.capture.clear();
        !std::mem::replace(&mut progress.expired, true)
    }
}
