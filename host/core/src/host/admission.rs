//! Admitting a call that the ledger does not know yet, and running it in its plugin.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolhost_call::call::{Admitted, CallError, Outcome, Permit, Refused, Request, WorkspaceError};
use toolhost_call::events::{Event, STEP};
use toolhost_call::metrics::PluginState;
use toolhost_call::notice::Notices;
use toolhost_call::sharing::Sharing;
use toolhost_call::tool::{ErrorKind, ToolError};
use toolhost_plugin::Context;
use toolhost_workspace::Workspace;

use super::Host;
use super::health::{Change, Ending};
use super::nested::OfCall;
use super::plugins::Route;
use super::workspaces::Place;

impl Host {
    /// Reserves room for a call in the plugin of its tool, and returns the future that runs it.
    pub(super) fn admit(
        &self,
        request: &Arc<Request>,
        permit: &Permit,
    ) -> Result<Admitted<impl Future<Output = Result<Outcome, Refused>> + Send + use<>>, CallError>
    {
        let route = self.route(&request.tool)?;
        let place = self.inner.workspaces.place(&request.chat)?;
        let inner = Arc::clone(&self.inner);
        if inner.draining.is_cancelled() {
            return Err(Refused::Closed.into());
        }
        let (plugin, health) = (&route.plugin, &route.health);
        let healthy = health.admit().map_err(|again_in| Refused::Quarantined {
            plugin: plugin.name().to_owned(),
            traps: health.most(),
            again_in,
        })?;
        let admitted = plugin
            .admit(&request.chat)
            .map_err(|busy| Refused::Busy(busy.to_string()))?;
        let request = Arc::clone(request);
        let (cancelled, is_resumed) = (permit.cancelled().clone(), permit.is_resumed());
        let host = self.clone();
        let tracked = inner.calls.token();
        let waiting = match place {
            Place::Named(_) => Some(inner.queued.wait(&request.chat, &request.id)),
            Place::Default => None,
        };
        let read_only = route.read_only;
        // The record of an interrupted call says that its workspace does, which may not be open here yet.
        let are_starts_recorded = is_resumed || place.remembers_starts();
        let resumable = plugin.is_resumable(are_starts_recorded) && request.id.outer().is_none();
        let nested = plugin.makes_calls().then(|| OfCall::of(self, &request));
        let execution = async move {
            let _tracked = tracked;
            let opening = host.workspace_for(&route, &place, &request);
            let opened = cancelled.run_until_cancelled(opening).await;
            drop(waiting);
            let outcome = match opened {
                Some(Ok(workspace)) => {
                    let context = Context {
                        workspace: host.seen_by(&request.actor, &workspace),
                        max_wait: shorter(inner.max_wait, request.max_wait),
                        approval: inner.approval.clone(),
                        cancelled,
                        is_resumed,
                        events: inner.events.clone(),
                        notices: Some(Arc::clone(&inner.notices) as Arc<dyn Notices>),
                        sharing: Some(Arc::clone(&inner.links) as Arc<dyn Sharing>),
                        nested: nested.flatten(),
                        answers: None,
                    };
                    let plugin = &route.plugin;
                    let called = plugin.call_with_cause(admitted, &route.tool, request, context);
                    let (outcome, cause) = called.await;
                    if let (Some(failures), Some(cause)) = (&inner.failures, cause) {
                        // A reader that has gone needs no cause.
                        _ = failures.send(cause);
                    }
                    match outcome {
                        Ok(outcome) => outcome,
                        Err(refused) => {
                            healthy.ended(Ending::Silent);
                            return Err(refused);
                        }
                    }
                }
                Some(Err(NoWorkspace::Refused(error))) => {
                    healthy.ended(Ending::Silent);
                    return Err(Refused::Workspace(error));
                }
                Some(Err(NoWorkspace::Failed(error))) => without_workspace(&request, error),
                None => {
                    let reason = "the call was cancelled while its workspace was made";
                    let error = ToolError::new(ErrorKind::Cancelled, reason);
                    Outcome {
                        cancelled: true,
                        ..without_workspace(&request, error)
                    }
                }
            };
            let ending = match &outcome.result {
                Ok(_) => Ending::Replied,
                Err(error) => match error.kind {
                    ErrorKind::Broken => Ending::Trapped,
                    ErrorKind::UnknownTool
                    | ErrorKind::InvalidArguments
                    | ErrorKind::Unavailable
                    | ErrorKind::Failed => Ending::Replied,
                    // The approval hook refuses as well.
                    ErrorKind::Denied
                    | ErrorKind::Limit
                    | ErrorKind::Cancelled
                    | ErrorKind::UnknownOutcome => Ending::Silent,
                },
            };
            route
                .tally
                .ended(outcome.duration, ending == Ending::Trapped);
            let change = healthy.ended(ending);
            // The health of a version that was replaced meanwhile says nothing about the version in use.
            if inner.plugins.table().has(&route.health) {
                let plugin = route.plugin.name();
                let state = match change {
                    Change::None => None,
                    Change::Quarantined(time) => {
                        let seconds = time.as_secs();
                        tracing::error!(
                            plugin,
                            seconds,
                            "the plugin is quarantined, because it trapped too often in a row"
                        );
                        let fields = json!({ "plugin": plugin, "seconds": seconds });
                        inner.audit.record("plugin_quarantined", fields);
                        inner.plugins.tell_quarantine(&route.plugin, time);
                        Some(PluginState::Quarantined)
                    }
                    Change::Recovered => {
                        tracing::info!(plugin, "the plugin works again");
                        Some(PluginState::Loaded)
                    }
                };
                if let Some(state) = state {
                    inner.metrics.plugin_state(plugin, state);
                }
            }
            Ok(outcome)
        };
        Ok(Admitted {
            execution,
            read_only,
            resumable,
        })
    }

