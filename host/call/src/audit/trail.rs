//! The trail of one call of a plugin, which records its uses of capabilities.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::line::First;
use super::shares::Owner;
use super::{Audit, owner};
use crate::call::Request;
use crate::metrics::{LimitKind, Metrics};
use toolhost_state::id::{CallId, ChatId};

/// A use of a capability by a plugin. Its name in snake case is that of its event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(untagged)]
#[strum(serialize_all = "snake_case")]
pub enum Use {
    /// It started a process.
    ProcessStart {
        /// The id of the process; `None` if it is not known whether the process was started.
        process: Option<String>,
        /// The BLAKE3 digest of the command, in hex.
        command: String,
    },
    /// It asked for a process that was not started, because the machine had no room.
    ProcessRefused {
        /// The BLAKE3 digest of the command, in hex.
        command: String,
        /// The resource that is short.
        why: String,
    },
    /// It sent a signal to a process.
    ProcessSignal {
        /// The id of the process.
        process: String,
        /// The name of the signal.
        signal: String,
    },
    /// It wrote to the standard input of a process, ended it, or changed the size of the terminal. What it wrote is not recorded.
    ProcessInput {
        /// The id of the process.
        process: String,
        /// How many bytes it wrote at most.
        bytes: u64,
    },
    /// It connected to a TCP port on which a command of the chat listens, or may have.
    PortConnect {
        /// The number of the port.
        port: u16,
    },
    /// It wrote a file.
    FileWrite {
        /// The real path; if it is not known whether the file was written, the requested path.
        path: String,
        /// The new size in bytes.
        size: u64,
        /// The BLAKE3 digest of the new content, in hex.
        content: String,
        /// Whether it is certain that the file was written.
        certain: bool,
    },
    /// It removed a file or a directory, or moved a file away.
    FileRemove {
        /// The path, as it was asked for.
        path: String,
        /// Whether a directory is removed with all that is in it.
        recursive: bool,
        /// Whether it is certain that all of it was removed.
        certain: bool,
    },
    /// It made a link to a file, for a person without a token.
    FileShare {
        /// The real path of the file.
        path: String,
        /// The end of the link, in seconds since the Unix epoch.
        expires_at: u64,
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
    /// It used a capability that has no event of its own.
    Used {
        /// The name of the capability, such as `clock`.
        capability: &'static str,
        /// The use, in a few words that hold nothing secret.
        what: String,
    },
    /// It tried something that it was not granted.
    Denied {
        /// The name of the capability, such as `files` or `sockets`.
        capability: &'static str,
        /// The attempt, in a few words without secrets.
        what: String,
    },
}

/// The most cheap events of one call that are recorded; further ones are only counted. Without this limit, a guest could flood the trail
/// until earlier lines are rotated away.
const MAX_CHEAP: u64 = 100;

/// The fields that each line begins with, and the owner of the lines.
#[derive(Debug)]
struct Whose {
    /// Principal, chat, call, plugin and workspace, as far as they are known.
    fields: First,
    owner: Option<Owner>,
}

impl Whose {
    fn new([principal, chat, call, plugin, workspace]: [Option<&str>; 5]) -> Arc<Self> {
        let fields = [
            ("principal", principal),
            ("chat", chat),
            ("call", call),
            ("plugin", plugin),
            ("workspace", workspace),
        ];
        let fields = fields.into_iter();
        let fields = fields.filter_map(|(name, value)| Some((name, value?)));
        Arc::new(Self {
            fields: First::new(fields),
            owner: owner(principal, chat),
        })
    }
}

/// The audit trail of one call of a plugin; without a call, that of a plugin while it is asked for its tools. Clones belong to the same
/// call.
#[derive(Clone, Debug)]
pub struct Trail {
    pub(crate) audit: Audit,
    /// The metrics in which the uses are counted.
    pub metrics: Metrics,
    /// The name of the plugin.
    pub plugin: Arc<str>,
    /// The call; `None` while the plugin is asked for its tools.
    pub call: Option<(ChatId, CallId)>,
    whose: Arc<Whose>,
    /// The number of cheap events: those that cost a guest almost nothing.
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
        let whose = Whose::new([
            request.map(|request| request.actor.name()),
            request.map(|request| request.chat.as_str()),
            request.map(|request| request.id.as_str()),
            Some(&plugin),
            request.and_then(|request| Some(request.workspace.as_ref()?.as_str())),
        ]);
        Self {
            audit,
            metrics,
            plugin,
            call: request.map(|request| (request.chat.clone(), request.id.clone())),
            whose,
            cheap: Arc::default(),
        }
    }

