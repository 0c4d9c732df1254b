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
use toolhost_state::id::ChatId;
use toolhost_workspace::Workspace;

/// The name of this API in the audit trail, in place of the name of a plugin. No plugin can have this name.
pub(super) const INTERFACE: &str = "agent-api";

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
pub struct Watched {
    oversight: Oversight,
    principal: String,
    chat: Option<ChatId>,
    call: Option<String>,
}

impl Watched {
    /// Returns the oversight of an operation that names the chat itself.
    #[must_use]
    pub fn of(mut self, chat: Option<&ChatId>) -> Self {
        self.chat = chat.cloned().or(self.chat);
        self
    }

    fn trail(&self) -> Trail {
        Trail::of_client(
            self.oversight.audit.clone(),
            self.oversight.metrics.clone(),
            Some(INTERFACE),
            &self.principal,
            self.chat.as_ref(),
            self.call.as_deref(),
        )
    }

    /// Asks the approval hook, if there is one.
    ///
    /// # Errors
    ///
    /// If it does not approve the request.
    pub async fn approve(&self, tool: &str, arguments: &impl Serialize) -> Result<(), ApiError> {
        let approval = &self.oversight.approval;
        if !approval.is_configured() {
            return Ok(());
        }
        let arguments = to_raw_value(arguments)
            .map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
        let question = Question {
            principal: &self.principal,
            chat: self.chat.as_ref().map(ChatId::as_str),
            call: self.call.as_deref(),
            plugin: INTERFACE,
            tool,
            hints: Hints::default(),
            arguments: &arguments,
        };
        let answer = approval.ask(&self.trail(), &question).await;
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
        self.trail()
            .event("call_cancelled", json!({ "call": call }));
    }

    /// Returns a workspace that records the changes of the request.
    pub fn workspace(&self, inner: Arc<dyn Workspace>) -> Arc<dyn Workspace> {
        Arc::new(Audited::new(inner, self.trail()))
    }
}

impl<S: Sync> FromRequestParts<S> for Watched {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let principal = parts.extensions.get::<Principal>();
        let chat = Chat::of(&parts.headers).id;
        let call = parts.headers.get(HEADER);
        let call = call.and_then(|value| value.to_str().ok());
        // Normalize the id. A request with an invalid id is refused before it does anything.
        let call = call.and_then(|call| normalize(call).ok());
        let call = call.map(|call| call.as_str().to_owned());
        Ok(Self {
            oversight: parts.extensions.get().cloned().unwrap_or_default(),
            principal: principal.map_or("host", Principal::name).to_owned(),
            chat,
            call,
        })
    }
}
