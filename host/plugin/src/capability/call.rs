//! The running call, as capabilities see it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Allowance, Session, Started};
use crate::cause::Evidence;
use crate::effects::{Effects, TurnedAway};
use crate::limits::Limits;
use crate::line_log::LineLog;
use crate::outgoing::Answers;
use crate::settings::Settings;
use toolhost_call::audit::{Trail, Use};
use toolhost_call::call::{Refused, Request, WorkspaceError};
use toolhost_call::events::Events;
use toolhost_call::notice::Notices;
use toolhost_call::sharing::Sharing;
use toolhost_workspace::Workspace;
use toolhost_workspace::files::CpuAccount;

/// The context of one call, or of one request for the tools. Each capability takes the parts that it needs.
#[derive(Debug)]
pub(crate) struct CallContext {
    /// The running call; `None` while the host asks for the tools.
    pub(crate) call: Option<Arc<Call>>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) limits: Limits,
    pub(crate) log: LineLog,
    pub(crate) evidence: Evidence,
    /// Where uses of capabilities are recorded.
    pub(crate) trail: Trail,
    /// The rest of the call's limits on starts and bytes.
    pub(crate) allowance: Arc<Allowance>,
    /// The CPU time of work on other threads, which counts as guest time.
    pub(crate) work: Arc<CpuAccount>,
}

impl CallContext {
    /// Makes the context of a call, or of a request for the tools.
    pub(crate) fn new(
        call: Option<Call>,
        settings: &Arc<Settings>,
        limits: &Limits,
        trail: Trail,
    ) -> Self {
        let log = LineLog::new(&trail, settings, limits.log);
        Self {
            call: call.map(Arc::new),
            settings: Arc::clone(settings),
            evidence: Evidence::new(&log),
            log,
            allowance: Arc::new(Allowance::new(limits, &trail)),
            work: Arc::new(CpuAccount::limited(limits.guest_time)),
            limits: limits.clone(),
            trail,
        }
    }

    /// Returns the scope of the capability with this name.
    pub(crate) fn scope(&self, capability: &'static str) -> Scope {
        Scope {
            capability,
            call: self.call.clone(),
            trail: self.trail.clone(),
        }
    }
}

/// The call in whose scope a plugin runs.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) request: Arc<Request>,
    pub(crate) workspace: Arc<dyn Workspace>,
    /// When the host ends the call.
    pub(crate) deadline: Instant,
    /// The longest that one wait may take, if the operator bounds it.
    pub(crate) max_wait: Option<Duration>,
    /// Whether the approval hook was not asked, because the tool promises to destroy nothing.
    pub(crate) unapproved: bool,
    pub(crate) cancelled: CancellationToken,
    /// Whether the call runs again, because it was interrupted.
    pub(crate) is_resumed: bool,
    pub(crate) started: Started,
    /// Whether the call may have changed something.
    pub(crate) effects: Effects,
    /// The events to which progress is published.
    pub(crate) events: Events,
    /// The notices of the host; `None` if it tells nothing after the call.
    pub(crate) notices: Option<Arc<dyn Notices>>,
    /// The part of the host that makes links to files; `None` if it makes none.
    pub(crate) sharing: Option<Arc<dyn Sharing>>,
    /// Whether the tool promises to change nothing.
    pub(crate) read_only: bool,
    /// The calls that the call makes; `None` if it can make none.
    pub(crate) session: Option<Session>,
    /// Answers to its requests, in place of the network.
    pub(crate) answers: Option<Arc<Answers>>,
}

/// Returns how a call is turned away whose workspace cannot be reached.
pub(super) fn unreachable(reason: &str) -> Refused {
    Refused::Workspace(WorkspaceError::Unreachable(reason.to_owned()))
}

impl Call {
    /// Returns whether the call is cancelled, so that the guest can be told. If it is, records that the guest knows, and begins
    /// to end the processes of the call.
    pub(super) fn end_if_cancelled(&self) -> bool {
        let cancelled = self.cancelled.is_cancelled();
        if cancelled {
            self.started.end_as_cancelled();
        }
        cancelled
    }
}

/// The scope of one capability: the call in which it may be used, and the trail of its uses.
#[derive(Debug)]
pub(crate) struct Scope {
    capability: &'static str,
    call: Option<Arc<Call>>,
    pub(super) trail: Trail,
}

impl Scope {
    /// Returns the call.
    ///
    /// # Errors
    ///
    /// The text for a plugin that uses the capability while it is asked for its tools. The use is recorded.
    pub(super) fn call(&self) -> Result<&Call, String> {
        self.call.as_deref().ok_or_else(|| {
            self.denied("used while no tool was called".into());
            let capability = self.capability;
            format!("{capability} can be used only while a tool is called")
        })
    }

    /// As [`Scope::call`], for an operation that only an approved call may do.
    ///
    /// # Errors
    ///
    /// As [`Scope::call`], and if the call was not approved, which is recorded.
    pub(super) fn approved_call(&self) -> Result<&Call, String> {
        let call = self.call()?;
        if !call.unapproved {
            return Ok(call);
        }
        self.denied("a change by a tool that promises none".into());
        Err(
            "the tool promises to be read-only or non-destructive, so the call was not approved: it may neither start \
             nor signal processes nor write or share files"
                .into(),
        )
    }

    /// Ends the guest with an error if the host turns the call away, because the machine is short of something or the workspace cannot be
    /// reached. If the call may have changed something, its guest has to be told instead.
    pub(super) fn turn_away(&self, reason: Refused) -> Result<(), TurnedAway> {
        let call = self.call.as_ref();
        call.and_then(|call| call.effects.turn_away(reason))
            .map_or(Ok(()), Err)
    }

    /// Records a denied use.
    pub(super) fn denied(&self, what: String) {
        let capability = self.capability;
        self.trail.record(&Use::Denied { capability, what });
    }
}
