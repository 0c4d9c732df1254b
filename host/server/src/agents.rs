//! `GET /agents`: where agents connect that this server cannot reach. The server then sends its requests through their connections.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use serde_json::json;
use toolhost_core::Host;
use toolhost_http::access::{Principal, Scope, Tokens};
use toolhost_http::problem::{Kind, Problem};
use toolhost_http::tunnel::{self, header};
use toolhost_remote::Alive;
use toolhost_state::secret::Secret;
use toolhost_state::workspace_name::WorkspaceName;
use toolhost_workspace::operation::VERSION;

#[derive(Clone, Debug)]
struct Connecting {
    host: Host,
    tokens: Tokens,
}

pub(super) fn routes(host: &Host, tokens: &Tokens) -> Router {
    let state = Connecting {
        host: host.clone(),
        tokens: tokens.clone(),
    };
    Router::new()
        .route("/agents", get(connect))
        .with_state(state)
}

async fn connect(
    State(Connecting { host, tokens }): State<Connecting>,
    Extension(principal): Extension<Principal>,
    request: Request,
) -> Result<Response, Problem> {
    principal.require(Scope::Connect)?;
    let text = |name| {
        let value = request.headers().get(name)?;
        value.to_str().ok()
    };
    let version = text(header::OPERATIONS);
    if version != Some(&VERSION.to_string()) {
        let detail = format!(
            "this host (Toolhost {}) has version {VERSION} of the operations, and the agent has {}: update the older one",
            env!("CARGO_PKG_VERSION"),
            version.unwrap_or("none"),
        );
        return Err(Problem::new(Kind::OTHER_VERSION, detail));
    }
    let missing = |name: &str| Problem::broken_request(format!("the header {name} is missing"));
    let name = text(header::NAME).ok_or_else(|| missing("Toolhost-Agent-Name"))?;
    let name: WorkspaceName = name.parse()?;
    let token = text(header::TOKEN).ok_or_else(|| missing("Toolhost-Agent-Token"))?;
    let token = Secret::new(token);
    if !principal.actor().may_name(&name) {
        let detail = format!("this token is for agents of other names than \"{name}\"");
        return Err(Problem::new(Kind::FOREIGN_WORKSPACE, detail));
    }
    let no_agents = || Problem::new(Kind::NO_PROVIDER, "this server takes no agents");
    let dialled = Arc::clone(host.agents().ok_or_else(no_agents)?.dialled());
    let (response, tunnel) = tunnel::accept(request)?;
    tokio::spawn(async move {
        let Some(tunnel) = tunnel.await else {
            return;
        };
        let fields = json!({ "principal": principal.name(), "agent": name.as_str() });
        host.audit().record("agent_connected", fields.clone());
        tracing::info!(agent = %name, principal = principal.name(), "an agent connected");
        let alive = Alive {
            every: tunnel::ALIVE_EVERY,
            within: tunnel::ANSWER_WITHIN,
        };
        let gone = tokens.until_gone(principal);
        let stopping = host.stopping();
        let stream = tunnel.into_stream();
        let serving = dialled.serve(&name, &token, stream, alive, gone);
        let ended = stopping.run_until_cancelled(serving).await;
        let reason = match ended {
            None => "this host stops".to_owned(),
            Some(Ok(reason)) => reason.to_owned(),
            Some(Err(error)) => error.to_string(),
        };
        tracing::info!(agent = %name, reason, "an agent is not connected any more");
        host.audit().record("agent_disconnected", fields);
    });
    Ok(response)
}
