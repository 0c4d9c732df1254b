//! Waiting for a process: for its end, for output, or for output that matches.

use std::pin::pin;
use std::time::Duration;

use tokio::time::Instant;

use super::running::{Process, Progress};
use super::search::{Search, expression};
use super::{Error, WaitOptions, Waited, Wake};

/// The longest time of one look. After it, the wait may be over; otherwise the search continues where it stopped.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// The pause between two searches, in which output gathers.
const BETWEEN_SEARCHES: Duration = Duration::from_millis(20);

impl Process {
    /// Waits until the shell has exited and its output was drained, or for a condition of the options.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if [`WaitOptions::until`] is no valid expression, or too large a one.
    pub async fn wait(&self, options: &WaitOptions) -> Result<Waited, Error> {
        let until = options.until.as_deref().map(expression).transpose()?;
        let mut search = until.map(|until| Search::new(until, options.since));
        let wants_output = options.output || search.is_some();
        // Subscribed before the first look, so that no change between look and wait is missed.
        let (mut changed, mut grown) = (self.changed.subscribe(), self.grown.subscribe());
        let mut timeout = pin!(tokio::time::sleep(options.timeout));
        loop {
            changed.mark_unchanged();
            grown.mark_unchanged();
            let is_over = Instant::now() >= timeout.deadline();
            // Even the shortest wait searches the whole output, which may have to come from the disk.
            let look = self.look(options, search.as_mut());
            match tokio::time::timeout(LOOK_MAX, look).await {
                Ok(Some(waited)) => return Ok(waited),
                _ if is_over => return Ok(self.progress().waited(Wake::TimedOut, None)),
                Ok(None) => {}
                // There is more to search.
                Err(_) => continue,
            }
            let output = async {
                _ = grown.changed().await;
                if options.until.is_some() {
                    // One search covers all output that is written meanwhile.
                    tokio::time::sleep(BETWEEN_SEARCHES).await;
                }
            };
            tokio::select! {
                _ = changed.changed() => {}
                () = output, if wants_output => {}
                // The next look is the last one.
                () = &mut timeout => {}
            }
        }
    }

    /// Waits until no process of the command is left, and its output was drained.
    pub(super) async fn until_over(&self) {
        let mut changed = self.changed.subscribe();
        // The sender is a part of the process: it cannot have gone.
        while self.state().is_live() && changed.changed().await.is_ok() {}
    }

    /// Returns why a wait is over, if it is.
    async fn look(&self, options: &WaitOptions, search: Option<&mut Search>) -> Option<Waited> {
        // Checked before the search, so that the search sees all output of a process that has ended.
        let ended = {
            let progress = self.progress();
            // A wait for output includes the output of survivors.
            let more = progress.state().is_live() && !progress.output_ended;
            progress.drained && !(more && (options.output || search.is_some()))
        };
        if let Some(search) = search
            && let Some(found) = search.go_on(self).await
        {
            return Some(self.progress().waited(Wake::Matched, Some(found)));
        }
        let progress = self.progress();
        if ended {
            return Some(progress.waited(Wake::Ended, None));
        }
        if options.output && progress.capture.total() > options.since {
            return Some(progress.waited(Wake::Output, None));
        }
        None
    }
}

impl Progress {
    fn waited(&self, wake: Wake, match_end: Option<u64>) -> Waited {
        Waited {
            wake,
            state: self.state(),
            total: self.capture.total(),
            match_end,
        }
    }
}
