//! Making the files with which a workspace begins: a template is copied, or a repository cloned. The operator approves it, and the audit
//! trail has it, whichever call needs the workspace.

use std::sync::Arc;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use toolhost_call::approval::{Approval, Question, record_refusal};
use toolhost_call::audit::{Audit, Audited, Trail};
use toolhost_call::call::Request;
use toolhost_call::metrics::Metrics;
use toolhost_call::tool::Hints;
use toolhost_state::id::{CallId, ChatId};
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::{Provider, ProviderError, Spec, Workspace};

/// Stands in the place of a plugin in the audit trail and for the hook. No plugin can have this name.
const INTERFACE: &str = "workspace-provider";

/// Stands in the place of a tool.
const TOOL: &str = "workspace.create";

/// The audit trail and the approval hook, for the workspaces that are made.
#[derive(Clone, Debug, Default)]
pub(in crate::host) struct Oversight {
    pub(in crate::host) audit: Audit,
    pub(in crate::host) metrics: Metrics,
    pub(in crate::host) approval: Approval,
}

/// The call, or the chat of the agent API, that needs a workspace.
#[derive(Clone, Debug)]
pub(in crate::host) struct Need {
    approval: Approval,
    trail: Trail,
    principal: String,
    chat: Option<ChatId>,
    call: Option<CallId>,
    /// Whether a workspace that stays stopped is started.
    starts: bool,
    /// Cancelled when nothing waits for the workspace any more.
    pub(super) over: CancellationToken,
}

impl Oversight {
    /// Returns the need of a call.
    pub(in crate::host) fn of_call(&self, request: &Request) -> Need {
        let (audit, metrics) = (self.audit.clone(), self.metrics.clone());
        let trail = Trail::new(audit, metrics, INTERFACE.into(), Some(request));
        let principal = request.actor.name();
        let call = Some(request.id.clone());
        self.need(trail, principal, Some(&request.chat), call)
    }

    /// Returns the need of an operation that names its chat alone.
    pub(in crate::host) fn of_chat(&self, chat: &ChatId) -> Need {
        let (audit, metrics) = (self.audit.clone(), self.metrics.clone());
        let principal = "host";
        let trail = Trail::of_client(audit, metrics, Some(INTERFACE), principal, Some(chat), None);
        self.need(trail, principal, Some(chat), None)
    }

    /// Returns the need of a client that asks for the start of a workspace.
    pub(super) fn of_start(&self, principal: &str) -> Need {
        let (audit, metrics) = (self.audit.clone(), self.metrics.clone());
        let trail = Trail::of_client(audit, metrics, Some(INTERFACE), principal, None, None);
        Need {
            starts: true,
            ..self.need(trail, principal, None, None)
        }
    }

    fn need(
        &self,
        trail: Trail,
        principal: &str,
        chat: Option<&ChatId>,
        call: Option<CallId>,
    ) -> Need {
        Need {
            approval: self.approval.clone(),
            trail,
            principal: principal.to_owned(),
            chat: chat.cloned(),
            call,
            starts: false,
            over: CancellationToken::new(),
        }
    }
}

impl Need {
    /// Makes a workspace, if that is approved.
    pub(super) async fn make(
        &self,
        provider: &dyn Provider,
        name: &WorkspaceName,
        spec: &Spec,
    ) -> Result<(), ProviderError> {
        self.approve(name, spec).await?;
        let mut fields = described(name, spec, false);
        self.trail.event("workspace_making", &fields);
        let watched = |workspace| {
            let trail = self.trail.clone();
            Arc::new(Audited::new(workspace, trail)) as Arc<dyn Workspace>
        };
        let made = provider.make(name, spec, &watched).await;
        let error = made.as_ref().err().map(ProviderError::detail);
        fields.insert("error".to_owned(), json!(error));
        self.trail.event("workspace_made", fields);
        made
    }

    /// Starts a workspace that is stopped, unless it stays so.
    pub(super) async fn start(
        &self,
        provider: &dyn Provider,
        name: &WorkspaceName,
        spec: &Spec,
    ) -> Result<(), ProviderError> {
        if provider.idleness(spec).stays_stopped && !self.starts {
            return Err(ProviderError::Stopped);
        }
        let started = provider.start(name, spec).await;
        let mut fields = described(name, spec, false);
        let error = started.as_ref().err().map(ProviderError::detail);
        fields.insert("error".to_owned(), json!(error));
        self.trail.event("workspace_started", fields);
        started
    }

    async fn approve(&self, name: &WorkspaceName, spec: &Spec) -> Result<(), ProviderError> {
        if !self.approval.is_configured() {
            return Ok(());
        }
        let arguments = to_raw_value(&described(name, spec, true))
            .map_err(|error| ProviderError::Failed(error.to_string()))?;
        let question = Question {
            principal: &self.principal,
            chat: self.chat.as_ref().map(ChatId::as_str),
            call: self.call.as_ref().map(CallId::as_str),
            plugin: INTERFACE,
            tool: TOOL,
            hints: Hints::default(),
            arguments: &arguments,
        };
        let asking = self.approval.ask(&self.trail, &question);
        let refusal = match self.over.run_until_cancelled(asking).await {
            Some(answer) => answer.refusal(),
            None => {
                let reason = "the call ended before the answer";
                record_refusal(&self.trail, TOOL, reason);
                Some(reason.to_owned())
            }
        };
        refusal.map_or(Ok(()), |text| Err(ProviderError::NotApproved(text)))
    }
}

/// Returns the files with which a workspace begins. Only the hook gets the whole address, which may hold credentials.
fn described(name: &WorkspaceName, spec: &Spec, is_whole: bool) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("workspace".to_owned(), json!(name.as_str()));
    let spec = match spec {
        Spec::Directory(spec) => spec,
        Spec::Agent(_) => return fields,
        Spec::Template(spec) => {
            fields.insert("template".to_owned(), json!(spec.template));
            // A parameter may be a secret.
            if is_whole {
                fields.insert("parameters".to_owned(), json!(spec.parameters));
            }
            return fields;
        }
    };
    if let Some(template) = &spec.template {
        fields.insert("template".to_owned(), json!(template));
    }
    if let Some(git) = &spec.git {
        let url = match is_whole {
            true => git.url.clone(),
            false => git.shown_url(),
        };
        fields.insert(
            "git".to_owned(),
            json!({ "url": url, "branch": git.branch }),
        );
    }
    fields
}
