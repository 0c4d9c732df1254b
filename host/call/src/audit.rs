//! The audit trail, for the operator: the plugins that were loaded, the principal and tool of each call, and the files,
//! processes and requests that it touched.
//!
//! The trail records that something happened, never its content: commands, contents and arguments are BLAKE3 digests, and a
//! URL is cut to its authority. No call waits for the disk of the trail. A digest confirms a guess of the content, so the
//! file is private (mode 0600).
//!
//! Each line is one JSON object with `time` (RFC 3339, UTC, milliseconds) and `event`. A line that a crash or a full disk cut
//! short is no JSON; the next event has a line of its own. Texts are at most 1 KiB; an id of
//! more than 96 bytes is its first 64, `…`, and the first 16 digits of its BLAKE3 digest.
//!
//! `docs/observability.md` lists the events and their fields.
//!
//! A token may add [`Config::share`] bytes at once, and the same again in each hour. Lines beyond that are left out: first
//! `call_started` and `call`, which may use half of the share, then the acts of its calls.
//!
//! A call has at most 100 lines of denials, signals and other uses that cost a guest next to nothing.
//!
//! `chat` and `call` are missing in the lines of a plugin that is asked for its tools.

mod denials;
mod file;
mod line;
mod queue;
mod read;
mod shares;
mod time;
mod trail;
mod workspace;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::{Value, json};

use crate::metrics::Metrics;
use file::LogFile;
use line::First;
use queue::Queue;
use shares::Owner;
use toolhost_state::state_dir::StateDir;

pub use read::{AuditPage, AuditPlace, AuditQuery, InvalidAuditPlace};
pub use time::rfc3339;
pub use trail::{Trail, Use};
pub use workspace::Audited;

/// How long [`Audit::finish`] waits for the disk.
const PATIENCE: Duration = Duration::from_secs(5);

/// The audit trail, to which events are recorded. Clones share everything; the default records nothing.
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

/// The limits of a trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes after which a new file is begun; 64 MiB.
    pub max_size: u64,
    /// Full files that are kept, besides the one that is written; 8. At least one is.
    pub keep: u32,
    /// Bytes of events that may wait for the disk; 16 MiB. More are lost, and counted.
    pub pending: usize,
    /// Bytes that one token may add at once, and again in each hour; 64 MiB. Further lines are counted.
    pub share: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_size: 64 << 20,
            keep: 8,
            pending: 16 << 20,
            share: 64 << 20,
        }
    }
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
            queue: Queue::start(file, config.pending, config.share, metrics.clone())?,
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

    /// Records the end of the host, and waits a few seconds at most until the disk has everything. Repeats record nothing.
    /// Blocks. Returns whether all lines were written.
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

    /// Records an event with these fields, which serialize to an object. Never blocks and never fails.
    pub fn record(&self, event: &'static str, fields: impl Serialize) {
        if self.inner.is_some() {
            let fields = serde_json::to_value(fields).unwrap_or_default();
            let named = |name: &str| fields.get(name).and_then(Value::as_str);
            let owner = owner(named("principal"), named("chat"));
            self.append(event, owner, &First::default(), fields);
        }
    }

    /// Records an event of this owner, with `first` before its own fields.
    fn append(&self, event: &'static str, owner: Option<Owner>, first: &First, fields: Value) {
        if let Some(inner) = &self.inner {
            let text = line::line(SystemTime::now(), event, first, fields);
            inner.queue.push(event, owner, text);
        }
    }
}

/// Returns the owner of the share that a line takes: its token, or all calls without one. Lines of the host and of the
/// configuration take none.
fn owner(principal: Option<&str>, chat: Option<&str>) -> Option<Owner> {
    match principal {
        Some("configuration") => None,
        Some(token) => Some(token.into()),
        None => chat.map(|_| "".into()),
    }
}

fn host() -> Value {
    json!({ "version": env!("CARGO_PKG_VERSION"), "pid": std::process::id() })
}
