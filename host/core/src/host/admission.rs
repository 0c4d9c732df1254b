//! Admitting a call that the ledger does not know yet, and running it in its plugin.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolhost_call::call::{Admitted, Outcome, Refused, Request};
use toolhost_call::metrics::PluginState;
use toolhost_call::tool::ErrorKind;
use toolhost_plugin::Context;

use super::Host;
use super::health::{Change, Ending};
use super::plugins::Route;

impl Host {
    /// Reserves room for a call in its plugin, and returns the future that runs it.
    pub(super) fn admit(
        &self,
        route: Arc<Route>,
        request: &Arc<Request>,
        cancelled: CancellationToken,
    ) -> Result<Admitted<impl Future<Output = Outcome> + Send + use<>>, Refused> {
        let inner = Arc::clone(&self.inner);
        if inner.stopping.is_cancelled() {
            return Err(Refused::Closed);
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
        let context = Context {
            workspace: self.seen_by(&request.actor, &route.workspace),
            max_wait: shorter(inner.max_wait, request.max_wait),
            approval: inner.approval.clone(),
            cancelled,
            events: inner.events.clone(),
        };
        let tracked = inner.calls.token();
        let read_only = route.read_only;
        let execution = async move {
            let _tracked = tracked;
            let called = route.plugin.call(admitted, &route.tool, request, context);
            let outcome = called.await;
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
            outcome
        };
        Ok(Admitted {
            execution,
            read_only,
        })
    }
}

/// Returns the shorter of two times that may be unbounded.
fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}
