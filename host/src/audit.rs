//! The audit trail: which plugins were loaded, who called what, and what was touched on the way. For the operator.
//!
//! It says that something happened, never what it contained: commands and contents are digests, of a URL there is the
//! authority.

use std::sync::Arc;

use crate::id::{CallId, ChatId};

/// Where events are recorded. Clones share everything; the default records nothing.
#[derive(Clone, Debug, Default)]
pub struct Audit {}

/// What a plugin did with a capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It started a process.
    ProcessStart {
        /// The id of the process.
        process: String,
        /// The digest of the command.
        command: blake3::Hash,
    },
    /// It wrote a file.
    FileWrite {
        /// The real path.
        path: String,
        /// The new size in bytes.
        size: u64,
        /// The digest of the new content.
        content: blake3::Hash,
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

/// Records what one call of a plugin does; without a call, what the plugin does while it is asked for its tools.
#[derive(Clone, Debug)]
pub(crate) struct Trail {
    pub(crate) audit: Audit,
    pub(crate) plugin: Arc<str>,
    pub(crate) call: Option<(ChatId, CallId)>,
}

impl Trail {
    /// Records the use of a capability. Never blocks and never fails.
    pub(crate) fn record(&self, used: &Use) {
        let _ = &self.audit;
        tracing::debug!(plugin = &*self.plugin, call = ?self.call, ?used, "a capability was used");
    }
}