    /// Returns the plugin of a tool.
    fn route(&self, tool: &str) -> Result<Arc<Route>, CallError> {
        let table = self.inner.plugins.table();
        match table.route(tool) {
            Some(route) => Ok(Arc::clone(route)),
            None if self.is_loading() => Err(Refused::Loading(tool.to_owned()).into()),
            None => Err(CallError::UnknownTool {
                name: tool.to_owned(),
                known: table.tools.iter().map(|tool| tool.name.clone()).collect(),
            }),
        }
    }

    /// Opens the workspace of a call, and returns the part of it that the plugin was granted.
    async fn workspace_for(
        &self,
        route: &Route,
        place: &Place,
        request: &Request,
    ) -> Result<Arc<dyn Workspace>, NoWorkspace> {
        let Place::Named(_) = place else {
            return Ok(Arc::clone(&route.granted.of_default));
        };
        let workspaces = &self.inner.workspaces;
        let need = || Some(workspaces.oversight().of_call(request));
        let mut done = 0.0;
        let telling = workspaces.tell_log(place, |line| {
            done += STEP;
            let progress = Event::Progress {
                call: request.id.clone(),
                done,
                total: None,
                message: Some(line),
            };
            self.inner.events.publish_progress(&request.chat, progress);
        });
        let opened = tokio::select! {
            biased;
            opened = workspaces.opened(place, need) => opened,
            never = telling => match never {},
        };
        let workspace = opened.map_err(|error| match error {
            WorkspaceError::NotApproved { .. } => {
                NoWorkspace::Failed(ToolError::new(ErrorKind::Denied, error.to_string()))
            }
            // To make it again most likely fails again, such as a clone of what is not there.
            WorkspaceError::WorkspaceFailed { .. } => {
                NoWorkspace::Failed(ToolError::new(ErrorKind::Unavailable, error.to_string()))
            }
            error => NoWorkspace::Refused(error),
        })?;
        let granted = route.granted.part_of(workspace).await;
        granted
            .map_err(|error| NoWorkspace::Refused(WorkspaceError::Unreachable(error.to_string())))
    }
}

/// Why a call has no workspace to run in.
enum NoWorkspace {
    /// It was refused, or could not be made: the reply of the call.
    Failed(ToolError),
    /// It cannot be used now: the call did not run.
    Refused(WorkspaceError),
}

/// Returns the outcome of a call that had no workspace to run in.
fn without_workspace(request: &Request, error: ToolError) -> Outcome {
    Outcome::new(request.id.clone(), request.tool.as_str(), Err(error))
}

/// Returns the shorter of two times that may be unbounded.
fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}
