//! What one call of a plugin does, as it does it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

use super::Audit;
use super::line::text;
use crate::id::{CallId, ChatId};
use crate::metrics::{LimitKind, Metrics};

/// What a plugin did with a capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It started a process.
    ProcessStart {
        /// The id of the process; `None`: it is not known whether it was started.
        process: Option<String>,
        /// The digest of the command.
        command: blake3::Hash,
    },
    /// It sent a signal to a process.
    ProcessSignal {
        /// The id of the process.
        process: String,
        /// The name of the signal.
        signal: String,
    },
    /// It wrote a file.
    FileWrite {
        /// The real path; where it is not known whether the file was written, the path that was asked for.
        path: String,
        /// The new size in bytes.
        size: u64,
        /// The digest of the new content.
        content: blake3::Hash,
        /// Whether it was written for certain.
        certain: bool,
    },
    /// It sent an HTTP request.
    HttpRequest {
        /// The method.
        method: String,
        /// Scheme, host and port.
        authority: String,
        /// The status of the response, if there was one.
        status: Option<u16>,
    },
    /// It tried something that it was not granted.
    Denied {
        /// The name of the capability, such as `files` or `sockets`.
        capability: &'static str,
        /// What it tried, in a few words that hold nothing secret.
        what: String,
    },
}

/// Events of one call that cost a guest next to nothing, beyond which they are only counted: a guest must not flood the trail
/// until what came before it is rotated away.
const MAX_CHEAP: u64 = 100;

/// Records what one call of a plugin does; without a call, what the plugin does while it is asked for its tools. Clones
/// belong to the same call.
#[derive(Clone, Debug)]
pub(crate) struct Trail {
    pub(crate) audit: Audit,
    pub(crate) metrics: Metrics,
    pub(crate) plugin: Arc<str>,
    pub(crate) call: Option<(ChatId, CallId)>,
    /// How many events there were that cost next to nothing.
    cheap: Arc<AtomicU64>,
}

impl Trail {
    pub(crate) fn new(
        audit: Audit,
        metrics: Metrics,
        plugin: Arc<str>,
        call: Option<(ChatId, CallId)>,
    ) -> Self {
        Self {
            audit,
            metrics,
            plugin,
            call,
            cheap: Arc::default(),
        }
    }

    /// Returns how many uses were counted, and not recorded one by one.
    pub(crate) fn left_out(&self) -> u64 {
        self.cheap.load(Ordering::Relaxed).saturating_sub(MAX_CHEAP)
    }

    /// Records and counts the use of a capability. Never blocks and never fails.
    pub(crate) fn record(&self, used: &Use) {
        let plugin = &*self.plugin;
        let (event, fields) = match used {
            Use::ProcessStart { process, command } => {
                self.metrics.process_started(plugin);
                let fields = json!({ "process": process, "command": command.to_hex().as_str() });
                ("process_start", fields)
            }
            Use::ProcessSignal { process, signal } => (
                "process_signal",
                json!({ "process": text(process), "signal": signal }),
            ),
            Use::FileWrite {
                path,
                size,
                content,
                certain,
            } => {
                self.metrics.file_written(plugin);
                let fields = json!({
                    "path": text(path), "size": size, "content": content.to_hex().as_str(), "certain": certain,
                });
                ("file_write", fields)
            }
            Use::HttpRequest {
                method,
                authority,
                status,
            } => {
                self.metrics.http_request(plugin);
                let fields = json!({
                    "method": text(method), "authority": text(authority), "status": status,
                });
                ("http_request", fields)
            }
            Use::Denied { capability, what } => {
                self.metrics.denied(plugin, capability);
                let fields = json!({ "capability": capability, "what": text(what) });
                ("denied", fields)
            }
        };
        let cheap = matches!(used, Use::Denied { .. } | Use::ProcessSignal { .. });
        if !cheap || self.cheap.fetch_add(1, Ordering::Relaxed) < MAX_CHEAP {
            self.event(event, fields);
        }
    }

    /// Counts a limit that was reached.
    pub(crate) fn limit(&self, limit: LimitKind) {
        self.metrics.limit(&self.plugin, limit);
    }

    /// Records an event of this call, with whose it is before its own fields.
    pub(crate) fn event(&self, event: &'static str, fields: Value) {
        let mut all = Map::new();
        if let Some((chat, call)) = &self.call {
            all.insert("chat".into(), chat.as_str().into());
            all.insert("call".into(), call.as_str().into());
        }
        all.insert("plugin".into(), (&*self.plugin).into());
        if let Value::Object(fields) = fields {
            all.extend(fields);
        }
        self.audit.record(event, all.into());
    }
}
