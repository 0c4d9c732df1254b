//! One look at the calls and processes of a host, and the event that tells a reader of it.

pub(crate) mod wire;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::v1::all_processes::reached;
use crate::visibility::Visibility as _;
use toolhost_core::{CallNow, Host, ProcessNow};
use toolhost_http::access::Principal;
use toolhost_state::unix_time;

/// What runs at one moment.
#[derive(Debug)]
pub(super) struct Look {
    at: Moment,
    calls: Vec<CallNow>,
    processes: Vec<ProcessNow>,
    /// The workspaces whose agents do not answer.
    unanswered: Vec<String>,
    /// The events of this look, for each set of bounds that has a reader.
    frames: Mutex<HashMap<String, Arc<OnceCell<Frame>>>>,
}

/// One moment, by the clock and by the timer of calls.
#[derive(Clone, Copy, Debug)]
struct Moment {
    time: SystemTime,
    instant: Instant,
}

/// An event, as it is sent.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// The hash of the event without its times, which change with every look.
    pub(super) content: blake3::Hash,
    /// The text of the event.
    pub(super) bytes: Bytes,
}

impl Look {
    /// Looks at a host. Without its workspace, it has no processes.
    pub(super) async fn at(host: &Host) -> Self {
        let (processes, unanswered) = host.processes_now().await.unwrap_or_else(|error| {
            tracing::debug!(%error, "the processes cannot be listed");
            Default::default()
        });
        Self {
            at: Moment {
                time: SystemTime::now(),
                instant: Instant::now(),
            },
            calls: host.calls_now(),
            processes,
            unanswered,
            frames: Mutex::default(),
        }
    }

    /// Returns whether both looks show the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let shown = |look: &Self| {
            // The time for which a process ran, and what is left of its time, are not shown.
            let each = look.processes.iter().cloned();
            let each = each.map(|mut one| {
                (one.process.info.ran, one.process.info.time_left) = (Duration::ZERO, None);
                one
            });
            each.collect::<Vec<_>>()
        };
        (&self.calls, &self.unanswered) == (&other.calls, &other.unanswered)
            && shown(self) == shown(other)
    }

    /// Returns the event for a reader. All readers with the same bounds get the same bytes.
    pub(super) async fn frame(&self, host: &Host, principal: &Principal, bounds: &str) -> Frame {
        let cell = {
            let mut frames = self.frames.lock();
            match frames.get(bounds) {
                Some(cell) => Arc::clone(cell),
                None => Arc::clone(frames.entry(bounds.to_owned()).or_default()),
            }
        };
        cell.get_or_init(|| self.written(host, principal))
            .await
            .clone()
    }

    /// Writes the event for a principal.
    async fn written(&self, host: &Host, principal: &Principal) -> Frame {
        let sees = |one: &&CallNow| {
            let call = &one.call;
            principal.may_name(&call.chat)
                && principal.may_use(&call.tool)
                && host.may_reach(principal.actor(), &call.chat)
        };
        let calls: Vec<_> = self.calls.iter().filter(sees).collect();
        let mut processes = Vec::new();
        for one in &self.processes {
            let key = one.process.info.key.as_deref();
            let sees = match &one.process.owner {
                Some(chat) => {
                    principal.may_name(chat) && principal.may_see_process(host, chat, key).await
                }
                None => principal.is_unbounded(),
            };
            if sees {
                processes.push(one);
            }
        }
        let names_tokens = principal.is_unbounded();
        let data = |at: Option<Moment>| wire::Now {
            at_unix_ms: at.map_or(0, |at| unix_time::to_ms(at.time)),
            calls: calls
                .iter()
                .map(|one| {
                    let ran = |at: Moment| at.instant.saturating_duration_since(one.call.since);
                    wire::Call::new(one, at.map(ran).unwrap_or_default(), names_tokens)
                })
                .collect(),
            processes: processes
                .iter()
                .map(|one| wire::Process::new(one))
                .collect(),
            unanswered: reached(principal, &self.unanswered),
        };
        let text = |data: &wire::Now| serde_json::to_string(data).unwrap_or_default();
        Frame {
            content: blake3::hash(text(&data(None)).as_bytes()),
            // JSON has no line end outside of escapes, so the data are one line.
            bytes: format!("event: now\ndata: {}\n\n", text(&data(Some(self.at)))).into(),
        }
    }
}