    /// Makes the trail of a client's own operations, without a plugin. `interface` stands in the place of the plugin's name;
    /// `None` for operations of the host. `call` is the id that the client gave to the operation.
    pub fn of_client(
        audit: Audit,
        metrics: Metrics,
        interface: Option<&str>,
        principal: &str,
        chat: Option<&ChatId>,
        call: Option<&str>,
    ) -> Self {
        let chat = chat.map(ChatId::as_str);
        let whose = Whose::new([Some(principal), chat, call, interface, None]);
        let plugin = interface.unwrap_or_default().into();
        Self {
            whose,
            ..Self::new(audit, metrics, plugin, None)
        }
    }

    /// Returns how many uses were only counted and not recorded.
    pub fn left_out(&self) -> u64 {
        self.cheap.load(Ordering::Relaxed).saturating_sub(MAX_CHEAP)
    }

    /// Records and counts the use of a capability. Never blocks and never fails.
    pub fn record(&self, used: &Use) {
        let plugin = &*self.plugin;
        match used {
            Use::ProcessStart { .. } => self.metrics.process_started(plugin),
            Use::ProcessSignal { .. }
            | Use::ProcessInput { .. }
            | Use::PortConnect { .. }
            | Use::ProcessRefused { .. } => {}
            Use::FileWrite { .. } => self.metrics.file_written(plugin),
            Use::FileRemove { .. } => self.metrics.file_removed(plugin),
            Use::FileShare { .. } => self.metrics.link_made("file"),
            Use::HttpRequest { .. } => self.metrics.http_request(plugin),
            Use::Used { capability, .. } => self.metrics.used(plugin, capability),
            Use::Denied { capability, .. } => self.metrics.denied(plugin, capability),
        }
        let cheap = matches!(
            used,
            Use::ProcessSignal { .. }
                | Use::ProcessInput { .. }
                | Use::PortConnect { .. }
                | Use::ProcessRefused { .. }
                | Use::Used { .. }
                | Use::Denied { .. }
        );
        if !cheap || self.cheap.fetch_add(1, Ordering::Relaxed) < MAX_CHEAP {
            self.event(used.into(), used);
        }
    }

    /// Counts a limit that was reached.
    pub fn limit(&self, limit: LimitKind) {
        self.metrics.limit(&self.plugin, limit);
    }

    /// Records an event of this call. The principal, chat, call, plugin and workspace come before its own fields.
    pub fn event(&self, event: &'static str, fields: impl Serialize) {
        let Whose {
            fields: first,
            owner,
        } = &*self.whose;
        let fields = serde_json::to_value(fields).unwrap_or_default();
        self.audit.append(event, owner.clone(), first, fields);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::audit::Config;
    use toolhost_state::state_dir::StateDir;

    #[test]
    fn a_flood_of_uses_without_an_event_of_their_own_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let metrics = Metrics::default();
        let state = StateDir::open(&directory.path().join("audit")).unwrap();
        let audit = Audit::open(state, &Config::default(), &metrics).unwrap();
        let trail = Trail::new(audit.clone(), metrics.clone(), "p".into(), None);
        for _ in 0..1000 {
            trail.record(&Use::Used {
                capability: "clock",
                what: "a wait".into(),
            });
        }
        assert!(audit.finish());
        let text = std::fs::read_to_string(directory.path().join("audit/audit.jsonl")).unwrap();
        let line = r#""event":"used","plugin":"p","capability":"clock","what":"a wait"}"#;
        assert_eq!(text.matches(line).count(), 100, "{text}");
        assert_eq!(trail.left_out(), 900);
        let counted = "plugin_uses_total{plugin=\"p\",capability=\"clock\"} 1000\n";
        assert!(metrics.text().contains(counted));
    }
}
