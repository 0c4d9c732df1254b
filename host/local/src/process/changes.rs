//! News of one process, for those who follow it from a cursor on.

use tokio::sync::watch;

use super::Process;

/// Tells of changes of a process: of its state, and of its output.
#[derive(Debug)]
pub struct Changes {
    state: watch::Receiver<()>,
    output: watch::Receiver<()>,
}

impl Process {
    /// Returns what tells of all changes from now on. Who looks at the process after this misses none.
    pub fn changes(&self) -> Changes {
        Changes {
            state: self.changed.subscribe(),
            output: self.grown.subscribe(),
        }
    }
}

impl Changes {
    /// Waits until something has changed since this last returned; several changes may be one. Cancel safe.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.state.changed() => {}
            _ = self.output.changed() => {}
        }
    }
}
