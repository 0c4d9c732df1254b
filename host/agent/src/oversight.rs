//! Oversight of the agent API: the audit trail and the approval hook.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::Serialize;
use serde_json::json;
use serde_json::value::to_raw_value;

use super::chat::Chat;
use super::error::ApiError;
use super::tool_call_id::{HEADER, normalize};
use toolhost_call::approval::{Approval, Question};
use toolhost_call::audit::{Audit, Audited, Trail};
use toolhost_call::metrics::Metrics;
use toolhost_call::tool::Hints;
use toolhost_http::access::Principal;
use toolhost_workspace::Workspace;

/// The name of this API in the audit trail, in place of the name of a plugin. No plugin can have this name.
const INTERFACE: &str = "agent-api";

/// The audit trail, the metrics and the approval hook of the operator. The default records nothing, and approves everything.
#[derive(Clone, Debug, Default)]
pub struct Oversight {
    /// The audit trail.
    pub audit: Audit,
    /// The metrics.
    pub metrics: Metrics,
    /// The approval hook.
    pub approval: Approval,
}

/// The audit trail and the approval hook for one request.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) trail: Trail,
    approval: Approval,
    chat: Option<String>,
    call: Option<String>,
}

impl Watched {
    /// Asks the approval hook, if there is one.
    pub(super) async fn approve(
        &self,
        tool: &str,
        arguments: &impl Serialize,
    ) -> Result<(), ApiError> {
        if !self.approval.is_configured() {
            return Ok(());
        }
        let arguments = to_raw_value(arguments)
            .map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
        let question = Question {
            chat: self.chat.as_deref(),
            call: self.call.as_deref(),
            plugin: INTERFACE,
            tool,
            hints: Hints::default(),
            arguments: &arguments,
        };
        let answer = self.approval.ask(&self.trail, &question).await;
        match answer.refusal() {
            None => Ok(()),
            Some(text) => {
                let refused = ApiError::new(StatusCode::FORBIDDEN, "The request was not approved.");
                Err(refused.detail(text))
            }
        }
    }

    /// Records that the client cancelled a tool call.
    pub(super) fn cancelled(&self, call: &str) {
        self.trail.event("call_cancelled", json!({ "call": call }));
    }

    /// Returns a workspace that records the changes of the request.
    pub(super) fn workspace(&self, inner: Arc<dyn Workspace>) -> Audited {
        Audited::new(inner, self.trail.clone())
    }
}

impl<S: Sync> FromRequestParts<S> for Watched {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let Oversight {
            audit,
            metrics,
            approval,
        } = parts.extensions.get().cloned().unwrap_or_default();
        let principal = parts.extensions.get::<Principal>();
        let chat = Chat::of(&parts.headers).id;
        let call = parts.headers.get(HEADER);
        let call = call.and_then(|value| value.to_str().ok());
        // Normalize the id. A request with an invalid id is refused before it does anything.
        let call = call.and_then(|call| normalize(call).ok());
        let trail = Trail::of_client(
            audit,
            metrics,
            Some(INTERFACE),
            principal.map_or("host", Principal::name),
            chat.as_ref(),
            call.as_deref(),
        );
        Ok(Self {
            trail,
            approval,
            chat: chat.map(|chat| chat.to_string()),
            call,
        })
    }
}
