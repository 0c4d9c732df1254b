//! The evidence that a running guest leaves: its last lines of standard error, the settings that it missed, and where it was.

use std::sync::Arc;

use parking_lot::Mutex;
use wasmtime::WasmBacktrace;

use super::{Cause, backtrace};
use crate::line_log::LineLog;
use crate::text::shown_up_to;

/// How many names of settings are kept, and how many bytes of each.
const MOST_SETTINGS: usize = 8;
const MAX_SETTING: usize = 100;

/// The evidence of one guest. Clones share it, and outlive the guest's store.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    log: LineLog,
    found: Arc<Mutex<Found>>,
}

#[derive(Debug, Default)]
struct Found {
    missing_settings: Vec<String>,
    backtrace: Vec<String>,
}

impl Evidence {
    /// Makes the evidence of a guest that writes to this log.
    pub(crate) fn new(log: &LineLog) -> Self {
        Self {
            log: log.clone(),
            found: Arc::default(),
        }
    }

    /// Notes that the guest asked for a setting which the operator did not give.
    pub(crate) fn setting_is_missing(&self, name: &str) {
        let name = shown_up_to(name, MAX_SETTING);
        let missing = &mut self.found.lock().missing_settings;
        if missing.len() < MOST_SETTINGS && !missing.contains(&name) {
            missing.push(name);
        }
    }

    /// Notes where the guest was when this error ended it.
    pub(crate) fn ended_with(&self, error: &wasmtime::Error) {
        if let Some(trace) = error.downcast_ref::<WasmBacktrace>() {
            self.found.lock().backtrace = backtrace::frames(trace);
        }
    }

    /// Writes the one record of the failure that this evidence is of.
    pub(crate) fn record(&self, cause: &Cause) {
        let backtrace = (!cause.backtrace.is_empty()).then(|| cause.backtrace.join(" < "));
        let stderr = cause.more();
        self.log
            .failure(&cause.text, stderr.as_deref(), backtrace.as_deref());
    }

    /// Takes the lines of standard error that the log holds back, so that the log does not write them.
    pub(super) fn take_stderr(&self) -> Vec<String> {
        self.log.take_held()
    }

    pub(super) fn missing_settings(&self) -> Vec<String> {
        self.found.lock().missing_settings.clone()
    }

    pub(super) fn backtrace(&self) -> Vec<String> {
        self.found.lock().backtrace.clone()
    }
}
