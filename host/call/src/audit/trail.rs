//! The trail of one call of a plugin: its acts, recorded as they happen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

use super::Audit;
use super::line::{id, text};
use crate::call::Request;
use crate::metrics::{LimitKind, Metrics};
use toolhost_state::id::{CallId, ChatId};

/// A use of a capability by a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
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
        /// The attempt, in a few words that hold nothing secret.
        what: String,
    },
}

impl Use {
    /// Returns the name of its event, and the fields that are its own.
    pub(super) fn line(&self) -> (&'static str, Value) {
        match self {
            Self::ProcessStart { process, command } => (
                "process_start",
                json!({ "process": process, "command": command.to_hex().as_str() }),
            ),
            Self::ProcessSignal { process, signal } => (
                "process_signal",
                json!({ "process": text(process), "signal": signal }),
            ),
            Self::FileWrite {
                path,
                size,
                content,
                certain,
            } => (
                "file_write",
                json!({
                    "path": text(path), "size": size, "content": content.to_hex().as_str(), "certain": certain,
                }),
            ),
            Self::HttpRequest {
                method,
                authority,
                status,
            } => (
                "http_request",
                json!({ "method": text(method), "authority": text(authority), "status": status }),
            ),
            Self::Denied { capability, what } => (
                "denied",
                json!({ "capability": capability, "what": text(what) }),
            ),
        }
    }
}

/// Events of one call that cost a guest next to nothing, beyond which they are only counted: a guest must not flood the trail
/// until earlier lines are rotated away.
const MAX_CHEAP: u64 = 100;

/// Records the acts of one call of a plugin; without a call, the acts of the plugin while it is asked for its tools. Clones
/// belong to the same call.
#[derive(Clone, Debug)]
pub struct Trail {
    pub(crate) audit: Audit,
    /// Where the uses are counted as well.
    pub metrics: Metrics,
    /// The name of the plugin.
    pub plugin: Arc<str>,
    /// The call; `None` while the plugin is asked for its tools.
    pub call: Option<(ChatId, CallId)>,
    /// The fields that each line begins with: principal, chat, call and plugin.
    whose: Map<String, Value>,
    /// How many events there were that cost next to nothing.
    cheap: Arc<AtomicU64>,
}

impl Trail {
    /// Begins the trail of a call, or of a plugin that is asked for its tools.
    pub fn new(
        audit: Audit,
        metrics: Metrics,
        plugin: Arc<str>,
        request: Option<&Request>,
    ) -> Self {
        let call = request.map(|request| (request.chat.clone(), request.id.clone()));
        let whose = match request {
            Some(Request {
                actor, chat, id, ..
            }) => whose(
                Some(actor.name()),
                Some(chat),
                Some(id.as_str()),
                Some(&plugin),
            ),
            None => whose(None, None, None, Some(&plugin)),
        };
        Self {
            audit,
            metrics,
            plugin,
            call,
            whose,
            cheap: Arc::default(),
        }
    }

    /// Makes a trail of the acts of a client itself: through an interface, whose name stands for a plugin's, or through the
    /// host, which has none. `call` is the name that the client gives to its act.
    pub fn of_client(
        audit: Audit,
        metrics: Metrics,
        interface: Option<&str>,
        principal: &str,
        chat: Option<&ChatId>,
        call: Option<&str>,
    ) -> Self {
        Self {
            audit,
            metrics,
            plugin: interface.unwrap_or_default().into(),
            call: None,
            whose: whose(Some(principal), chat, call, interface),
            cheap: Arc::default(),
        }
    }

    /// Returns how many uses were counted, and not recorded one by one.
    pub fn left_out(&self) -> u64 {
        self.cheap.load(Ordering::Relaxed).saturating_sub(MAX_CHEAP)
    }

    /// Records and counts the use of a capability. Never blocks and never fails.
    pub fn record(&self, used: &Use) {
        let plugin = &*self.plugin;
        match used {
            Use::ProcessStart { .. } => self.metrics.process_started(plugin),
            Use::ProcessSignal { .. } => {}
            Use::FileWrite { .. } => self.metrics.file_written(plugin),
            Use::HttpRequest { .. } => self.metrics.http_request(plugin),
            Use::Denied { capability, .. } => self.metrics.denied(plugin, capability),
        }
        let (event, fields) = used.line();
        let cheap = matches!(used, Use::Denied { .. } | Use::ProcessSignal { .. });
        if !cheap || self.cheap.fetch_add(1, Ordering::Relaxed) < MAX_CHEAP {
            self.event(event, fields);
        }
    }

    /// Counts a limit that was reached.
    pub fn limit(&self, limit: LimitKind) {
        self.metrics.limit(&self.plugin, limit);
    }

    /// Records an event of this call. The principal, chat, call and plugin come before its own fields.
    pub fn event(&self, event: &'static str, fields: Value) {
        let mut all = self.whose.clone();
        if let Value::Object(fields) = fields {
            all.extend(fields);
        }
        self.audit.record(event, all.into());
    }
}

fn whose(
    principal: Option<&str>,
    chat: Option<&ChatId>,
    call: Option<&str>,
    plugin: Option<&str>,
) -> Map<String, Value> {
    let mut whose = Map::new();
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            whose.insert(name.to_owned(), value);
        }
    };
    add("principal", principal.map(text));
    add("chat", chat.map(|chat| id(chat.as_str())));
    add("call", call.map(id));
    add("plugin", plugin.map(text));
    whose
}
