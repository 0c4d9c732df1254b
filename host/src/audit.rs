//! The audit trail: which plugins were loaded, who called what, and what was touched on the way. For the operator.
//!
//! It says that something happened, never what it contained: commands, contents and arguments are BLAKE3 digests, of a URL there
//! is the authority. Nobody waits for its disk. A digest tells whoever guesses a content that the guess was right, so the
//! file is private (mode 0600).
//!
//! Each line is one JSON object with `time` (RFC 3339, UTC, milliseconds) and `event`. A line that a crash or a full disk cut
//! short is no JSON; the next event has a line of its own. Texts are at most 4 KiB.
//!
//! | event | fields |
//! |---|---|
//! | `start`, `stop` | `version`, `pid` of the host |
//! | `lost` | `count` of events that could not be recorded before this line |
//! | `plugin` | `plugin` (its name), `sha256`, `size`, `imports`, `grants`, `limits` (those that are not the defaults), names of `settings` and `secrets` |
//! | `plugin_failed` | `plugin`, `error` |
//! | `plugin_removed`, `plugin_enabled`, `plugin_disabled` | `plugin` |
//! | `plugin_quarantined` | `plugin`, `seconds` |
//! | `call_started` | `chat`, `call`, `plugin`, `tool`, `arguments` (digest of their canonical form), `arguments_size`, `trace` (the id of the trace that the caller named, or that of the exported span; missing if there is none) |
//! | `call` | `chat`, `call`, `plugin`, `tool`, `outcome` (`ok`, `error`, a kind of tool error, or `dropped`), `duration_ms`, `guest_time_ms`, `memory` (the most bytes), `processes` (ids of those that it started), `left_out` (uses that have no line of their own) |
//! | `process_start` | `chat`, `call`, `plugin`, `process` (null: it is not known whether it was started), `command` (digest) |
//! | `process_signal` | `chat`, `call`, `plugin`, `process`, `signal` |
//! | `file_write` | `chat`, `call`, `plugin`, `path`, `size`, `content` (digest), `certain` (false: it is not known whether it was written) |
//! | `http_request` | `chat`, `call`, `plugin`, `method`, `authority`, `status` (null: there was no response) |
//! | `denied` | `chat`, `call`, `plugin`, `capability`, `what` |
//! | `approval_asked` | `chat`, `call`, `plugin`, `tool` |
//! | `approval_granted`, `approval_refused` | `chat`, `call`, `plugin`, `tool`, `reason` (of a refusal) |
//!
//! Of denials and signals, which cost a guest next to nothing, a call has 100 lines at most.
//!
//! `chat` and `call` are missing in what a plugin does while it is asked for its tools.

mod file;
mod line;
mod queue;
mod time;
mod trail;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::metrics::Metrics;
use crate::state_dir::StateDir;
use file::LogFile;
use queue::Queue;

pub(crate) use time::rfc3339;
pub(crate) use trail::{Trail, Use};

/// How long [`Audit::finish`] waits for the disk.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where events are recorded. Clones share everything; the default records nothing.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    inner: Option<Arc<Inner>>,
}

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    queue: Queue,
    stopped: AtomicBool,
}

/// How much of a trail is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes after which a new file is begun; 64 MiB.
    pub max_size: u64,
    /// Full files that are kept, besides the one that is written; 8. At least one is.
    pub keep: u32,
    /// Bytes of events that may wait for the disk; 16 MiB. More are lost, and counted.
    pub pending: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_size: 64 << 20,
            keep: 8,
            pending: 16 << 20,
        }
    }
}

/// What is said of a plugin when it is loaded. No values of settings and secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub plugin: String,
    /// The SHA-256 digest of its component, in lower-case hex.
    pub sha256: String,
    /// The size of its component in bytes.
    pub size: usize,
    /// The full names of its imports.
    pub imports: Vec<String>,
    /// What it was granted.
    pub grants: Value,
    /// Its limits that are not the defaults, by name.
    pub limits: Value,
    /// The names of its settings.
    pub settings: Vec<String>,
    /// The names of its secrets.
    pub secrets: Vec<String>,
}

impl Audit {
    /// Appends to `audit.jsonl` in this directory, which any number of hosts may share, and records the start of the host.
    ///
    /// # Errors
    ///
    /// If the file is a link, no regular file of this user, or cannot be opened; or if there can be no thread to write it.
    pub fn open(directory: StateDir, config: &Config, metrics: &Metrics) -> io::Result<Self> {
        let path = directory.path().to_path_buf();
        let file = LogFile::open(directory, config)?;
        let inner = Inner {
            directory: path,
            queue: Queue::start(file, config.pending, metrics.clone())?,
            stopped: AtomicBool::new(false),
        };
        let audit = Self {
            inner: Some(Arc::new(inner)),
        };
        audit.record("start", host());
        Ok(audit)
    }

    /// Returns the directory of the file, if there is one.
    pub fn directory(&self) -> Option<&Path> {
        self.inner.as_ref().map(|inner| inner.directory.as_path())
    }

    /// Records that a plugin was loaded.
    pub fn plugin(&self, header: &Header) {
        let fields = json!({
            "plugin": line::text(&header.plugin),
            "sha256": header.sha256,
            "size": header.size,
            "imports": line::list(header.imports.iter()),
            "grants": header.grants,
            "limits": header.limits,
            "settings": line::list(header.settings.iter()),
            "secrets": line::list(header.secrets.iter()),
        });
        self.record("plugin", fields);
    }

    /// Records that a plugin did not load, and why.
    pub fn plugin_failed(&self, name: &str, error: &str) {
        let fields = json!({ "plugin": line::text(name), "error": line::text(error) });
        self.record("plugin_failed", fields);
    }

    /// Records that a plugin was removed.
    pub fn plugin_removed(&self, name: &str) {
        self.record("plugin_removed", json!({ "plugin": line::text(name) }));
    }

    /// Records that the operator switched a plugin on.
    pub fn plugin_enabled(&self, name: &str) {
        self.record("plugin_enabled", json!({ "plugin": line::text(name) }));
    }

    /// Records that the operator switched a plugin off.
    pub fn plugin_disabled(&self, name: &str) {
        self.record("plugin_disabled", json!({ "plugin": line::text(name) }));
    }

    /// Records that a plugin, which trapped too often, is left alone for a while.
    pub fn plugin_quarantined(&self, name: &str, time: Duration) {
        let fields = json!({ "plugin": line::text(name), "seconds": time.as_secs() });
        self.record("plugin_quarantined", fields);
    }

    /// Records the end of the host, and waits a few seconds at most until the disk has everything. Repeats record nothing.
    /// Blocks, so call it where that is allowed. Returns whether nothing is missing.
    pub fn finish(&self) -> bool {
        let Some(inner) = &self.inner else {
            return true;
        };
        if !inner.stopped.swap(true, Ordering::Relaxed) {
            self.record("stop", host());
        }
        let complete = inner.queue.flush(PATIENCE);
        if !complete {
            tracing::warn!("the audit trail could not be written to its end");
        }
        complete
    }

    /// Records an event with these fields, an object. Never blocks and never fails.
    fn record(&self, event: &'static str, fields: Value) {
        if let Some(inner) = &self.inner {
            inner
                .queue
                .push(line::line(SystemTime::now(), event, fields));
        }
    }
}

fn host() -> Value {
    json!({ "version": env!("CARGO_PKG_VERSION"), "pid": std::process::id() })
}
