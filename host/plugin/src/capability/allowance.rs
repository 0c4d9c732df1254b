//! The limits of one call on process starts and handed-over bytes, over all capabilities.

use toolhost_call::audit::Trail;
use toolhost_call::metrics::LimitKind;

/// How many processes a call may start, and how many bytes it may hand over for files and processes.
#[derive(Debug)]
pub(crate) struct Allowance {
    starts: u32,
    started: u32,
    data: usize,
    handed: usize,
}

impl Allowance {
    pub(crate) fn new(starts: u32, data: usize) -> Self {
        Self {
            starts,
            started: 0,
            data,
            handed: 0,
        }
    }

    /// Takes the start of one process.
    ///
    /// # Errors
    ///
    /// The text for the guest, if it may start no more.
    pub(super) fn start(&mut self, trail: &Trail) -> Result<(), String> {
        if self.started >= self.starts {
            let limit = LimitKind::ProcessStarts;
            trail.limit(limit);
            return Err(limit.reached(self.starts.into()));
        }
        self.started += 1;
        Ok(())
    }

    /// Takes so many bytes.
    ///
    /// # Errors
    ///
    /// The text for the guest, if there is no room for them.
    pub(super) fn hand(&mut self, bytes: usize, trail: &Trail) -> Result<(), String> {
        let handed = self.handed.saturating_add(bytes);
        if handed > self.data {
            let limit = LimitKind::HostData;
            trail.limit(limit);
            return Err(limit.reached(self.data as u64));
        }
        self.handed = handed;
        Ok(())
    }
}
